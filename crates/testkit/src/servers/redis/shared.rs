//! One server for all tests of a process.
//!
//! Not a static that holds it: statics are never dropped, and the server's folder would stay behind.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Options, Product, RedisServer};
use crate::servers::Absent;

/// A server for each product, without and with mTLS.
static SERVERS: Mutex<[[Weak<RedisServer>; 2]; 2]> =
    Mutex::new([[Weak::new(), Weak::new()], [Weak::new(), Weak::new()]]);

pub(super) fn server(product: Product, mutual: bool) -> Result<Arc<RedisServer>, Absent> {
    // The lock is held while the server starts, so that two tests do not start one each.
    let mut servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
    let [plain, demanding] = match product {
        Product::Redis => &mut servers[0],
        Product::Valkey => &mut servers[1],
    };
    let place = if mutual { demanding } else { plain };
    if let Some(server) = place.upgrade() {
        return Ok(server);
    }
    let mut options = Options::default().product(product);
    if mutual {
        options = options.demand_client_certificates();
    }
    let server = Arc::new(RedisServer::start(options)?);
    *place = Arc::downgrade(&server);
    Ok(server)
}
