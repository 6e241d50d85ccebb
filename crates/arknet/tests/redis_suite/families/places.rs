//! Places on the earth.

use arknet::redis::commands::geo::*;

use crate::harness::Host;

in_both_protocols![places];

fn places(host: &Host) {
    let known = [
        (13.361389, 38.115556, "Palermo"),
        (15.087269, 37.502669, "Catania"),
    ];
    assert_eq!(host.run(geoadd("g", known)).unwrap(), 2);
    let far = host
        .run(geodist("g", "Palermo", "Catania", Unit::Kilometers))
        .unwrap();
    assert!((166.0..167.0).contains(&far.unwrap()), "{far:?}");
    assert_eq!(
        host.run(geodist("g", "Palermo", "Nowhere", Unit::Meters))
            .unwrap(),
        None
    );
    let at = host
        .run(geopos("g", ["Palermo", "Nowhere", "Catania"]))
        .unwrap();
    assert!((at[0].unwrap().0 - 13.361389).abs() < 1e-5 && at[1].is_none() && at[2].is_some());
    let around = Center::Place(15.0, 37.0);
    let near = host
        .run(geosearch::<String>("g", around, 100.0, Unit::Kilometers))
        .unwrap();
    assert_eq!(near, ["Catania"]);
    let around = Center::Member("Palermo");
    let mut near = host
        .run(geosearch_withdist::<String>(
            "g",
            around,
            200.0,
            Unit::Miles,
        ))
        .unwrap();
    near.sort_by(|one, other| one.1.total_cmp(&other.1));
    assert!(near[0].0 == "Palermo" && near[0].1 < 0.001 && near[1].0 == "Catania");
}
