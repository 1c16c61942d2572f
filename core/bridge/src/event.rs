//! Events to the host, and shapes and errors in both directions.

use super::body::Body;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use trunkline::bridge_support::Cause;
use trunkline::protocol::describe::{Described, FieldDescription, ObjectDescription, Presence, Type, Values};

/// One thing that the host has to know. A flat record, the same in every language.
#[derive(Debug, Clone, Default)]
pub struct Event {
    /// The kind of event.
    pub kind: EventKind,
    /// The call to answer, or the request that is answered; 0 if none.
    pub ticket: u64,
    /// The registered feature, the listener or the connection; 0 if none.
    pub handle: u64,
    /// The method of a `Notification`, and the operation of a `Call` that is a request of a server;
    /// empty otherwise.
    pub name: String,
    /// The body, as `docs/bridge.md` says for each kind.
    pub body: Body,
    /// The exchange or the request of the host of which a `Call` came; 0 if none.
    pub cause: u64,
    /// The number of the port that knows the cause; 0 if it is the one of the event.
    pub cause_port: u64,
}

impl Event {
    /// The same for a call with that cause. `own`: the number of the port that gets it.
    pub(super) fn coming_of(self, cause: Option<&Arc<dyn Cause>>, own: u64) -> Self {
        let Some(cause) = cause else { return self };
        let port = Some(cause.port()).filter(|port| *port != own);
        Self { cause: cause.number(), cause_port: port.unwrap_or(0), ..self }
    }

    /// Returns `false` only for a `Reply`, `Closed` or `HttpEnd` whose body is an error object.
    pub fn ok(&self) -> bool {
        !matches!(self.body, Body::Error(_))
    }
}

