//! Events to the host, and shapes and errors in both directions.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use trunkline::protocol::describe::{Described, Type, Values};

/// One thing that the host has to know. A flat record, the same in every language.
#[derive(Debug, Clone, Default)]
pub struct Event {
    /// The kind of event.
    pub kind: EventKind,
    /// The call to answer, or the request that is answered; 0 if none.
    pub ticket: u64,
    /// The registered thing, the listener or the connection; 0 if none.
    pub handle: u64,
    /// `false` only on a `Reply`, `SessionClosed` or `HttpEnd` whose body is an error object.
    pub ok: bool,
    /// The method of a `Notification`; empty otherwise.
    pub name: String,
    /// JSON, as `docs/bridge.md` says for each kind (the reason of a `Cancel` is plain text, an `HttpChunk` the bytes themselves).
    pub body: Bytes,
}

/// The kinds of events. The numbers are part of the contract and are never reused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// A call of something that the host registered.
    Call = 0,
    /// A call is no longer wanted.
    Cancel = 1,
    /// The outcome of a request or an open.
    Reply = 2,
    /// A notification from a peer.
    Notification = 3,
    /// A listener or connection ended.
    SessionClosed = 4,
    /// Log records.
    Log = 5,
    /// The port is closed; nothing follows.
    #[default]
    Stopped = 6,
    /// Status and headers of a response.
    HttpHead = 7,
    /// Bytes of a response: not JSON.
    HttpChunk = 8,
    /// A response is over.
    HttpEnd = 9,
    /// The host may read a pipe itself.
    Watch = 10,
    /// Nothing calls a registered thing any more.
    Freed = 11,
}

/// How the bytes given to `complete` are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Shape {
    /// Raw UTF-8 text.
    Text = 0,
    /// One content block or an array of them.
    Content = 1,
    /// A JSON object.
    Object = 2,
    /// Any JSON value.
    Value = 3,
    /// A full result.
    Result = 4,
    /// Input of the client that is needed first.
    Input = 5,
}

impl Shape {
    /// The shape of a number, if it names one.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Text, Self::Content, Self::Object, Self::Value, Self::Result, Self::Input]
            .into_iter()
            .find(|shape| *shape as u8 == number)
    }
}

impl Described for Lane {
    const TYPE: Type = {
        static VALUES: Values = Values {
            name: "Lane",
            doc: &[" The drainer that takes an event."],
            values: &[
                ("queue", &[" The loop that owns the port; its bell rings."]),
                ("pool", &[" Worker threads that wait in `drain`."]),
            ],
            open: false,
        };
        Type::Values(&VALUES)
    };
}

/// Which drainer takes an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    /// The loop that owns the port; its bell rings.
    #[default]
    Queue,
    /// Worker threads that wait in `drain`.
    Pool,
}
