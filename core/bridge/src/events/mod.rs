//! Events to the host, and shapes and errors in both directions.

pub(crate) mod backlog;
pub(crate) mod body;
pub(crate) mod queue;
pub(crate) mod slot;

use body::Body;
use std::sync::Arc;
use trunkline::{
    bridge_support::{Cause, json_names},
    protocol::describe::{FieldDescription, ObjectDescription, Presence, Type},
};

/// An event for the host: a flat record, the same in every language.
#[derive(Debug, Clone, Default)]
pub struct Event {
    /// The kind of event.
    pub kind: EventKind,
    /// The call to answer, or the request that was answered; 0 if none.
    pub ticket: u64,
    /// The registered feature, the listener or the connection; 0 if none.
    pub handle: u64,
    /// The method of a `Notification`, or the operation of a `Call` for a server's request; empty
    /// otherwise.
    pub name: String,
    /// The body, as `docs/bridge.md` describes it for each kind.
    pub body: Body,
    /// The host's exchange or request that caused a `Call`; 0 if none.
    pub cause: u64,
    /// The number of the port that knows the cause; 0 if it is the event's own port.
    pub cause_port: u64,
}

impl Event {
    /// Sets the cause of a call. `own` is the number of the port that receives the event.
    pub(crate) fn coming_of(self, cause: Option<&Arc<dyn Cause>>, own: u64) -> Self {
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

        /// The events with the fields that they use, for the interface description.
        pub(crate) static TO_HOST: &[(EventKind, ObjectDescription)] = &[$((EventKind::$kind, ObjectDescription {
            name: stringify!($kind),
            doc: &[$($doc),*],
            tag: None,
            fields: &[$(event_kinds!(@field $field $ty)),*],
            open: false,
        })),*];
    };
    (@field $field:ident $ty:ident) => {
        FieldDescription {
            name: stringify!($field),
            json: stringify!($field),
            doc: event_kinds!(@doc $field),
            presence: Presence::Required,
            ty: Type::$ty,
            ..FieldDescription::EMPTY
        }
    };
    (@doc ticket) => { &[" The call to answer, the request that was answered, or the exchange; 0 if none."] };
    (@doc handle) => { &[" The registered feature, the listener or the connection."] };
    (@doc ok) => { &[" `false` if the body is an error object."] };
    (@doc cause) => { &[" The host's exchange or request that caused the call; 0 if none."] };
    (@doc cause_port) => { &[" The number of the port that knows the cause; 0 if it is the event's own port."] };
    (@doc name) => { &[" The method, or the operation."] };
    (@doc body) => { &[" The body, as the event describes it."] };
}

