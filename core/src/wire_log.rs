//! A record of every message that crosses, for people who debug and for the check that no message
//! has a field that its revision does not know. Off unless the runtime has one.

use crate::protocol::{
    RawJson, Revision,
    envelope::{self, Message, NoResult},
};

/// Takes records.
pub trait WireLog: Send + Sync + 'static {
    /// Takes the text of one message.
    fn text(&self, exchange: &MessageInfo<'_>, text: &[u8]);

    /// Takes a message that was read already.
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
    /// Which side records.
    pub side: Side,
    /// Which way the message went, seen from that side.
    pub direction: Direction,
    /// Transport of the message.
    pub transport: Transport,
    /// The revision that governs it; `None` before one is settled.
    pub revision: Option<Revision>,
    /// The capabilities object of the client that it was negotiated with, if known.
    pub client_capabilities: Option<&'a RawJson>,
    /// The method of the request that a response answers.
    pub method: Option<&'a str>,
    /// A request that was refused as malformed, or the refusal.
    pub refused: bool,
}

/// The side that records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// A server of ours.
    Server,
    /// A client of ours.
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
    /// Queues of one process.
    Memory,
    /// A transport of the program's own.
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

/// The way of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From this side.
    Sent,
    /// To this side.
    Received,
}
