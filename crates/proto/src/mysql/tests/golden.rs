//! Exchanges of the protocol's documentation, byte by byte, with a server that did not know of the newer flags.

use super::script::{PLAIN, told, waiting};
use crate::mysql::command;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.split_whitespace().collect();
    digits
        .iter()
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

#[test]
fn a_query() {
    let mut wire = Vec::new();
    let request = command::query(&mut wire, b"select @@version_comment limit 1", 100).unwrap();
    let sent =
        "21 00 00 00 03 73 65 6c 65 63 74 20 40 40 76 65 72 73 69 6f 6e 5f 63 6f 6d 6d 65 6e 74 20
        6c 69 6d 69 74 20 31";
    assert_eq!(wire, bytes(sent));
    let answer = bytes(
        "01 00 00 01 01 27 00 00 02 03 64 65 66 00 00 00 11 40 40 76 65 72 73 69 6f 6e 5f 63 6f 6d 6d 65
        6e 74 00 0c 08 00 1c 00 00 00 fd 00 00 1f 00 00 05 00 00 03 fe 00 00 02 00 1d 00 00 04 1c 4d 79
        53 51 4c 20 43 6f 6d 6d 75 6e 69 74 79 20 53 65 72 76 65 72 20 28 47 50 4c 29 05 00 00 05 fe 00
        00 02 00",
    );
    let expected = [
        "columns @@version_comment",
        r#"row [Text("MySQL Community Server (GPL)")]"#,
        "ok 0",
    ];
    for piece in 1..=answer.len() {
        assert_eq!(
            told(&mut waiting(PLAIN, &[request]), &answer, piece).unwrap(),
            expected
        );
    }
}

#[test]
fn a_prepared_statement() {
    let mut wire = Vec::new();
    let prepare = command::prepare(&mut wire, b"SELECT CONCAT(?, ?) AS col1", 100).unwrap();
    let sent =
        "1c 00 00 00 16 53 45 4c 45 43 54 20 43 4f 4e 43 41 54 28 3f 2c 20 3f 29 20 41 53 20 63 6f
        6c 31";
    assert_eq!(wire, bytes(sent));
    let answer = bytes(
        "0c 00 00 01 00 01 00 00 00 01 00 02 00 00 00 00 17 00 00 02 03 64 65 66 00 00 00 01 3f 00 0c 3f
        00 00 00 00 00 fd 80 00 00 00 00 17 00 00 03 03 64 65 66 00 00 00 01 3f 00 0c 3f 00 00 00 00 00
        fd 80 00 00 00 00 05 00 00 04 fe 00 00 02 00 1a 00 00 05 03 64 65 66 00 00 00 04 63 6f 6c 31 00
        0c 3f 00 00 00 00 00 fd 80 00 1f 00 00 05 00 00 06 fe 00 00 02 00",
    );
    assert_eq!(
        told(&mut waiting(PLAIN, &[prepare]), &answer, 7).unwrap(),
        ["prepared 1 of 2 yields 1"]
    );

    let execute = command::execute(&mut Vec::new(), 1, &(), 100).unwrap();
    let answer = bytes(
        "01 00 00 01 01 1a 00 00 02 03 64 65 66 00 00 00 04 63 6f 6c 31 00 0c 08 00 06 00 00 00 fd 00 00
        1f 00 00 05 00 00 03 fe 00 00 02 00 09 00 00 04 00 00 06 66 6f 6f 62 61 72 05 00 00 05 fe 00 00
        02 00",
    );
    assert_eq!(
        told(&mut waiting(PLAIN, &[execute]), &answer, 7).unwrap(),
        ["columns col1", r#"row [Text("foobar")]"#, "ok 0"]
    );
}
