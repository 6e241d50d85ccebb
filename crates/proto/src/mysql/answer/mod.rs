//! What a server answers.

mod conversation;
mod definitions;
mod event;
mod infile;
mod state;

pub use self::conversation::{Conversation, Fate};
pub use self::event::{Event, Progress};
pub use self::infile::LocalInfile;
