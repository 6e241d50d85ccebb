//! C16: what would block is an error on the owner, and slow operations are counted with their label.

use std::time::{Duration, Instant};

use arknet::owner::{Budget, Io, Owner, OwnerError};
use arknet::{Lanes, LanesError};

use crate::support::Stage;

#[test]
fn a_blocking_call_of_ours_in_an_update_is_an_error_that_says_so() {
    let mut stage = Stage::<Vec<String>>::new(Io::threads(1));
    let lanes = Lanes::sharded(1).unwrap();
    let manual = Lanes::manual().unwrap();
    let others = (lanes.clone(), manual.clone());
    stage
        .defer(move |world| {
            let (lanes, manual) = others;
            let blocked = lanes.block_on(async {});
            assert!(matches!(blocked, Err(LanesError::OnOwner)));
            world.push(blocked.unwrap_err().to_string());
            assert!(matches!(
                manual.block_on(async {}),
                Err(LanesError::OnOwner)
            ));
            assert!(matches!(
                manual.poll_until(Instant::now()),
                Err(LanesError::OnOwner)
            ));
            assert!(matches!(manual.poll(), Err(LanesError::OnOwner)));
        })
        .unwrap();
    let task = lanes.clone();
    stage
        .spawn(async move |cx| {
            let error = task.block_on(async {}).unwrap_err().to_string();
            cx.with(|world| world.push(error));
        })
        .unwrap();
    let report = stage.update();
    assert!(report.panics.is_empty(), "{:?}", report.panics);
    assert!(
        lanes.block_on(async {}).is_ok(),
        "outside of an update it may"
    );
    assert!(manual.poll().is_ok());
    drop((lanes, manual));
    for text in stage.end() {
        assert!(text.contains("owner's update"), "{text}");
    }
}

#[test]
fn an_update_inside_of_an_update_is_an_error() {
    let mut stage = Stage::<u32>::inline();
    let mut other = Owner::<u32>::builder().io(Io::inline()).build().unwrap();
    other.defer(|world| *world += 1).unwrap();
    stage
        .defer(move |world| {
            let mut inner = 0;
            let error = other.update(&mut inner, Budget::default()).unwrap_err();
            assert!(matches!(error, OwnerError::Nested));
            *world += 1;
        })
        .unwrap();
    let report = stage.update();
    assert!(report.panics.is_empty(), "{:?}", report.panics);
    assert_eq!(stage.end(), 1);
}

#[test]
fn an_inline_owner_inside_of_a_runtime_is_a_typed_error() {
    let mut stage = Stage::<u32>::inline();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let owner = stage.owner.as_mut().unwrap();
    let world = &mut stage.world;
    runtime.block_on(async {
        assert!(matches!(
            owner.update(world, Budget::default()),
            Err(OwnerError::Lanes(LanesError::InsideRuntime))
        ));
    });
    drop(runtime);
    let _ = stage.update();
    stage.end();
}

#[test]
fn slow_operations_are_counted() {
    let mut stage: Stage<u32> = Stage::build(|| {
        Owner::builder()
            .io(Io::inline())
            .log_slow(Duration::from_millis(5))
            .build()
            .unwrap()
    });
    stage
        .defer(|_| {
            let until = Instant::now() + Duration::from_millis(6);
            while Instant::now() < until {}
        })
        .unwrap();
    let _ = stage.update();
    assert_eq!(stage.stats().slow, 1);
    stage.end();
}
