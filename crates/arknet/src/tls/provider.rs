//! The cryptography, named explicitly.
//!
//! rustls can look a provider up in a process-wide slot that anybody may fill, once; a
//! library that relied on it would panic or change its cipher suites with its host program.

use std::sync::{Arc, OnceLock};

use rustls::crypto::{CryptoProvider, aws_lc_rs};

/// aws-lc-rs with rustls's default suites and groups, shared by all configurations.
pub(super) fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    Arc::clone(PROVIDER.get_or_init(|| Arc::new(aws_lc_rs::default_provider())))
}
