//! Every order that the memory model allows, for what other threads and the owner meet at: `scripts/test loom`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::thread;

use super::hook::Hook;
use super::mailbox::{Mailbox, Refusal};
use super::signal::Signal;

/// Takes all that is there, as an update does.
fn update(signal: &Signal, mailboxes: &[&Mailbox<u32>], taken: &mut VecDeque<u32>) {
    if !signal.has_news() {
        return;
    }
    let mut sources = Vec::new();
    signal.take(&mut sources);
    for source in sources {
        if let Some(mailbox) = mailboxes.get(source as usize) {
            let count = mailbox.take(taken);
            mailbox.release(count, count);
        }
    }
}

fn mailbox(signal: &Arc<Signal>, source: u32, most: usize) -> Arc<Mailbox<u32>> {
    Arc::new(Mailbox::new(signal.clone(), source, most, usize::MAX))
}

/// Counts how often the host is woken. The count itself is not what is checked, so it is none of loom's.
fn counting(signal: &Signal) -> Arc<AtomicUsize> {
    let woken = Arc::new(AtomicUsize::new(0));
    let count = woken.clone();
    signal.set_hook(Hook::Call(Arc::new(move || {
        count.fetch_add(1, Ordering::SeqCst);
    })));
    woken
}

#[test]
fn nothing_is_lost_and_each_thread_keeps_its_order() {
    loom::model(|| {
        let signal = Arc::new(Signal::new());
        let mailbox = mailbox(&signal, 0, 8);
        let posters: Vec<_> = [10, 20]
            .map(|base| {
                let mailbox = mailbox.clone();
                thread::spawn(move || {
                    for number in 0..2 {
                        assert!(mailbox.post(base + number, 1).is_ok());
                    }
                })
            })
            .into();
        let mut taken = VecDeque::new();
        update(&signal, &[&mailbox], &mut taken);
        for poster in posters {
            assert!(poster.join().is_ok());
        }
        update(&signal, &[&mailbox], &mut taken);
        assert_eq!(taken.len(), 4);
        for base in [10, 20] {
            let own: Vec<u32> = taken
                .iter()
                .copied()
                .filter(|number| number / 10 * 10 == base)
                .collect();
            assert_eq!(own, [base, base + 1]);
        }
    });
}

#[test]
fn an_owner_that_is_armed_and_sleeps_is_woken_by_whoever_comes_first() {
    loom::model(|| {
        let signal = Arc::new(Signal::new());
        let woken = counting(&signal);
        let first = mailbox(&signal, 0, 8);
        let second = mailbox(&signal, 1, 8);
        let posters: Vec<_> = [first.clone(), second.clone()]
            .map(|mailbox| thread::spawn(move || assert!(mailbox.post(1, 1).is_ok())))
            .into();
        let asleep = signal.arm();
        for poster in posters {
            assert!(poster.join().is_ok());
        }
        // It sleeps only if it was armed, and then it has been woken, once; not armed, it has news and nobody calls.
        assert_eq!(woken.load(Ordering::SeqCst), usize::from(asleep));
        let mut taken = VecDeque::new();
        update(&signal, &[&first, &second], &mut taken);
        assert_eq!(taken.len(), 2);
    });
}

#[test]
fn arming_beside_an_update_s_end_loses_no_wake() {
    loom::model(|| {
        let signal = Arc::new(Signal::new());
        let woken = counting(&signal);
        let mailbox = mailbox(&signal, 0, 8);
        let poster = {
            let mailbox = mailbox.clone();
            thread::spawn(move || {
                for number in 0..2 {
                    assert!(mailbox.post(number, 1).is_ok());
                }
            })
        };
        let mut taken = VecDeque::new();
        update(&signal, &[&mailbox], &mut taken);
        let asleep = signal.arm();
        let missing = 2 - taken.len();
        assert!(poster.join().is_ok());
        // Whatever was missing when it fell asleep has called.
        if asleep && missing > 0 {
            assert!(signal.has_news());
        }
        if asleep {
            assert_eq!(woken.load(Ordering::SeqCst), usize::from(signal.has_news()));
        } else {
            assert_eq!(woken.load(Ordering::SeqCst), 0);
        }
        signal.disarm();
        update(&signal, &[&mailbox], &mut taken);
        assert_eq!(taken, [0, 1]);
    });
}

#[test]
fn the_bound_holds_and_a_close_is_final() {
    loom::model(|| {
        let signal = Arc::new(Signal::new());
        let mailbox = mailbox(&signal, 0, 1);
        let posters: Vec<_> = (0..2)
            .map(|number| {
                let mailbox = mailbox.clone();
                thread::spawn(move || mailbox.post(number, 1).map_err(|(refusal, _)| refusal))
            })
            .collect();
        mailbox.close();
        let accepted = posters
            .into_iter()
            .map(|poster| poster.join().expect("no thread panics"))
            .inspect(|posted| {
                assert!(matches!(
                    posted,
                    Ok(()) | Err(Refusal::Items | Refusal::Closed)
                ));
            })
            .filter(Result::is_ok)
            .count();
        assert!(accepted <= 1);
        let mut taken = VecDeque::new();
        assert_eq!(mailbox.take(&mut taken), accepted);
        assert_eq!(mailbox.post(9, 1), Err((Refusal::Closed, 9)));
    });
}
