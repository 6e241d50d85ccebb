//! The lab's own machines: the endpoints that are compared, and the native peers.

use arknet_lab::measure::config::{Execution, Implementation, Protocol};
use arknet_lab::measure::{TransportConfig, transport};

use crate::failure::Failure;
use crate::load::Load;
use crate::sample::Sample;

/// Callbacks on mio, by hand.
pub(crate) fn mio(load: &Load) -> Result<Sample, Failure> {
    measure(
        load,
        Implementation::Native,
        Protocol::Tcp,
        Execution::Callback,
    )
}

/// Tasks on bare tokio, by hand.
pub(crate) fn tokio(load: &Load) -> Result<Sample, Failure> {
    measure(
        load,
        Implementation::Native,
        Protocol::Tcp,
        Execution::Async,
    )
}

/// Ours, callbacks over TCP.
pub(crate) fn tcp_callback(load: &Load) -> Result<Sample, Failure> {
    measure(
        load,
        Implementation::Endpoint,
        Protocol::Tcp,
        Execution::Callback,
    )
}

/// Ours, tasks over TCP.
pub(crate) fn tcp_async(load: &Load) -> Result<Sample, Failure> {
    measure(
        load,
        Implementation::Endpoint,
        Protocol::Tcp,
        Execution::Async,
    )
}

/// Ours, callbacks over TLS.
pub(crate) fn tls_callback(load: &Load) -> Result<Sample, Failure> {
    measure(
        load,
        Implementation::Endpoint,
        Protocol::Tcps,
        Execution::Callback,
    )
}

/// Ours, tasks over TLS.
pub(crate) fn tls_async(load: &Load) -> Result<Sample, Failure> {
    measure(
        load,
        Implementation::Endpoint,
        Protocol::Tcps,
        Execution::Async,
    )
}

fn measure(
    load: &Load,
    implementation: Implementation,
    protocol: Protocol,
    execution: Execution,
) -> Result<Sample, Failure> {
    let config = TransportConfig {
        implementation,
        protocol,
        execution,
        ..load.config()
    };
    Sample::of(&transport(&config)?)
}
