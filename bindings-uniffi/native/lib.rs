//! The native half of the packages in Kotlin and Ruby: the bridge as one object, [`Port`], from
//! which uniffi generates the functions of each language. It moves values and manages lifetimes,
//! and contains no protocol names. `docs/bridge.md` describes the functions.

// Written by `uniffi::setup_scaffolding`, without documentation.
#![allow(missing_docs)]

mod bell;
mod value;

use std::sync::Arc;

use bytes::Bytes;
use trunkline_bridge::{self as bridge, Lane, Shape};

use crate::bell::Bell;
use crate::value::{Event, OptionNames, Result, invalid, thrown};

uniffi::setup_scaffolding!("trunkline");

/// A queue of events for one loop or thread of the host. Panics are contained by uniffi: the
/// function throws the internal error of the language.
#[derive(uniffi::Object)]
pub struct Port(bridge::Port);

#[uniffi::export]
impl Port {
    /// Creates a port, whose errors write option names in this form. `bell` is called on a thread
    /// of the core when events are waiting. It must neither block nor call back into the port.
    #[uniffi::constructor]
    pub fn new(bell: Arc<dyn Bell>, option_names: OptionNames) -> Self {
        // If the host's function throws, uniffi panics, and the core contains that.
        Self(bridge::Port::new(move || bell.ring()).with_option_names(option_names.into()))
    }

    /// Creates a port for a host whose thread waits in `drain`. That is cheaper for a virtual
    /// machine, which enters each foreign thread into its list before it can call a function.
    #[uniffi::constructor]
    pub fn without_bell(option_names: OptionNames) -> Self {
        Self(bridge::Port::new(|| ()).with_option_names(option_names.into()))
    }

    /// The number by which events of other ports name this one as `cause_port`.
    pub fn number(&self) -> u64 {
        self.0.number()
    }

    /// Registers a server, a feature or a verifier; returns its handle.
    pub fn register(&self, kind: &str, json: &str) -> Result<u64> {
        self.0.register(kind, json.as_bytes()).map_err(thrown)
    }

    /// Unregisters a handle.
    pub fn unregister(&self, handle: u64) -> Result<()> {
        self.0.unregister(handle).map_err(thrown)
    }

    /// Opens a listener or a connection; returns its handle, which is the ticket of its reply.
    pub fn open(&self, json: &str) -> Result<u64> {
        self.0.open(json.as_bytes()).map_err(thrown)
    }

    /// Validates an argument of `open`.
    pub fn check(&self, json: &str) -> Result<()> {
        self.0.check(json.as_bytes()).map_err(thrown)
    }

    /// Opens a listener on duplicates of two descriptors.
    pub fn open_pipe(&self, server: u64, reader: i32, writer: i32) -> Result<u64> {
        #[cfg(not(unix))]
        {
            let _ = (server, reader, writer);
            Err(invalid("file descriptors can be served only on Unix: use HTTP".to_owned()))
        }
        #[cfg(unix)]
        {
            let (reader, writer) = (duplicate(reader)?, duplicate(writer)?);
            self.0.open_pipe(server, reader, writer, false).map_err(thrown)
        }
    }

    /// Closes a listener, a connection or, with handle 0, the port.
    pub fn close(&self, handle: u64, deadline_ms: u64) -> Result<()> {
        self.0.close(handle, deadline_ms).map_err(thrown)
    }

    /// Sends a request on a connection or to the client of a call; returns its ticket.
    pub fn request(&self, handle: u64, json: &str) -> Result<u64> {
        self.0.request(handle, json.as_bytes()).map_err(thrown)
    }

    /// Sends a notification of a call, a server or a connection.
    pub fn notify(&self, target: u64, json: &str) -> Result<()> {
        self.0.notify(target, json.as_bytes()).map_err(thrown)
    }

    /// Cancels a request.
    pub fn cancel(&self, ticket: u64, reason: &str) -> Result<()> {
        self.0.cancel(ticket, reason).map_err(thrown)
    }

