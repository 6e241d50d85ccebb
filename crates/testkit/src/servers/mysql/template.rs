//! Data folders: made once for a build, copied for every server.
//!
//! MySQL takes three seconds to make one, and every test is a process of its own. Templates lie in the
//! build's temporary folder, where `cargo clean` finds them; outside a build, in the system's.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::Product;
use super::product::{Program, argument};
use crate::process::Peer;

/// Three seconds here, more on a machine that does much else.
const MADE_WITHIN: Duration = Duration::from_secs(120);

/// What the scripts of a MariaDB are called, without the prefix that changed with 11.
const SCRIPTS: &[&str] = &[
    "system_tables.sql",
    "performance_tables.sql",
    "system_tables_data.sql",
];

/// Puts a data folder with [`Product::setup`] in it at `data`, which must not be there.
pub(super) fn copy_to(data: &Path, product: Product, program: &Program) -> io::Result<()> {
    let folder = build_folder().join("mysql-templates");
    fs::create_dir_all(&folder)?;
    let template = folder.join(format!(
        "{}-{:016x}",
        product.name(),
        fingerprint(product, program)?
    ));
    // Held together while copying, alone while making: two tests do not make one each, and none
    // copies what another clears away.
    let lock = File::create(folder.join(format!("{}.lock", product.name())))?;
    loop {
        lock.lock_shared()?;
        if template.is_dir() {
            return copy_folder(&template, data);
        }
        lock.unlock()?;
        lock.lock()?;
        if !template.is_dir() {
            clear(&folder, product)?;
            let making = folder.join(format!("{}-making", product.name()));
            make(&making, product, program)?;
            fs::rename(&making, &template)?;
        }
        lock.unlock()?;
    }
}

/// Changes with the program and with what we put into the folder.
fn fingerprint(product: Product, program: &Program) -> io::Result<u64> {
    let file = fs::metadata(&program.path)?;
    let mut hasher = DefaultHasher::new();
    (&program.path, file.len(), file.modified()?).hash(&mut hasher);
    (product.setup(), product.arguments(), SCRIPTS).hash(&mut hasher);
    Ok(hasher.finish())
}

/// Removes what was made by other programs, or left half made.
fn clear(folder: &Path, product: Product) -> io::Result<()> {
    let prefix = format!("{}-", product.name());
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(&prefix) {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

fn make(data: &Path, product: Product, program: &Program) -> io::Result<()> {
    fs::create_dir(data)?;
    let mut command = Command::new(&program.path);
    command.arg("--no-defaults");
    command.args(&program.places).args(product.arguments());
    command.arg(argument("datadir", data));
    let input = match product {
        Product::MariaDb | Product::MariaDb11 => {
            command.arg("--bootstrap");
            bootstrap(product, program)?
        }
        Product::MySql => {
            let file = data.with_extension("sql");
            fs::write(&file, product.setup())?;
            command.arg("--initialize-insecure");
            command.arg(argument("init-file", &file));
            String::new()
        }
    };
    run(command, &input)
}

/// What `mariadb-install-db` would say, without the help texts and views that no test reads.
fn bootstrap(product: Product, program: &Program) -> io::Result<String> {
    let mut sql = String::from(
        "create database if not exists mysql;\nuse mysql;\nset @auth_root_socket=NULL;\n",
    );
    for name in SCRIPTS {
        let named = |prefix| program.share.join(format!("{prefix}_{name}"));
        let old = named("mysql");
        let file = if old.is_file() { old } else { named("mariadb") };
        let script = fs::read_to_string(&file).map_err(|error| {
            io::Error::new(error.kind(), format!("read {}: {error}", file.display()))
        })?;
        sql.push_str(&script);
    }
    // A server that starts its tables by itself does not look at who may do what before it is told.
    sql.push_str("flush privileges;\n");
    sql.push_str(&product.setup());
    Ok(sql)
}

fn run(command: Command, input: &str) -> io::Result<()> {
    let mut peer = Peer::spawn(command)?;
    // One that ends before it has read everything says why on its standard error.
    let _ = peer.write(input.as_bytes());
    peer.close_input();
    let status = peer.wait(MADE_WITHIN)?;
    // A bootstrap goes on after a statement that failed.
    let said = peer.stderr().text();
    if status.success() && !said.contains("ERROR") {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "make a data folder: {status}, it printed:\n{said}"
    )))
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// The temporary folder of the build that this program is of. Cargo marks the folder above it.
fn build_folder() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let target = program
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").is_file());
    target.map_or_else(std::env::temp_dir, |target| target.join("tmp"))
}
