//! An experiment: rounds in which the arms' living processes take turns, until a look decides.

pub mod admin;
pub mod arm;
pub mod arms;
mod asking;
pub mod awake;
pub mod blocks;
pub mod broker;
mod calibration;
pub mod capabilities;
pub mod capacity;
pub mod clients;
mod collect;
mod counters;
mod death;
pub mod disk;
mod facts;
mod fill_in;
pub mod hosts;
pub mod input_files;
pub mod install;
pub mod laps;
mod live_block;
pub mod machine_check;
mod marker;
pub mod measured;
mod messages;
mod observed_options;
pub mod path;
pub mod phase;
pub mod placement;
mod preparation;
pub mod probe;
pub mod progress;
mod rates;
pub mod receipt;
pub mod resume;
pub mod rounds;
pub mod runner;
pub mod sampler;
pub mod selection;
pub mod server_access;
pub mod settings;
pub mod setup;
pub mod stop;
pub mod summary;
mod system;
pub mod token;
mod trial;
pub mod turn;
pub mod unacknowledged;
mod unix_sockets;
pub mod world;

use std::cmp::Reverse;

use rand_chacha::ChaCha8Rng;
use rand_core::Rng as _;
use stats::order::Order;

/// Fisher-Yates over the experiment's own generator, so that a seed always gives the same order.
pub fn shuffle<T>(items: &mut [T], rng: &mut ChaCha8Rng) {
    for last in (1..items.len()).rev() {
        let chosen = (u128::from(rng.next_u64()) * (last as u128 + 1)) >> 64;
        items.swap(last, chosen as usize);
    }
}

/// Puts places of arms into an order; `arm` is the index of the arm at a place.
pub fn arrange(
    order: Order,
    places: &mut [usize],
    arm: impl Fn(usize) -> usize,
    rng: &mut ChaCha8Rng,
) {
    match order {
        Order::Shuffled => shuffle(places, rng),
        Order::Given => places.sort_by_key(|place| arm(*place)),
        Order::Reverse => places.sort_by_key(|place| Reverse(arm(*place))),
    }
}
