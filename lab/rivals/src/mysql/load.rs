//! What one run is asked to do.

use std::net::SocketAddr;
use std::path::PathBuf;

use arknet_testkit::servers::mysql::{Account, MySqlServer, Product};
use clap::Args;

use super::work::{self, Work};
use crate::failure::Failure;
use crate::meter::Phases;

/// One measured run: which work, for how long, with which server.
#[derive(Clone, Debug, Args)]
pub(crate) struct Load {
    /// The name of the work, such as `pipeline 20`.
    #[arg(long, value_parser = work::find)]
    pub(crate) work: Work,
    /// Seconds before the measured phase.
    #[arg(long, default_value_t = 0.5)]
    pub(crate) warmup: f64,
    /// Seconds of the measured phase.
    #[arg(long, default_value_t = 2.0)]
    pub(crate) seconds: f64,
    /// What the server is.
    #[arg(long, value_parser = product, default_value = "mariadb")]
    pub(crate) product: Product,
    /// The server's address; without it the run starts a server of its own.
    #[arg(long, requires = "authority")]
    address: Option<SocketAddr>,
    /// The certificate of the server's authority, a file.
    #[arg(long, requires = "address")]
    authority: Option<PathBuf>,
}

/// Where a server of the launcher's is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) product: Product,
    pub(crate) address: SocketAddr,
    pub(crate) authority: PathBuf,
}

impl Place {
    pub(crate) fn of(server: &MySqlServer) -> Self {
        Self {
            product: server.product(),
            address: server.addr(),
            authority: server.authority_file(),
        }
    }

    /// Whom every client logs in as.
    pub(crate) fn account(&self) -> Account {
        self.product.app()
    }
}

impl Load {
    /// This work at this place, in these phases.
    pub(crate) fn new(work: Work, phases: Phases, place: Place) -> Self {
        Self {
            work,
            warmup: phases.warmup,
            seconds: phases.seconds,
            product: place.product,
            address: Some(place.address),
            authority: Some(place.authority),
        }
    }

    /// The same at another place.
    pub(crate) fn at(&self, place: Place) -> Self {
        Self::new(self.work, self.phases(), place)
    }

    /// The flags that ask for this load.
    ///
    /// # Errors
    ///
    /// When there is no server.
    pub(crate) fn flags(&self) -> Result<Vec<String>, Failure> {
        let place = self.place()?;
        let flags = [
            ("--work", self.work.name.to_owned()),
            ("--warmup", self.warmup.to_string()),
            ("--seconds", self.seconds.to_string()),
            ("--product", place.product.name().to_owned()),
            ("--address", place.address.to_string()),
            ("--authority", place.authority.display().to_string()),
        ];
        let flags = flags.into_iter();
        Ok(flags
            .flat_map(|(flag, value)| [flag.to_owned(), value])
            .collect())
    }

    /// How long the run takes.
    pub(crate) fn phases(&self) -> Phases {
        Phases {
            warmup: self.warmup,
            seconds: self.seconds,
        }
    }

    /// The server.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub(crate) fn place(&self) -> Result<Place, Failure> {
        match (self.address, &self.authority) {
            (Some(address), Some(authority)) => Ok(Place {
                product: self.product,
                address,
                authority: authority.clone(),
            }),
            _ => Err(Failure::Usage("this run has no server".to_owned())),
        }
    }

    /// The work's name in the output: MariaDB is what everybody has, so it goes unnamed.
    pub(crate) fn name(&self) -> String {
        match self.product {
            Product::MariaDb => self.work.name.to_owned(),
            other => format!("{} on {}", self.work.name, other.name()),
        }
    }
}

fn product(name: &str) -> Result<Product, String> {
    let found = Product::ALL
        .into_iter()
        .find(|product| product.name() == name);
    found.ok_or_else(|| {
        let names = Product::ALL.map(Product::name);
        format!("there are: {}", names.join(", "))
    })
}