macro_rules! event_kinds {
    ($($(#[doc = $doc:literal])* $kind:ident = $number:literal { $($field:ident: $ty:ident),* })*) => {
        /// The kinds of events. The numbers are part of the contract and are never reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum EventKind {
            $($(#[doc = $doc])* $kind = $number,)*
        }

        /// The events with the fields that mean something in them, for the declaration of the
        /// surface.
        pub(crate) static TO_HOST: &[(EventKind, ObjectDescription)] = &[$((EventKind::$kind, ObjectDescription {
            name: stringify!($kind),
            doc: &[$($doc),*],
            tag: None,
            fields: &[$(event_kinds!(@field $field $ty)),*],
        })),*];
    };
    (@field $field:ident $ty:ident) => {
        FieldDescription {
            name: stringify!($field),
            json: stringify!($field),
            doc: event_kinds!(@doc $field),
            presence: Presence::Required,
            ty: Type::$ty,
            unit: None,
            default: None,
        }
    };
    (@doc ticket) => { &[" The call to answer, the request that is answered, or the exchange; 0 if none."] };
    (@doc handle) => { &[" The registered feature, the listener or the connection."] };
    (@doc ok) => { &[" `false`: the body is an error object."] };
    (@doc cause) => { &[" The exchange or the request of the host of which the call came; 0 if none."] };
    (@doc cause_port) => { &[" The number of the port that knows the cause; 0 if it is the one of the event."] };
    (@doc name) => { &[" The method, or the operation."] };
    (@doc body) => { &[" The body, as the event says."] };
}

event_kinds! {
    /// A call of the registered feature `handle`. The body is the arguments object as JSON, already
    /// valid against the schema. Of a connection, a request of its server: `name` is the operation,
    /// the body its params. `cause` is the number of something of the host that the call came of:
    /// the exchange that brought it, the request of a connection in memory, or the request `next`
    /// of the middleware around it; 0 if there is none. `cause_port` is the number of the port that
    /// knows it, if that is another one: a server that is mounted in another one may have a port of
    /// its own. Answer with `complete` or `fail`, once.
    Call = 0 { ticket: Integer, handle: Integer, name: String, body: Json, cause: Integer, cause_port: Integer }
    /// The call was cancelled; it is already done for the core. The body is the reason as
    /// text, and may be empty.
    Cancel = 1 { ticket: Integer, body: String }
    /// The result of a request or an open, or an error object.
    Reply = 2 { ticket: Integer, ok: Boolean, body: Json }
    /// A notification from the peer of the connection `handle`: `name` is the method, the body its
    /// params. For progress, `ticket` is the request.
    Notification = 3 { handle: Integer, ticket: Integer, name: String, body: Json }
    /// A listener or connection ended.
    Closed = 4 { handle: Integer, ok: Boolean, body: Json }
    /// Log records: an array of `{"level", "message", "target"}` with the levels `error`, `warn`,
    /// `info` and `debug`. When there are too many, the oldest are dropped and counted. They come
    /// to the port that they are about; the others come to the newest port that takes its events.
    Log = 5 { body: Json }
    /// The last event of a port after `close(0, …)`.
    Stopped = 6 {}
    /// Status and headers of the response of the exchange `ticket` at the listener `handle`:
    /// `{"status", "headers", "empty"}`; `empty`: no chunk follows.
    HttpHead = 7 { ticket: Integer, handle: Integer, body: Json }
    /// Bytes of a response, which are not JSON: hosts get them as bytes.
    HttpChunk = 8 { ticket: Integer, handle: Integer, body: String }
    /// The response is over. An error: it was cut off.
    HttpEnd = 9 { ticket: Integer, handle: Integer, ok: Boolean, body: Json }
    /// A pipe is handed over to the host, which may read it on its own loop. Only after an `open`
    /// with `hostDrivenReads`.
    Handoff = 10 { handle: Integer }
    /// Nothing comes of `handle` any more. A feature: it was taken away, by itself or with its
    /// server, and its last call is over; calls that were let in before may come until then. An
    /// exchange, a request in memory or `next`: it is not the `cause` of a call any more, and the
    /// calls of which it was are over, also those that became tasks. The host can forget what it
    /// keeps for it; one that does not know the handle ignores the event.
    Freed = 11 { handle: Integer }
    /// Requests that were served, openings and notifications that were sent, and sessions that have
    /// ended: an array of `TelemetryRecord`. Only of servers and connections with the option
    /// `telemetry`. When there are too many, the oldest are dropped.
    Telemetry = 12 { body: Json }
}

#[expect(clippy::derivable_impls, reason = "the macro has no place for the attribute of one variant")]
impl Default for EventKind {
    fn default() -> Self {
        Self::Stopped
    }
}

/// Declares the shapes: one table makes the enum and its description.
macro_rules! shapes {
    ($($(#[doc = $doc:literal])+ $shape:ident = $number:literal,)+) => {
        /// Form of the bytes given to `complete`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Shape {
            $($(#[doc = $doc])+ $shape = $number,)+
        }

        impl Shape {
            /// Every shape with its name and its documentation.
            pub(crate) const ALL: &[(Self, &str, &[&str])] = &[$((Self::$shape, stringify!($shape), &[$($doc),+]),)+];
        }
    };
}

shapes! {
    /// Plain text, not JSON: one text block of a tool, which is structured content
    /// `{"result": text}` too if the tool has an output schema; the text of a resource with its
    /// `mimeType` (`text/plain` by default); or one message of the user.
    Text = 0,
    /// One part or an array of them: content blocks of a tool; ResourceContents with `text` or
    /// `blob` (`uri` and `mimeType` are filled in); PromptMessages, or content blocks and texts as
    /// messages of the user.
    Content = 1,
    /// A JSON object: its JSON as text (of a resource `application/json`) and, where a tool's
    /// output schema is known, as structured content.
    Object = 2,
    /// Any JSON value: its JSON as text and, where a tool's output schema is known,
    /// `{"result": value}` as structured content. `null` of a tool without one leaves the content
    /// empty; `null` of a resource: there is no such resource.
    Value = 3,
    /// A full result as JSON, such as a CallToolResult.
    Result = 4,
    /// Input of the client that is needed first:
    /// `{"inputRequests": {key: {"method", "params"}}, "state": any}`. The state travels sealed.
    /// For tools, prompts and resources.
    Input = 5,
}

impl Shape {
    /// The shape of a number, if it names one.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.iter().map(|(shape, ..)| *shape).find(|shape| *shape as u8 == number)
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

/// Wakes the host when the queue turns from empty to pending. Must not block and must not call into
/// the port.
pub trait Bell: Send + Sync + 'static {
    /// Wake the host.
    fn ring(&self);
}
