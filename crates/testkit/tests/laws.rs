//! The laws between the modules of arknet: arrows point down only.
//!
//! The compiler lets every module of a crate import every other one; this test does not. It reads the
//! sources as text, without comments, since a law must hold in code that this build leaves out too.
#![cfg(not(miri))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The top modules of arknet from the lowest layer up. A module imports from lower layers only, never
/// from its own layer's other modules. A new module takes its place here first.
const LAYERS: &[&[&str]] = &[
    &["error", "meter", "sync"],
    &["io"],
    &["lanes"],
    &["drive"],
    &["tls"],
    &["link"],
    &["endpoint", "pool"],
    &["tcp", "udp", "redis", "mysql"],
    &["http"],
    &["ws"],
    &["owner"],
];

/// What is below and forbidden all the same: a database client speaks through the pool and the
/// drivers, so that a new back end reaches it without a change.
const NEVER: &[(&str, &str)] = &[("redis", "io"), ("mysql", "io")];

/// What `io` may use of arknet-proto: buffers and instants. The rest of it are engines.
const PROTO_BELOW_IO: &[&str] = &["buf", "time"];

/// Words that no name in `drive` contains: it moves bytes and knows no protocol.
const PROTOCOL_WORDS: &[&str] = &[
    "tcp",
    "udp",
    "http",
    "ws",
    "websocket",
    "tls",
    "rustls",
    "redis",
    "mysql",
    "quic",
];

/// A file longer than this holds more than one concept.
const LINES_PER_FILE: usize = 800;

