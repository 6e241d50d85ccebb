//! One server for all tests of a process.
//!
//! Not a static that holds it: statics are never dropped, and the server's folder would stay behind.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{MySqlServer, Options, Product};
use crate::servers::Absent;

/// A server for each product.
static SERVERS: [Mutex<Weak<MySqlServer>>; 3] = [const { Mutex::new(Weak::new()) }; 3];

pub(super) fn server(product: Product) -> Result<Arc<MySqlServer>, Absent> {
    let [mariadb, mariadb_11, mysql] = &SERVERS;
    let place = match product {
        Product::MariaDb => mariadb,
        Product::MariaDb11 => mariadb_11,
        Product::MySql => mysql,
    };
    // The lock is held while the server starts, so that two tests do not start one each.
    let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = place.upgrade() {
        return Ok(server);
    }
    let server = Arc::new(MySqlServer::start(Options::new(product))?);
    *place = Arc::downgrade(&server);
    Ok(server)
}
