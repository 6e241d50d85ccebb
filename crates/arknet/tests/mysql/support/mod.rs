//! What the stories have in common.

mod script;

use std::sync::Arc;
use std::time::Duration;

use arknet::Lanes;
use arknet::mysql::{Config, Conn, Pool};
use arknet::pool::PoolConfig;
use arknet_testkit::servers::mysql::{MySqlServer, Product};

pub(crate) use script::{ABILITIES, Peer, Script, column, greeting, put_text, session};

/// Longer than anything takes that goes well, on a machine that does much else.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Runs a story on one lane with a thread of its own.
pub(crate) fn on_a_lane<T>(story: impl AsyncFn(&Lanes) -> T) -> T {
    let lanes = Lanes::sharded(1).unwrap();
    lanes.block_on(story(&lanes)).unwrap()
}

/// Runs a story beside a server that all stories of this process share, or skips it loudly.
pub(crate) fn beside(product: Product, story: impl AsyncFn(&MySqlServer, &Lanes)) {
    let server: Arc<MySqlServer> = match MySqlServer::shared(product) {
        Ok(server) => server,
        Err(absent) => return absent.skip(),
    };
    on_a_lane(async |lanes| story(&server, lanes).await);
}

/// Runs a story beside every server there is.
pub(crate) fn beside_all(story: impl AsyncFn(&MySqlServer, &Lanes)) {
    for product in Product::ALL {
        beside(product, &story);
    }
}

/// The application's account, in the schema `test`.
pub(crate) fn config(server: &MySqlServer) -> Config {
    let account = server.product().app();
    Config::new(server.addr())
        .unwrap()
        .user(account.user)
        .password(account.password)
        .database("test")
        .fetch_server_key(true)
        .request_timeout(Some(PATIENCE))
}

pub(crate) async fn connect(server: &MySqlServer, lanes: &Lanes) -> Conn {
    Conn::connect(config(server), lanes).await.unwrap()
}

/// A pool of so many connections.
pub(crate) fn pool(server: &MySqlServer, lanes: &Lanes, connections: usize) -> Pool {
    let bounds = PoolConfig::new()
        .max_connections(connections)
        .acquire_timeout(PATIENCE);
    Pool::new(config(server), bounds, lanes).unwrap()
}
