//! Certificates made for one test.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
    date_time_ymd,
};

use crate::tls::{Authorities, ClientConfig, Identity, ServerConfig};

/// An authority and what it issues.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// A certificate and its key, both in PEM.
pub(super) struct Issued {
    pub(super) certificate: String,
    pub(super) key: String,
}

impl Issued {
    pub(super) fn identity(&self) -> Identity {
        Identity::from_pem(&self.certificate, &self.key).unwrap()
    }
}

impl Authority {
    pub(super) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name = DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, "test authority");
        let pem = params.self_signed(&key).unwrap().pem();
        Self {
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    pub(super) fn authorities(&self) -> Authorities {
        Authorities::from_pem(&self.pem).unwrap()
    }

    pub(super) fn pem(&self) -> &str {
        &self.pem
    }

    /// For DNS names and literals of IP addresses.
    pub(super) fn issue(&self, names: &[&str]) -> Issued {
        self.issue_with(names, |_| {})
    }

    pub(super) fn issue_expired(&self, names: &[&str]) -> Issued {
        self.issue_with(names, |params| {
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(2002, 1, 1);
        })
    }

    pub(super) fn issue_early(&self, names: &[&str]) -> Issued {
        self.issue_with(names, |params| {
            params.not_before = date_time_ymd(3001, 1, 1);
            params.not_after = date_time_ymd(3002, 1, 1);
        })
    }

    fn issue_with(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Issued {
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Issued {
            certificate,
            key: key.serialize_pem(),
        }
    }

    /// A server that is `localhost`.
    pub(super) fn server(&self) -> ServerConfig {
        ServerConfig::builder()
            .identity(self.issue(&["localhost"]).identity())
            .build()
            .unwrap()
    }

    /// A client that trusts this authority.
    pub(super) fn client(&self) -> ClientConfig {
        ClientConfig::builder()
            .roots(self.authorities())
            .build()
            .unwrap()
    }
}