#[test]
fn modules_import_from_lower_layers_only() {
    let mut broken = Vec::new();
    for file in sources("crates/arknet/src") {
        let module = module_path(&file.path);
        let Some(top) = module.first() else { continue };
        let Some(own) = layer(top) else {
            broken.push(format!(
                "{}: `{top}` has no place in LAYERS",
                file.path.display()
            ));
            continue;
        };
        for (line, target) in imports(&file.code, &module) {
            let Some(used) = layer(&target) else { continue };
            let forbidden = NEVER.contains(&(top.as_str(), target.as_str()));
            if target != *top && (used >= own || forbidden) {
                broken.push(format!(
                    "{}:{line}: {top} imports {target}",
                    file.path.display()
                ));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "arrows that do not point down:\n{}",
        broken.join("\n")
    );
}

#[test]
fn io_never_imports_an_engine() {
    let mut broken = Vec::new();
    for file in sources("crates/arknet/src/io") {
        for (line, first) in segments_after(&file.code, "arknet_proto::") {
            if !PROTO_BELOW_IO.contains(&first.as_str()) {
                broken.push(format!(
                    "{}:{line}: arknet_proto::{first}",
                    file.path.display()
                ));
            }
        }
    }
    assert!(broken.is_empty(), "io thinks:\n{}", broken.join("\n"));
}

#[test]
fn drive_never_names_a_protocol() {
    let mut broken = Vec::new();
    for file in sources("crates/arknet/src/drive") {
        // Tests stand at the end of a file, and a test may open a real socket.
        let code = file.code.split("#[cfg(test)]").next().unwrap_or_default();
        for (line, name) in protocol_names(code) {
            broken.push(format!("{}:{line}: {name}", file.path.display()));
        }
    }
    assert!(
        broken.is_empty(),
        "drive knows a protocol:\n{}",
        broken.join("\n")
    );
}

#[test]
fn every_file_is_short_enough_to_be_one_concept() {
    let folders = [
        "crates/proto/src",
        "crates/arknet/src",
        "crates/testkit/src",
        "lab/src",
        "lab/rivals/src",
    ];
    let mut long = Vec::new();
    for folder in folders {
        let files = sources(folder);
        assert!(!files.is_empty(), "{folder} holds no source: has it moved?");
        for file in files {
            let lines = file.code.lines().count();
            if lines > LINES_PER_FILE {
                long.push(format!("{}: {lines} lines", file.path.display()));
            }
        }
    }
    assert!(
        long.is_empty(),
        "longer than {LINES_PER_FILE} lines:\n{}",
        long.join("\n")
    );
}

#[test]
fn an_import_is_found_however_it_is_written() {
    let found = |code: &str, module: &[&str]| -> Vec<String> {
        let module: Vec<String> = module.iter().map(|name| (*name).to_owned()).collect();
        imports(&without_comments(code), &module)
            .into_iter()
            .map(|(_, target)| target)
            .collect()
    };
    assert_eq!(found("use crate::tcp::Server;", &["io"]), ["tcp"]);
    assert_eq!(
        found(
            "use crate::{\n    drive::{stream, x},\n    tls,\n};",
            &["io"]
        ),
        ["drive", "tls"]
    );
    assert_eq!(found("let a: crate::tls::Config;", &["io"]), ["tls"]);
    assert_eq!(
        found("use super::super::tcp::x;", &["io", "tokio"]),
        ["tcp"]
    );
    assert_eq!(found("use super::{tcp, tls::x};", &["io"]), ["tcp", "tls"]);
    assert!(found("use super::tcp::x;", &["io", "tokio"]).is_empty());
    assert!(
        found(
            "// use crate::tcp;\n//! [`crate::tcp`]\n/* crate::tls */",
            &["io"]
        )
        .is_empty()
    );
    assert!(found("use my_crate::tcp;", &["io"]).is_empty());
}

#[test]
fn a_protocol_is_found_in_any_spelling() {
    let found = |code| -> Vec<String> {
        protocol_names(code)
            .into_iter()
            .map(|(_, name)| name)
            .collect()
    };
    assert_eq!(
        found("TcpStream tls_pump on_http2 ws"),
        ["TcpStream", "tls_pump", "on_http2", "ws"]
    );
    assert!(found("stream windows news battles Unixlike").is_empty());
}

/// A source file: where it stands below the root, and its text without comments.
struct Source {
    path: PathBuf,
    code: String,
}

/// Every Rust file below `folder`, in a fixed order; none where the folder is not there yet.
fn sources(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut waiting = vec![root.join(folder)];
    let mut files = Vec::new();
    while let Some(folder) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let code = without_comments(&fs::read_to_string(&path).unwrap());
                files.push(Source {
                    path: path.strip_prefix(&root).unwrap().to_owned(),
                    code,
                });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// `crates/arknet/src/io/tokio/mod.rs` is `[io, tokio]`; `lib.rs` is the empty path.
fn module_path(path: &Path) -> Vec<String> {
    let below = path
        .strip_prefix("crates/arknet/src")
        .unwrap()
        .with_extension("");
    let names = below.iter().map(|name| name.to_str().unwrap().to_owned());
    names
        .filter(|name| name != "mod" && name != "lib")
        .collect()
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// The top modules that code in `module` names, with their lines.
fn imports(code: &str, module: &[String]) -> Vec<(usize, String)> {
    let mut found = segments_after(code, "crate::");
    // As many steps up as the module is deep end at the root; fewer stay within the top module.
    let to_the_root = "super::".repeat(module.len());
    if !module.is_empty() {
        found.extend(segments_after(code, &to_the_root));
    }
    found
}

/// The first segment after each `prefix`, or each of them where a `{` group follows.
fn segments_after(code: &str, prefix: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let line = code[..at].matches('\n').count() + 1;
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(group) => found.extend(heads(group).into_iter().map(|name| (line, name))),
            None => found.extend(leading_name(rest).map(|name| (line, name))),
        }
    }
    found
}

/// The first segments of the paths in a `use` group, whose opening brace is already behind us.
fn heads(group: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let mut heads = Vec::new();
    let mut expected = true;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => expected = true,
            _ if expected && !c.is_whitespace() => {
                heads.extend(leading_name(&group[at..]));
                expected = false;
            }
            _ => {}
        }
    }
    heads
}

fn leading_name(text: &str) -> Option<String> {
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    (end > 0).then(|| text[..end].to_owned())
}

/// The names in `code` that contain the name of a protocol as a word of their own.
fn protocol_names(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let names = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        for name in names.filter(|name| words(name).iter().any(|word| is_protocol(word))) {
            found.push((number + 1, name.to_owned()));
        }
    }
    found
}

fn is_protocol(word: &str) -> bool {
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
    PROTOCOL_WORDS.contains(&word)
}

/// `TcpStream` and `tcp_stream` are the words `tcp` and `stream`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_uppercase() {
            words.push(String::new());
        }
        if c != '_' {
            words.last_mut().unwrap().extend(c.to_lowercase());
        }
    }
    words
}

/// The text with comments left out and lines kept. A `//` within a string literal is cut as well,
/// which hides nothing but the rest of that line.
fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut in_block = false;
    for line in text.lines() {
        let mut rest = line;
        loop {
            if in_block {
                let Some(end) = rest.find("*/") else { break };
                rest = &rest[end + 2..];
                in_block = false;
            }
            let comment = rest.find("//").into_iter().chain(rest.find("/*")).min();
            let Some(start) = comment else {
                code.push_str(rest);
                break;
            };
            code.push_str(&rest[..start]);
            if rest[start..].starts_with("//") {
                break;
            }
            in_block = true;
            rest = &rest[start + 2..];
        }
        code.push('\n');
    }
    code
}
