//! What `#[derive(FromReply)]` and `#[derive(FromReplies)]` make of replies.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use arknet::redis::commands::strings::{get, incr};
use arknet::redis::{Batch, DecodeError, Error, FromReplies, FromReply, Reply, pipeline};

fn decode<T: FromReply>(wire: &str) -> Result<T, DecodeError> {
    Reply::parse(wire.as_bytes())?.decode()
}

#[derive(Debug, PartialEq, FromReply)]
struct User {
    name: String,
    #[redis(rename = "logins")]
    count: u64,
    email: Option<String>,
    #[redis(default)]
    tags: Vec<String>,
    #[redis(skip)]
    cached: bool,
    r#type: Option<String>,
}

fn ada() -> User {
    User {
        name: "Ada".to_owned(),
        count: 3,
        email: None,
        tags: Vec::new(),
        cached: false,
        r#type: Some("admin".to_owned()),
    }
}

#[test]
fn a_structure_is_made_of_a_map_and_of_what_older_servers_send_for_one() {
    let map = "%4\r\n$4\r\nname\r\n$3\r\nAda\r\n+logins\r\n:3\r\n+else\r\n*1\r\n:1\r\n+type\r\n+admin\r\n";
    let flat =
        "*8\r\n+name\r\n+Ada\r\n+logins\r\n$1\r\n3\r\n+else\r\n*1\r\n:1\r\n+type\r\n+admin\r\n";
    let nested = "*3\r\n*2\r\n+name\r\n+Ada\r\n*2\r\n+logins\r\n:3\r\n*2\r\n+type\r\n+admin\r\n";
    for wire in [map, flat, nested] {
        assert_eq!(decode(wire), Ok(ada()), "{wire:?}");
    }
    let twice = decode::<User>("%3\r\n+name\r\n+x\r\n+logins\r\n:3\r\n+name\r\n+Bob\r\n").unwrap();
    assert_eq!(twice.name, "Bob");
}

#[test]
fn what_is_missing_is_named_and_what_is_wrong_is_an_error() {
    let missing = DecodeError::MissingField {
        of: "User",
        field: "logins",
    };
    assert_eq!(decode::<User>("%1\r\n+name\r\n+Ada\r\n"), Err(missing));
    let empty = decode::<User>("*0\r\n").unwrap_err();
    assert_eq!(empty.to_string(), "field \"name\" of User is missing");
    assert!(decode::<User>("%1\r\n+logins\r\n+many\r\n").is_err());
    assert!(decode::<User>("*1\r\n+name\r\n").is_err());
    assert!(decode::<User>("%1\r\n:1\r\n:1\r\n").is_err());
    let refused = decode::<User>("-ERR no\r\n").unwrap_err();
    assert!(matches!(refused, DecodeError::Server(error) if error.code() == "ERR"));
    assert_eq!(decode::<Option<User>>("_\r\n"), Ok(None));
}

#[derive(Debug, PartialEq, FromReply)]
struct Meters(f64);

#[derive(Debug, PartialEq, FromReply)]
struct Place(Meters, Meters, Option<String>);

#[test]
fn a_tuple_structure_is_made_of_a_list_or_of_its_only_field() {
    assert_eq!(decode(",1.5\r\n"), Ok(Meters(1.5)));
    let place = Place(Meters(1.0), Meters(2.0), None);
    assert_eq!(decode("*3\r\n,1\r\n$1\r\n2\r\n_\r\n"), Ok(place));
    let length = DecodeError::Length {
        expected: 3,
        found: 1,
    };
    assert_eq!(decode::<Place>("*1\r\n,1\r\n"), Err(length));
}

#[derive(Debug, PartialEq, FromReply)]
#[redis(rename_all = "kebab-case")]
enum Role {
    Master,
    ReadReplica,
    #[redis(rename = "sentinel!")]
    Sentinel,
}

#[test]
fn an_enumeration_is_made_of_its_names() {
    assert_eq!(decode("$6\r\nmaster\r\n"), Ok(Role::Master));
    assert_eq!(decode("+read-replica\r\n"), Ok(Role::ReadReplica));
    assert_eq!(decode("+sentinel!\r\n"), Ok(Role::Sentinel));
    let unknown = decode::<Role>("+slave\r\n").unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "simple string is not a variant of Role"
    );
    assert!(decode::<Role>(":1\r\n").is_err());
}

#[derive(Debug, PartialEq, FromReply)]
struct Page<T> {
    next: u64,
    #[redis(rename = "items")]
    list: Vec<T>,
}

#[test]
fn structures_nest_and_take_types() {
    let wire = "%2\r\n+next\r\n:7\r\n+items\r\n*1\r\n%2\r\n+name\r\n+Ada\r\n+logins\r\n:3\r\n";
    let page: Page<User> = decode(wire).unwrap();
    assert_eq!(page.next, 7);
    assert_eq!(page.list[0].name, "Ada");
}

#[derive(Debug, FromReplies)]
struct Visit {
    name: Result<Option<String>, Error>,
    visits: Result<i64, Error>,
}

#[derive(FromReplies)]
struct Both<A, B>(Result<A, Error>, Result<B, Error>);

#[test]
fn the_results_of_a_pipeline_have_names() {
    let visit = pipeline()
        .add(get("name"))
        .add(incr("visits"))
        .named::<Visit>();
    fn gives<B: Batch<Output = T>, T>(_: &B) {}
    gives::<_, Visit>(&visit);
    gives::<_, Result<Visit, Error>>(&visit.atomic());
    let both = pipeline().add(get("a")).add(get("b"));
    gives::<_, Both<String, u64>>(&both.named());

    let from = |results: (Result<Option<String>, Error>, Result<i64, Error>)| Visit::from(results);
    let visit = from((Ok(None), Ok(7)));
    assert!(matches!((visit.name, visit.visits), (Ok(None), Ok(7))));
}
