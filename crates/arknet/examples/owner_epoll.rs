//! The owner in an epoll loop: a descriptor among the loop's own.
//!
//! ```sh
//! cargo run -p arknet --example owner_epoll
//! ```
//!
//! The descriptor is readable from the first thing that becomes ready for an owner that was armed, to its next update. It
//! says nothing of timers: the loop's sleep ends at the owner's next deadline.
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    demo()
}

/// Epoll is Linux's.
#[cfg(not(target_os = "linux"))]
pub(crate) fn demo() -> Result<(), Box<dyn Error>> {
    println!("there is no epoll here");
    Ok(())
}

/// Takes in what another thread has, beside a socket of the loop's own.
#[cfg(target_os = "linux")]
pub(crate) fn demo() -> Result<(), Box<dyn Error>> {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    use arknet::owner::{Budget, Io, Owner};
    use rustix::buffer::spare_capacity;
    use rustix::event::{Timespec, epoll};

    const OWNER: u64 = 1;
    const SOCKET: u64 = 2;

    #[derive(Default)]
    struct World {
        posted: u32,
        read: u32,
        rang: bool,
    }

    let mut owner = Owner::<World>::builder().io(Io::threads(1)).build()?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let descriptor = owner.descriptor()?;
    let (mut socket, mut peer) = UnixStream::pair()?;
    for (fd, data) in [
        (rustix::fd::AsFd::as_fd(&*descriptor), OWNER),
        (rustix::fd::AsFd::as_fd(&socket), SOCKET),
    ] {
        epoll::add(
            &epoll,
            fd,
            epoll::EventData::new_u64(data),
            epoll::EventFlags::IN,
        )?;
    }

    owner.after(Duration::from_millis(5), |world| world.rang = true)?;
    let poster = owner.poster();
    let thread = std::thread::spawn(move || {
        let mut done = true;
        for _ in 0..10 {
            done &= poster.post(|world| world.posted += 1).is_ok();
            done &= peer.write_all(b"x").is_ok();
        }
        done
    });

    let mut world = World::default();
    let mut events = Vec::with_capacity(8);
    loop {
        owner.update(&mut world, Budget::default())?;
        if world.posted == 10 && world.read == 10 && world.rang {
            break;
        }
        let sleep = if owner.arm() {
            // Rounded up, or the loop would spin before a deadline.
            let left = owner
                .next_deadline()
                .map_or(Duration::from_secs(3600), |next| {
                    next.saturating_duration_since(Instant::now()) + Duration::from_micros(1)
                });
            Timespec::try_from(left)?
        } else {
            Timespec::default()
        };
        events.clear();
        epoll::wait(&epoll, spare_capacity(&mut events), Some(&sleep))?;
        for event in &events {
            if event.data.u64() == SOCKET {
                let mut bytes = [0; 16];
                world.read += u32::try_from(socket.read(&mut bytes)?)?;
            }
        }
    }
    println!(
        "{} posts, {} bytes of the loop's own socket, and a timer",
        world.posted, world.read
    );
    if !thread.join().unwrap_or(false) {
        return Err("a post was refused".into());
    }
    Ok(())
}
