//! What is an address, what is none, and what nobody gets to see.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::*;

fn parse(text: &str) -> Uri {
    Uri::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn name(text: &str) -> Host {
    Host::Name(text.to_owned())
}

#[test]
fn an_address_is_taken_apart() {
    let uri = parse(
        "Redis://app:secret@db.example.org:6380/2/x%2Fy/?timeout=5&name=a%26b&flag&timeout=6",
    );
    assert_eq!(uri.scheme(), "redis");
    assert_eq!(uri.user(), Some("app"));
    assert_eq!(uri.password().map(Secret::expose), Some("secret"));
    assert_eq!(uri.host(), Some(&name("db.example.org")));
    assert_eq!(uri.port(), Some(6380));
    assert_eq!(uri.unix_path(), None);
    assert_eq!(uri.segments(), ["2", "x/y"]);
    assert_eq!(uri.query_value("timeout"), Some("5"));
    assert_eq!(uri.query_value("name"), Some("a&b"));
    assert_eq!(uri.query_value("flag"), Some(""));
    assert_eq!(uri.query_value("absent"), None);
    assert_eq!(uri.query().len(), 4);
}

#[test]
fn hosts_are_names_and_addresses_of_both_families() {
    let v6 = |text: &str| Host::V6(text.parse::<Ipv6Addr>().unwrap());
    let table = [
        ("r://localhost", Some(name("localhost")), None),
        ("r://my_host-1.local.", Some(name("my_host-1.local.")), None),
        (
            "r://127.0.0.1:1",
            Some(Host::V4(Ipv4Addr::LOCALHOST)),
            Some(1),
        ),
        ("r://[::1]", Some(v6("::1")), None),
        (
            "r://[2001:db8::1]:65535/",
            Some(v6("2001:db8::1")),
            Some(65535),
        ),
        (
            "r://[::ffff:192.0.2.1]:8",
            Some(v6("::ffff:192.0.2.1")),
            Some(8),
        ),
        (
            "r://[fe80::1%25eth0]:8",
            Some(name("fe80::1%eth0")),
            Some(8),
        ),
        ("r://[fe80::1%eth0]", Some(name("fe80::1%eth0")), None),
        ("r://host:/0", Some(name("host")), None),
        ("r://", None, None),
        ("r:///0", None, None),
        ("r://:pw@/0", None, None),
    ];
    for (text, host, port) in table {
        let uri = parse(text);
        assert_eq!((uri.host(), uri.port()), (host.as_ref(), port), "{text}");
    }
}

#[test]
fn who_we_are_may_be_named_in_part() {
    let table = [
        ("r://host", None, None),
        ("r://@host", None, None),
        ("r://user@host", Some("user"), None),
        ("r://:pw@host", None, Some("pw")),
        ("r://user:@host", Some("user"), Some("")),
        ("r://user:a:b@host", Some("user"), Some("a:b")),
        ("r://%75ser:%C3%BC%E2%82%AC@host", Some("user"), Some("ü€")),
        ("r://user:ü€@host", Some("user"), Some("ü€")),
        ("r://user:a+b@host", Some("user"), Some("a+b")),
    ];
    for (text, user, password) in table {
        let uri = parse(text);
        assert_eq!(uri.user(), user, "{text}");
        assert_eq!(uri.password().map(Secret::expose), password, "{text}");
    }
}

#[test]
fn unix_sockets_have_a_path() {
    let table = [
        ("unix:/run/x.sock", "/run/x.sock"),
        ("unix:run/x.sock", "run/x.sock"),
        ("unix:///run/x.sock", "/run/x.sock"),
        ("redis+unix:///run/a%20b.sock", "/run/a b.sock"),
        ("redis+unix:/run/a@b.sock", "/run/a@b.sock"),
    ];
    for (text, path) in table {
        let uri = parse(text);
        assert_eq!(uri.unix_path(), Some(path), "{text}");
        assert_eq!((uri.host(), uri.port()), (None, None));
        assert!(uri.segments().is_empty());
    }
    let uri = parse("redis+unix://app:pw@/run/x.sock?db=1");
    assert_eq!(uri.scheme(), "redis+unix");
    assert_eq!(uri.user(), Some("app"));
    assert_eq!(uri.password().map(Secret::expose), Some("pw"));
    assert_eq!(uri.unix_path(), Some("/run/x.sock"));
    assert_eq!(uri.query_value("db"), Some("1"));
}

#[test]
fn what_is_no_address_is_refused_for_its_reason() {
    let table = [
        ("", UriError::NoScheme),
        ("localhost", UriError::NoScheme),
        ("://host", UriError::NoScheme),
        ("1redis://host", UriError::NoScheme),
        ("re_dis://host", UriError::NoScheme),
        ("localhost:6379", UriError::NoAuthority),
        ("redis:/host", UriError::NoAuthority),
        ("redis://a b", UriError::Blank),
        ("redis://host/\n", UriError::Blank),
        ("redis://host\u{a0}", UriError::Blank),
        ("redis://host/0#x", UriError::Fragment),
        ("redis://a@b@host", UriError::StrayAt),
        ("redis://user:/pw@host", UriError::StrayAt),
        ("redis://user:?pw@host", UriError::StrayAt),
        ("redis://host/a@b", UriError::StrayAt),
        ("redis+unix://u:p@/run/a@b", UriError::StrayAt),
        (
            "redis://%2@host",
            UriError::Escape {
                part: UriPart::User,
            },
        ),
        (
            "redis://:%zz@host",
            UriError::Escape {
                part: UriPart::Password,
            },
        ),
        (
            "redis://:100%@host",
            UriError::Escape {
                part: UriPart::Password,
            },
        ),
        (
            "redis://host/%",
            UriError::Escape {
                part: UriPart::Path,
            },
        ),
        (
            "redis://host/?a=%+1",
            UriError::Escape {
                part: UriPart::Query,
            },
        ),
        (
            "redis://:%ff@host",
            UriError::NotUtf8 {
                part: UriPart::Password,
            },
        ),
        ("redis://[::1", UriError::Bracket),
        ("redis://[::1]6379", UriError::Bracket),
        ("redis://[host]", UriError::Ipv6),
        ("redis://[127.0.0.1]", UriError::Ipv6),
        ("redis://[fe80::1%25]", UriError::Ipv6),
        ("redis://ho%73t", UriError::HostName),
        ("redis://höst", UriError::HostName),
        ("redis://ho,st", UriError::HostName),
        ("redis://.host", UriError::HostName),
        ("redis://127.1", UriError::Ipv4),
        ("redis://300.0.0.1", UriError::Ipv4),
        ("redis://host.1", UriError::Ipv4),
        ("redis://host:0", UriError::Port),
        ("redis://host:65536", UriError::Port),
        ("redis://host:+1", UriError::Port),
        ("redis://::1", UriError::Port),
        ("redis://:6379", UriError::PortWithoutHost),
        ("unix://run/x.sock", UriError::HostOfSocket),
        ("unix://host:1/x.sock", UriError::HostOfSocket),
        ("unix:", UriError::SocketPath),
        ("unix:///", UriError::SocketPath),
        ("unix:/a%00b", UriError::SocketPath),
    ];
    for (text, error) in table {
        assert_eq!(Uri::parse(text), Err(error), "{text}");
    }
}

/// Passwords that break what takes texts apart carelessly, as they are and as they must be written.
const NASTY: &[(&str, &str)] = &[
    ("p@ss:/?#%&+=[]", "p%40ss%3A%2F%3F%23%25%26+=%5B%5D"),
    ("@evil.example", "%40evil.example"),
    ("/etc/passwd", "%2Fetc%2Fpasswd"),
    ("a#b", "a%23b"),
    ("a?b=c&d", "a%3Fb=c&d"),
    ("100%", "100%25"),
    ("%40", "%2540"),
    (" spaces and\ttabs\n", "%20spaces%20and%09tabs%0A"),
    ("\u{0}zero", "%00zero"),
    ("[::1]:6379", "%5B::1%5D:6379"),
    ("\\\"'`$(){}<>|;", "%5C%22'%60$()%7B%7D%3C%3E%7C;"),
    ("pässwörd🔑", "p%C3%A4ssw%C3%B6rd%F0%9F%94%91"),
];

#[test]
fn nasty_passwords_arrive_as_they_are() {
    for (password, written) in NASTY {
        for form in [
            format!("redis://user:{written}@host:1/2?a=b"),
            format!("redis://user:{}@host:1/2?a=b", encode(password)),
            format!("redis+unix://user:{written}@/run/x.sock"),
        ] {
            let uri = parse(&form);
            assert_eq!(uri.user(), Some("user"), "{form}");
            assert_eq!(
                uri.password().map(Secret::expose),
                Some(*password),
                "{form}"
            );
        }
        let uri = parse(&format!("redis://user:{written}@host:1/2?a=b"));
        assert_eq!((uri.host(), uri.port()), (Some(&name("host")), Some(1)));
        assert_eq!(uri.segments(), ["2"]);
    }
}

#[test]
fn nobody_sees_a_password() {
    for (password, written) in NASTY {
        let uri = parse(&format!("redis://user:{written}@host:1/2?password=hush"));
        for shown in [
            uri.to_string(),
            format!("{uri:?}"),
            format!("{:?}", uri.password()),
        ] {
            for secret in [*password, *written, "hush"] {
                assert!(!shown.contains(secret), "{shown}");
            }
        }
        assert_eq!(uri.to_string(), "redis://user:***@host:1/2");
    }
}

#[test]
fn a_password_written_as_it_is_never_moves_the_host() {
    for (password, _) in NASTY {
        let text = format!("redis://user:{password}@host:1/2");
        match Uri::parse(&text) {
            Ok(uri) => {
                assert_eq!(uri.host(), Some(&name("host")), "{password}");
                assert_eq!(uri.port(), Some(1), "{password}");
            }
            Err(error) => {
                let shown = format!("{error} {error:?}");
                assert!(!shown.contains(password), "{shown}");
            }
        }
    }
    let refused = NASTY
        .iter()
        .filter(|(password, _)| Uri::parse(&format!("redis://user:{password}@host:1/2")).is_err());
    assert!(refused.count() >= 6);
}

#[test]
fn what_is_shown_can_be_read_again() {
    for (text, shown) in [
        (
            "redis://app:pw@[fe80::1%25eth0]:1/a%2Fb?x=y",
            "redis://app:***@[fe80::1%eth0]:1/a%2Fb",
        ),
        (
            "redis+unix://:pw@/run/a%20b",
            "redis+unix://:***@/run/a%20b",
        ),
        ("unix:run/x.sock", "unix:run/x.sock"),
        ("redis://", "redis://"),
    ] {
        assert_eq!(parse(text).to_string(), shown);
        assert_eq!(parse(shown).to_string(), shown);
    }
    assert_eq!("redis://host".parse(), Uri::parse("redis://host"));
}
