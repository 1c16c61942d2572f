//! Requests that end with the future that waits for them.

use super::{client::Client, flight::InFlight};

/// Cancels a request when it is dropped.
pub(super) struct CancelOnDrop<'a> {
    client: &'a Client,
    in_flight: Option<InFlight>,
}

impl<'a> CancelOnDrop<'a> {
    pub(super) fn new(client: &'a Client, in_flight: InFlight) -> Self {
        Self { client, in_flight: Some(in_flight) }
    }

    /// The request has its answer.
    pub(super) fn disarm(mut self) {
        self.in_flight = None;
    }
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(in_flight) = &self.in_flight {
            self.client.cancel(in_flight, "the caller is gone");
        }
    }
}
