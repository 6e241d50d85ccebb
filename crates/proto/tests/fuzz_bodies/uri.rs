//! Any text: it is an address or it is not, its parts written anew make the same address, and a password is never shown.

use arknet_proto::uri::{Host, Uri};

/// Runs one input.
pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    hides_any_password(text);
    let Ok(uri) = Uri::parse(text) else {
        return;
    };
    assert!(!uri.scheme().is_empty());
    assert!(uri.unix_path().is_none() || (uri.host().is_none() && uri.segments().is_empty()));
    assert!(
        uri.port()
            .is_none_or(|port| port != 0 && uri.host().is_some())
    );
    assert!(uri.user().is_none_or(|user| !user.is_empty()));
    let again = write(&uri);
    assert_eq!(Uri::parse(&again).as_ref(), Ok(&uri), "{again}");
    // What is shown is an address as well: that of the same place.
    let shown = uri.to_string();
    let read = Uri::parse(&shown).unwrap();
    assert_eq!(read.host(), uri.host());
    assert_eq!(read.unix_path(), uri.unix_path());
    assert_eq!(read.segments(), uri.segments());
}

/// The whole input as a password between two that cannot be mistaken for the rest of what is shown.
fn hides_any_password(text: &str) {
    let secret = format!("Z9{text}9Z");
    let uri = format!("redis://user:{}@host/0?a=b", encode(&secret));
    let uri = Uri::parse(&uri).unwrap();
    assert_eq!(uri.password().unwrap().expose(), secret);
    for shown in [uri.to_string(), format!("{uri:?}")] {
        assert!(!shown.contains("Z9") && !shown.contains("9Z"), "{shown}");
    }
    // Written as it is, it is refused or read as something, and no error shows it.
    if let Err(error) = Uri::parse(&format!("redis://user:{secret}@host/0")) {
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("Z9") && !shown.contains("9Z"), "{shown}");
    }
}

fn write(uri: &Uri) -> String {
    let mut text = format!("{}://", uri.scheme());
    if let Some(user) = uri.user() {
        text.push_str(&encode(user));
    }
    if let Some(password) = uri.password() {
        text.push(':');
        text.push_str(&encode(password.expose()));
    }
    if uri.user().is_some() || uri.password().is_some() {
        text.push('@');
    }
    match uri.host() {
        None => {}
        Some(Host::V6(address)) => text.push_str(&format!("[{address}]")),
        Some(host) => text.push_str(&host.to_string()),
    }
    if let Some(port) = uri.port() {
        text.push_str(&format!(":{port}"));
    }
    if let Some(path) = uri.unix_path() {
        // A path that begins without a slash cannot follow an authority.
        if !path.starts_with('/') {
            let userinfo = uri.user().is_some() || uri.password().is_some();
            assert!(!userinfo, "{uri:?}");
            text = format!("{}:", uri.scheme());
        }
        let parts: Vec<_> = path.split('/').map(encode).collect();
        text.push_str(&parts.join("/"));
    }
    for segment in uri.segments() {
        text.push('/');
        text.push_str(&encode(segment));
    }
    if uri.segments().last().is_some_and(String::is_empty) {
        text.push('/');
    }
    for (number, (name, value)) in uri.query().iter().enumerate() {
        text.push(if number == 0 { '?' } else { '&' });
        text.push_str(&format!("{}={}", encode(name), encode(value)));
    }
    text
}

/// Every byte but letters and digits.
fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02x}"));
        }
    }
    encoded
}
