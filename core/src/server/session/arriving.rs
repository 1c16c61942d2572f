//! The way back to the sender of one message, among messages that share a way.

use super::outbound::{Outbound, OutgoingMessage};
use crate::{protocol::RawJson, server::handlers::Arrival};
use std::sync::Arc;

/// The way back to the sender of a message.
pub(crate) struct Arriving {
    reply: Arc<dyn Outbound>,
    arrival: Arrival,
}

impl Arriving {
    pub(crate) fn way(reply: Arc<dyn Outbound>, arrival: Arrival) -> Arc<dyn Outbound> {
        Arc::new(Self { reply, arrival })
    }
}

impl Outbound for Arriving {
    fn send(&self, outgoing: OutgoingMessage) {
        self.reply.send(outgoing);
    }

    fn is_congested(&self) -> bool {
        self.reply.is_congested()
    }

    fn can_ask(&self) -> bool {
        self.reply.can_ask()
    }

    fn close_stream(&self) {
        self.reply.close_stream();
    }

    fn leave_place(&self) {
        self.reply.leave_place();
    }

    fn auth(&self) -> Option<&RawJson> {
        self.reply.auth()
    }

    fn resource(&self) -> Option<&str> {
        self.reply.resource()
    }

    fn grants(&self, scopes: &[String]) -> bool {
        self.reply.grants(scopes)
    }

    fn arrival(&self) -> Option<&Arrival> {
        Some(&self.arrival)
    }
}
