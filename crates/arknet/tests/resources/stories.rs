//! After everything that went wrong, nothing is left: the stories of the fault binary in rounds, with the heap counted.

use crate::Story;
use crate::cycles::until_flat;
use crate::support::{Carrier, Cell, Model, Style};
use crate::{proxy_cut, proxy_half_close, proxy_reconnect, proxy_reset, proxy_stall};

fn tell_all(cell: Cell) {
    let common: [&[Story]; 5] = [
        proxy_cut::IN_EVERY_CELL,
        proxy_half_close::IN_EVERY_CELL,
        proxy_reconnect::IN_EVERY_CELL,
        proxy_reset::IN_EVERY_CELL,
        proxy_stall::IN_EVERY_CELL,
    ];
    let own: [&[Story]; 2] = if cell.is_secure() {
        [
            proxy_cut::IN_EVERY_SECURE_CELL,
            proxy_stall::IN_EVERY_SECURE_CELL,
        ]
    } else {
        [proxy_stall::IN_EVERY_PLAIN_CELL, &[]]
    };
    for story in common.into_iter().chain(own).flatten() {
        story(cell);
    }
}

#[test]
fn faults_of_tcp_callbacks_have_no_leak() {
    until_flat(|| tell_all(Cell::new(Carrier::Tcp, Style::Callbacks, Model::Sharded4)));
}

#[test]
fn faults_of_tcp_async_have_no_leak() {
    until_flat(|| tell_all(Cell::new(Carrier::Tcp, Style::Async, Model::Manual)));
}

#[test]
fn faults_of_tcps_callbacks_have_no_leak() {
    until_flat(|| tell_all(Cell::new(Carrier::Tcps, Style::Callbacks, Model::Manual)));
}

#[test]
fn faults_of_tcps_async_have_no_leak() {
    until_flat(|| tell_all(Cell::new(Carrier::Tcps, Style::Async, Model::Sharded4)));
}
