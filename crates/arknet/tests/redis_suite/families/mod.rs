//! The typed functions, each against a real server: the name is one that it knows, the arguments stand in its order,
//! and the reply is of the type that was promised, in both protocols.

mod hashes;
mod keys;
mod lists;
mod places;
mod scripts;
mod server;
mod sets;
mod sorted_sets;
mod streams;
mod strings;
