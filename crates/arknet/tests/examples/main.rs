//! The examples do what they say: each shows itself on loopback, those of Redis with a server of their own.
#![cfg(feature = "tls")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

/// Takes an example in as a module, and runs what it shows without arguments.
macro_rules! examples {
    ($($name:ident in $path:literal, $test:ident;)*) => {$(
        #[path = $path]
        #[allow(dead_code, reason = "its main function is not run")]
        mod $name;

        #[test]
        fn $test() {
            $name::demo().unwrap();
        }
    )*};
}

/// The same for one that can do with a server of Redis or without one.
#[cfg(all(feature = "owner", feature = "redis"))]
#[path = "../../examples/arena/main.rs"]
#[allow(dead_code, reason = "its main function is not run")]
mod arena;

#[cfg(all(feature = "owner", feature = "redis"))]
#[test]
fn arena_shows_itself_with_players_in_memory() {
    arena::demo(50).unwrap();
}

#[cfg(all(feature = "owner", feature = "redis"))]
#[test]
fn arena_shows_itself_with_players_in_redis() {
    use arknet_testkit::servers::redis::{Options, RedisServer, Transport};
    let server = arknet_testkit::need!(RedisServer::start(Options::default()));
    arena::run(&server.url(Transport::Tcp), 50).unwrap();
    let left = server.cli(&["DBSIZE"]).integer();
    assert_eq!(left, 0, "an example leaves keys behind");
}

/// The same with the URL of a Redis server.
macro_rules! redis_examples {
    ($($name:ident in $path:literal, $test:ident;)*) => {$(
        #[cfg(feature = "redis")]
        #[path = $path]
        #[allow(dead_code, reason = "its main function is not run")]
        mod $name;

        #[cfg(feature = "redis")]
        #[test]
        fn $test() {
            use arknet_testkit::servers::redis::{Options, RedisServer, Transport};
            let server = arknet_testkit::need!(RedisServer::start(Options::default()));
            $name::run(&server.url(Transport::Tcp)).unwrap();
            let left = server.cli(&["DBSIZE"]).integer();
            assert_eq!(left, 0, "an example leaves keys behind");
        }
    )*};
}

/// The same with the URL of a MariaDB server, and of a MySQL server where there is one.
macro_rules! mysql_examples {
    ($($name:ident in $path:literal, $test:ident;)*) => {$(
        #[cfg(feature = "mysql")]
        #[path = $path]
        #[allow(dead_code, reason = "its main function is not run")]
        mod $name;

        #[cfg(feature = "mysql")]
        #[test]
        fn $test() {
            use arknet_testkit::servers::mysql::{MySqlServer, Product};
            for product in [Product::MariaDb, Product::MySql] {
                let server = match MySqlServer::shared(product) {
                    Ok(server) => server,
                    Err(absent) => {
                        absent.skip();
                        continue;
                    }
                };
                let url = server.url(product.app());
                $name::run(&format!("{url}?fetch_server_key=true")).unwrap();
            }
        }
    )*};
}

mysql_examples! {
    mysql_query in "../../examples/mysql_query.rs", mysql_query_works;
    mysql_stream in "../../examples/mysql_stream.rs", mysql_stream_works;
    mysql_transaction in "../../examples/mysql_transaction.rs", mysql_transaction_works;
}

examples! {
    chat in "../../examples/chat.rs", chat_shows_itself;
    echo in "../../examples/echo.rs", echo_shows_itself;
    graceful_shutdown in "../../examples/graceful_shutdown.rs", graceful_shutdown_shows_itself;
    manual_loop in "../../examples/manual_loop.rs", manual_loop_shows_itself;
    mtls in "../../examples/mtls.rs", mtls_shows_itself;
    owner_epoll in "../../examples/owner_epoll.rs", owner_epoll_shows_itself;
    owner_event_loop in "../../examples/owner_event_loop.rs", owner_event_loop_shows_itself;
    owner_fixed_rate in "../../examples/owner_fixed_rate.rs", owner_fixed_rate_shows_itself;
    owner_tokio in "../../examples/owner_tokio.rs", owner_tokio_shows_itself;
    request_response in "../../examples/request_response.rs", request_response_shows_itself;
    tls in "../../examples/tls.rs", tls_shows_itself;
}

redis_examples! {
    redis_cache in "../../examples/redis_cache.rs", redis_cache_works;
    redis_get_set in "../../examples/redis_get_set.rs", redis_get_set_works;
    redis_pipeline in "../../examples/redis_pipeline.rs", redis_pipeline_works;
    redis_pubsub in "../../examples/redis_pubsub.rs", redis_pubsub_works;
    redis_rate_limiter in "../../examples/redis_rate_limiter.rs", redis_rate_limiter_works;
    redis_transaction in "../../examples/redis_transaction.rs", redis_transaction_works;
}