    /// Answers a call. Returns `false` if it is already done.
    pub fn complete(&self, ticket: u64, shape: u8, body: Vec<u8>) -> Result<bool> {
        let shape = Shape::from_number(shape).ok_or_else(|| invalid(format!("{shape} is not a shape")))?;
        self.0.complete(ticket, shape, Bytes::from(body)).map_err(thrown)
    }

    /// Fails a call. Returns `false` if it is already done.
    pub fn fail(&self, ticket: u64, json: &str) -> Result<bool> {
        self.0.fail(ticket, json.as_bytes()).map_err(thrown)
    }

    /// Passes a request to a mounted listener; returns the ticket of its exchange.
    pub fn http_request(&self, listener: u64, head: &str, end: bool) -> Result<u64> {
        self.0.http_request(listener, head.as_bytes(), end).map_err(thrown)
    }

    /// Passes a chunk of a request body. Returns `false` if the rest is not needed.
    pub fn http_body(&self, exchange: u64, bytes: Vec<u8>, end: bool) -> Result<bool> {
        self.0.http_body(exchange, Bytes::from(bytes), end).map_err(thrown)
    }

    /// Grants credit for more bytes of a response.
    pub fn http_credit(&self, exchange: u64, bytes: u64) -> Result<()> {
        self.0.http_credit(exchange, bytes).map_err(thrown)
    }

    /// Takes up to `max` events, and waits up to `wait_ms` for the first. All of them cross in one
    /// buffer, so that a batch costs as many foreign calls as a single event.
    pub fn drain(&self, max: u32, wait_ms: u32) -> Result<Vec<Event>> {
        let events = self.0.drain(Lane::Queue, max as usize, wait_ms.into()).map_err(thrown)?;
        Ok(events.into_iter().map(Event::from).collect())
    }

    /// The deadline of `close` from the options of a server or a connection, in milliseconds.
    pub fn close_deadline_ms(&self, handle: u64) -> Result<u64> {
        self.0.close_deadline(handle).map_err(thrown)
    }

    /// Describes a call, a connection, a server or the port, as JSON.
    pub fn describe(&self, target: u64) -> Result<String> {
        self.0.describe(target).map_err(thrown)
    }

    /// Telemetry of a request as JSON, if it is observed. Without `request`, that of the call or
    /// the request `target`.
    pub fn telemetry(&self, target: u64, request: Option<String>) -> Result<Option<String>> {
        let request = request.unwrap_or_default();
        self.0.telemetry(target, request.as_bytes()).map_err(thrown)
    }

    /// The load of all servers that report it, as JSON.
    pub fn measurements(&self) -> Result<Option<String>> {
        self.0.measurements().map_err(thrown)
    }

    /// Returns whether a call was cancelled or is already answered.
    pub fn cancelled(&self, ticket: u64) -> Result<bool> {
        self.0.cancelled(ticket).map_err(thrown)
    }
}

/// Version of the library. A package rejects any version but its own.
#[uniffi::export]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Writes log records to standard error without blocking on a slow reader.
#[uniffi::export]
pub fn write_stderr(text: &str) {
    bridge::write_stderr(text);
}

/// Returns the known name that was probably meant by a misspelt one.
#[uniffi::export]
pub fn nearest(name: &str, known: Vec<String>) -> Option<String> {
    bridge::nearest(name, known.iter().map(String::as_str)).map(str::to_owned)
}

/// Duplicates a descriptor for the core.
#[cfg(unix)]
fn duplicate(descriptor: i32) -> Result<std::os::fd::OwnedFd> {
    use std::os::fd::BorrowedFd;

    if descriptor < 0 {
        return Err(invalid(format!("the descriptor {descriptor} is not open: it is negative")));
    }
    // SAFETY: the descriptor is not negative, and it is only borrowed for the duplication, which
    // fails if it is not open.
    unsafe { BorrowedFd::borrow_raw(descriptor) }
        .try_clone_to_owned()
        .map_err(|reason| invalid(format!("the descriptor {descriptor} is not open: {reason}")))
}