event_kinds! {
    /// A call of the registered feature `handle`. The body is the arguments object as JSON, already
    /// validated against the schema. For a connection, a request of its server: `name` is the
    /// operation, and the body its params. `cause` is the number of what caused the call in the
    /// host: the exchange that brought it, the request of an in-memory connection, or the `next`
    /// request of the middleware around it; 0 if none. `cause_port` is the number of the port that
    /// knows the cause, if that is a different one: a mounted server may have its own port. Answer
    /// once, with `complete` or `fail`.
    Call = 0 { ticket: Integer, handle: Integer, name: String, body: Json, cause: Integer, cause_port: Integer }
    /// The call was cancelled; the core has already completed it. The body is the reason as text,
    /// and may be empty.
    Cancel = 1 { ticket: Integer, body: String }
    /// The result of a request or an open, or an error object.
    Reply = 2 { ticket: Integer, ok: Boolean, body: Json }
    /// A notification from the peer of the connection `handle`: `name` is the method, and the body
    /// its params. For progress, `ticket` is the request.
    Notification = 3 { handle: Integer, ticket: Integer, name: String, body: Json }
    /// A listener or connection has ended.
    Closed = 4 { handle: Integer, ok: Boolean, body: Json }
    /// Log records: an array of `{"level", "target", "message", "event", "fields"}` with the levels
    /// `error`, `warn`, `info` and `debug`. The message is for people; loggers with fields take the
    /// event, which is the message without them, and the fields. If there are too many records, the
    /// oldest are dropped and counted. Records go to the port that they are about, or otherwise to
    /// the newest port that drains its events.
    Log = 5 { body: Json }
    /// The last event of a port after `close(0, …)`.
    Stopped = 6 {}
    /// Status and headers of the response to the exchange `ticket` at the listener `handle`:
    /// `{"status", "headers", "empty"}`; `empty` means that no chunk follows.
    HttpHead = 7 { ticket: Integer, handle: Integer, body: Json }
    /// Bytes of a response; not JSON, so hosts get them as bytes.
    HttpChunk = 8 { ticket: Integer, handle: Integer, body: String }
    /// The response has ended; with an error if it is truncated.
    HttpEnd = 9 { ticket: Integer, handle: Integer, ok: Boolean, body: Json }
    /// A pipe is handed over to the host, which may read it on its own loop. Only after an `open`
    /// with `hostDrivenReads`.
    Handoff = 10 { handle: Integer }
    /// Nothing more follows for `handle`, and the host can forget what it keeps for it. A feature
    /// was removed, by itself or with its server, and its last call has ended; calls that were
    /// already admitted may arrive until then. An exchange, an in-memory request or a `next` can no
    /// longer be the `cause` of a call, and the calls that it caused have ended, including those
    /// that became tasks. A host that does not know the handle ignores the event.
    Freed = 11 { handle: Integer }
    /// Served requests, openings, sent notifications, and sessions that have ended: an array of
    /// `TelemetryRecord`. Only for servers and connections with the option `telemetry`. If there
    /// are too many, the oldest are dropped.
    Telemetry = 12 { body: Json }
}

#[expect(clippy::derivable_impls, reason = "the macro has no place for the attribute of one variant")]
impl Default for EventKind {
    fn default() -> Self {
        Self::Stopped
    }
}

/// Declares the shapes, as the enum and its description.
macro_rules! shapes {
    ($($(#[doc = $doc:literal])+ $shape:ident = $number:literal,)+) => {
        /// The form of the bytes given to `complete`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Shape {
            $($(#[doc = $doc])+ $shape = $number,)+
        }

        impl Shape {
            /// Every shape, with its name and its documentation.
            pub(crate) const ALL: &[(Self, &str, &[&str])] = &[$((Self::$shape, stringify!($shape), &[$($doc),+]),)+];
        }
    };
}

shapes! {
    /// Plain text, not JSON: one text block of a tool, and structured content `{"result": text}` if
    /// the tool has an output schema; the text of a resource with its `mimeType` (`text/plain` by
    /// default); or one user message.
    Text = 0,
    /// One part or an array of parts: content blocks of a tool; ResourceContents with `text` or
    /// `blob` (`uri` and `mimeType` are filled in); PromptMessages, or content blocks and strings
    /// as user messages.
    Content = 1,
    /// A JSON object: its JSON as text (for a resource, `application/json`) and, if the tool's
    /// output schema is known, as structured content.
    Object = 2,
    /// Any JSON value: its JSON as text and, if the tool's output schema is known, `{"result":
    /// value}` as structured content. Without one, `null` leaves a tool's content empty. For a
    /// resource, `null` means that it does not exist.
    Value = 3,
    /// A complete result as JSON, such as a CallToolResult.
    Result = 4,
    /// A request for input from the client:
    /// `{"inputRequests": {key: {"method", "params"}}, "state": any}`. The state is sealed. For
    /// tools, prompts and resources.
    Input = 5,
}

impl Shape {
    /// Returns the shape with that number, if there is one.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.iter().map(|(shape, ..)| *shape).find(|shape| *shape as u8 == number)
    }
}

json_names! {
    /// The drainer that takes an event.
    pub enum Lane, by default Queue {
        /// The loop that owns the port; its bell rings.
        Queue = "queue",
        /// Worker threads that wait in `drain`.
        Pool = "pool",
    }
}

/// Wakes the host when the queue becomes non-empty. Must not block, and must not call into the
/// port.
pub trait Bell: Send + Sync + 'static {
    /// Wakes the host.
    fn ring(&self);
}

impl<F: Fn() + Send + Sync + 'static> Bell for F {
    fn ring(&self) {
        self();
    }
}
