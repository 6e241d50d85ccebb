//! Sorted sets: scores are numbers in both protocols, and members keep theirs.

use std::collections::HashMap;

use arknet::redis::cmd;

use crate::harness::Host;

in_every_cell![
    scores_stay_with_their_members,
    what_leaves_says_so,
    places_have_distances
];

fn scores_stay_with_their_members(host: &Host) {
    let key = host.key("scores");
    let add = cmd::<usize>("ZADD")
        .arg(&key)
        .arg(1.5)
        .arg("one")
        .arg("-inf")
        .arg("least");
    assert_eq!(
        host.run(add.arg("inf").arg("most").arg(2).arg("two"))
            .unwrap(),
        4
    );
    let all = || {
        cmd::<Vec<(String, f64)>>("ZRANGE")
            .arg(&key)
            .args(["0", "-1", "WITHSCORES"])
    };
    let named = |name: &str, score| (name.to_owned(), score);
    let expected = [
        named("least", f64::NEG_INFINITY),
        named("one", 1.5),
        named("two", 2.0),
        named("most", f64::INFINITY),
    ];
    assert_eq!(host.run(all()).unwrap(), expected);
    let scores: HashMap<String, f64> = host.run(all().returning()).unwrap();
    assert_eq!(scores["two"], 2.0);
    assert_eq!(
        host.run(cmd::<Option<f64>>("ZSCORE").arg(&key).arg("one"))
            .unwrap(),
        Some(1.5)
    );
    assert_eq!(
        host.run(cmd::<Option<f64>>("ZSCORE").arg(&key).arg("none"))
            .unwrap(),
        None
    );
    let some: Vec<Option<f64>> = host
        .run(cmd("ZMSCORE").arg(&key).args(["two", "none"]))
        .unwrap();
    assert_eq!(some, [Some(2.0), None]);
    assert_eq!(
        host.run(cmd::<f64>("ZINCRBY").arg(&key).arg(0.25).arg("one"))
            .unwrap(),
        1.75
    );
    assert_eq!(
        host.run(cmd::<Option<usize>>("ZRANK").arg(&key).arg("two"))
            .unwrap(),
        Some(2)
    );
    assert_eq!(host.run(cmd::<usize>("ZCARD").arg(&key)).unwrap(), 4);
    let names: Vec<String> = host
        .run(cmd("ZRANGEBYSCORE").arg(&key).args(["1", "(2"]))
        .unwrap();
    assert_eq!(names, ["one"]);
}

fn what_leaves_says_so(host: &Host) {
    let key = host.key("leaving");
    host.run(
        cmd::<()>("ZADD")
            .arg(&key)
            .args(["1", "a", "2", "b", "3", "c", "4", "d"]),
    )
    .unwrap();
    let least: Vec<(String, f64)> = host.run(cmd("ZPOPMIN").arg(&key)).unwrap();
    assert_eq!(least, [("a".to_owned(), 1.0)]);
    let most: Vec<(String, f64)> = host.run(cmd("ZPOPMAX").arg(&key).arg(2)).unwrap();
    assert_eq!(most, [("d".to_owned(), 4.0), ("c".to_owned(), 3.0)]);
    let popped: Option<(String, Vec<(String, f64)>)> =
        host.run(cmd("ZMPOP").arg(1).arg(&key).arg("MIN")).unwrap();
    assert_eq!(popped.unwrap(), (key.clone(), vec![("b".to_owned(), 2.0)]));
    let none: Option<(String, Vec<(String, f64)>)> =
        host.run(cmd("ZMPOP").arg(1).arg(&key).arg("MIN")).unwrap();
    assert_eq!(none, None);
}

fn places_have_distances(host: &Host) {
    let key = host.key("places");
    let add = cmd::<usize>("GEOADD")
        .arg(&key)
        .arg(13.361389)
        .arg(38.115556)
        .arg("Palermo");
    host.run(add.arg(15.087269).arg(37.502669).arg("Catania"))
        .unwrap();
    let distance: Option<f64> = host
        .run(cmd("GEODIST").arg(&key).args(["Palermo", "Catania", "km"]))
        .unwrap();
    assert!((166.0..167.0).contains(&distance.unwrap()), "{distance:?}");
    let at: Vec<Option<(f64, f64)>> = host
        .run(cmd("GEOPOS").arg(&key).args(["Catania", "Nowhere"]))
        .unwrap();
    let (longitude, latitude) = at[0].unwrap();
    assert!((longitude - 15.087269).abs() < 1e-5 && (latitude - 37.502669).abs() < 1e-5);
    assert_eq!(at[1], None);
}
