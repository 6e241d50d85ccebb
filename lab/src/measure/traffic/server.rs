//! A server's share: look at a message, work on it. The answer is the message itself.

use std::sync::Arc;

use super::message::Header;
use crate::measure::config::Traffic;
use crate::measure::counters::Fault;
use crate::measure::run::Run;
use crate::measure::work::work;

/// What a server does with the messages of one connection.
#[derive(Debug)]
pub struct ServerTraffic {
    run: Arc<Run>,
    checked: bool,
}

impl ServerTraffic {
    /// A server in `run`. Messages of batches have no header that could be checked.
    pub fn new(run: Arc<Run>, traffic: Traffic) -> Self {
        ServerTraffic {
            run,
            checked: traffic == Traffic::Windowed,
        }
    }

    /// Checks length, magic and tag of a message and works on it; says whether to answer.
    #[inline]
    pub fn on_message(&mut self, message: &[u8]) -> bool {
        let sound = !self.checked
            || message.len() == self.run.payload() && Header::decode(message).is_some();
        if !sound {
            self.run.fault(
                Fault::ContentErrors,
                "a server received a message with a bad header",
            );
            return false;
        }
        work(message, self.run.work());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::config::TransportConfig;
    use crate::measure::run::Phase;

    #[test]
    fn a_bad_header_is_a_content_error_and_gets_no_answer() {
        let run = Run::new(&TransportConfig {
            payload: 16,
            ..Default::default()
        });
        let mut server = ServerTraffic::new(run.clone(), Traffic::Windowed);
        let good = Header::new(Phase::Warmup, 0, 0).encode();
        assert!(server.on_message(&good));
        assert!(!server.on_message(&[0; 16]));
        assert!(!server.on_message(&good[..15]));
        assert_eq!(run.counters(Phase::Warmup).get(Fault::ContentErrors), 2);
    }

    #[test]
    fn messages_of_a_batch_have_no_header() {
        let run = Run::new(&TransportConfig::default());
        assert!(ServerTraffic::new(run, Traffic::Batch).on_message(&[0; 1024]));
    }
}
