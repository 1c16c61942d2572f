//! A reply channel that knows how its message arrived.

use super::outbound::{Outbound, OutgoingMessage};
use crate::server::handlers::Arrival;
use std::sync::Arc;

/// The reply channel of one message.
pub(crate) struct ArrivalReply {
    reply: Arc<dyn Outbound>,
    arrival: Arrival,
}

impl ArrivalReply {
    pub(crate) fn channel(reply: Arc<dyn Outbound>, arrival: Arrival) -> Arc<dyn Outbound> {
        Arc::new(Self { reply, arrival })
    }
}

impl Outbound for ArrivalReply {
    fn send(&self, outgoing: OutgoingMessage) {
        self.reply.send(outgoing);
    }

    fn is_congested(&self) -> bool {
        self.reply.is_congested()
    }

    fn is_behind(&self) -> bool {
        self.reply.is_behind()
    }

    fn can_ask(&self) -> bool {
        self.reply.can_ask()
    }

    fn close_stream(&self) {
        self.reply.close_stream();
    }

    fn release_slot(&self) {
        self.reply.release_slot();
    }

    fn arrival(&self) -> Option<&Arrival> {
        Some(&self.arrival)
    }
}
