//! The examples do what they say: each shows itself on loopback.
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
