//! Records every message, for debugging and for the check that no message has a field unknown to
//! its revision. Off unless the runtime has one.

use crate::protocol::{
    RawJson, Revision,
    envelope::{self, Message, NoResult},
};

/// Receives records.
pub trait WireLog: Send + Sync + 'static {
    /// Records the text of a message.
    fn text(&self, exchange: &MessageInfo<'_>, text: &[u8]);

    /// Records a parsed message.
    fn message(&self, exchange: &MessageInfo<'_>, message: &Message) {
        let text = match message {
            Message::Request(request) => {
                envelope::encode_request(&request.id, &request.method, request.params.as_ref().map(|p| p.as_bytes()))
            }
            Message::Notification(notification) => {
                envelope::encode_notification(&notification.method, notification.params.as_ref().map(|p| p.as_bytes()))
            }
            Message::Response(response) => match (&response.id, &response.outcome) {
                (Some(id), Ok(result)) => envelope::encode_result(id, result.as_bytes()),
                (id, Err(NoResult::Error(error))) => envelope::encode_error(id.as_ref(), error),
                (None, Ok(_)) | (_, Err(NoResult::InvalidResponse(_))) => return,
            },
        };
        self.text(exchange, &text);
    }
}

/// Information about a recorded message.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct MessageInfo<'a> {
    /// The recording side.
    pub side: Side,
    /// The direction, seen from that side.
    pub direction: Direction,
    /// Transport of the message.
    pub transport: Transport,
    /// Its revision; `None` before one is negotiated.
    pub revision: Option<Revision>,
    /// The client's capabilities object, if known.
    pub client_capabilities: Option<&'a RawJson>,
    /// For a response, the method of its request.
    pub method: Option<&'a str>,
    /// True for a request refused as malformed, or the response to it.
    pub refused: bool,
}

/// The recording side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The server.
    Server,
    /// The client.
    Client,
}

/// The transport of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transport {
    /// The standard streams of a process.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// In-memory queues.
    Memory,
    /// A custom transport.
    Channel,
}

impl Transport {
    /// Its name in a record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Memory => "memory",
            Self::Channel => "channel",
        }
    }
}

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Sent by this side.
    Sent,
    /// Received by this side.
    Received,
}
