//! Records of messages and HTTP exchanges.

use crate::protocol::{
    RawJson, Revision,
    envelope::{self, Message, NoResult},
};
use bytes::Bytes;

/// Receives records. It must not block for long, and must not send messages itself.
pub trait WireLog: Send + Sync + 'static {
    /// Records the text of a message. One that was refused is as it arrived, and may be no JSON.
    fn text(&self, exchange: &MessageInfo<'_>, text: &[u8]);

    /// Records an HTTP exchange, once the head of its response has arrived, or it has failed.
    fn http(&self, exchange: &HttpExchange<'_>) {
        let _ = exchange;
    }

    /// Records a parsed message.
    fn message(&self, exchange: &MessageInfo<'_>, message: &Message) {
        if let Some(text) = encoded(message) {
            self.text(exchange, &text);
        }
    }
}

/// The text of a parsed message. `None` for an invalid response, which has no other form than the
/// one in which it arrived.
pub(crate) fn encoded(message: &Message) -> Option<Bytes> {
    Some(match message {
        Message::Request(request) => {
            envelope::encode_request(&request.id, &request.method, request.params.as_ref().map(|p| p.as_bytes()))
        }
        Message::Notification(notification) => {
            envelope::encode_notification(&notification.method, notification.params.as_ref().map(|p| p.as_bytes()))
        }
        Message::Response(response) => match (&response.id, &response.outcome) {
            (Some(id), Ok(result)) => envelope::encode_result(id, result.as_bytes()),
            (id, Err(NoResult::Error(error))) => envelope::encode_error(id.as_ref(), error),
            (None, Ok(_)) | (_, Err(NoResult::InvalidResponse(_))) => return None,
        },
    })
}

/// A record, as a closure receives it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Observed<'a> {
    /// A message, and its text.
    Message(&'a MessageInfo<'a>, &'a [u8]),
    /// An HTTP exchange.
    Http(&'a HttpExchange<'a>),
}

impl<F: Fn(Observed<'_>) + Send + Sync + 'static> WireLog for F {
    fn text(&self, exchange: &MessageInfo<'_>, text: &[u8]) {
        self(Observed::Message(exchange, text));
    }

    fn http(&self, exchange: &HttpExchange<'_>) {
        self(Observed::Http(exchange));
    }
}

/// An HTTP exchange: of a transport, or with an authorization server. Its messages are recorded by
/// themselves.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpExchange<'a> {
    /// The recording side.
    pub side: Side,
    /// The number of the client in this process, if the exchange belongs to one.
    pub connection: Option<u64>,
    /// The method of the request.
    pub method: &'a str,
    /// The URL; at a server, the path and query.
    pub url: &'a str,
    /// Names and values of the headers of the request, without those that the HTTP library adds.
    pub request_headers: Vec<(String, String)>,
    /// The status of the response; `None` if there was none.
    pub status: Option<u16>,
    /// Names and values of the headers of the response.
    pub response_headers: Vec<(String, String)>,
    /// Why there was no response.
    pub error: Option<&'a str>,
    /// The time to the head of the response.
    pub duration: std::time::Duration,
}

/// Information about a recorded message.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct MessageInfo<'a> {
    /// The recording side.
    pub side: Side,
    /// The direction, seen from that side.
    pub direction: Direction,
    /// The number of the client in this process, or of the conversation in its server, if known.
    pub connection: Option<u64>,
    /// Transport of the message.
    pub transport: Transport,
    /// Its revision; `None` before one is negotiated.
    pub revision: Option<Revision>,
    /// The client's capabilities object, if known.
    pub client_capabilities: Option<&'a RawJson>,
    /// For a response, the method of its request.
    pub method: Option<&'a str>,
    /// True for a message refused as malformed, or the response to it.
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
