//! The native half of the packages in Kotlin and Ruby: the bridge as one object, [`Port`], from
//! which uniffi generates the functions of each language. It moves values and manages lifetimes,
//! and contains no protocol names. `docs/bridge.md` describes the functions.

// Written by `uniffi::setup_scaffolding`, without documentation.
#![allow(missing_docs)]

mod bell;
mod plain;
mod value;
mod whole_bytes;

use std::sync::{Arc, Mutex, PoisonError};

use trunkline_bridge::{self as bridge, BridgeError, Lane, Shape};
use uniffi::Lower;

use crate::bell::Bell;
use crate::value::{Event, OptionNames, Result, invalid, thrown};
use crate::whole_bytes::WholeBytes;

uniffi::setup_scaffolding!("trunkline");

/// A queue of events for one loop or thread of the host. Panics are contained by uniffi: the
/// function throws the internal error of the language.
#[derive(uniffi::Object)]
pub struct Port {
    core: bridge::Port,
    /// Events that did not fit into the buffer of the host's thread, which takes them at once.
    held: Mutex<Vec<Event>>,
}

#[uniffi::export]
impl Port {
    /// Creates a port, whose errors write option names in this form. `bell` is called on a thread
    /// of the core when events are waiting. It must neither block nor call back into the port.
    #[uniffi::constructor]
    pub fn new(bell: Arc<dyn Bell>, option_names: OptionNames) -> Self {
        // If the host's function throws, uniffi panics, and the core contains that.
        Self::of(bridge::Port::new(move || bell.ring()), option_names)
    }

    /// Creates a port for a host whose thread waits in `drain`. That is cheaper for a virtual
    /// machine, which enters each foreign thread into its list before it can call a function.
    #[uniffi::constructor]
    pub fn without_bell(option_names: OptionNames) -> Self {
        Self::of(bridge::Port::new(|| ()), option_names)
    }

    /// The number by which events of other ports name this one as `cause_port`.
    pub fn number(&self) -> u64 {
        self.core.number()
    }

    /// Registers a server, a feature or a verifier; returns its handle.
    pub fn register(&self, kind: &str, json: &str) -> Result<u64> {
        self.core.register(kind, json.as_bytes()).map_err(thrown)
    }

    /// Unregisters a handle.
    pub fn unregister(&self, handle: u64) -> Result<()> {
        self.core.unregister(handle).map_err(thrown)
    }

    /// Opens a listener or a connection; returns its handle, which is the ticket of its reply.
    pub fn open(&self, json: &str) -> Result<u64> {
        self.core.open(json.as_bytes()).map_err(thrown)
    }

    /// Validates an argument of `open`.
    pub fn check(&self, json: &str) -> Result<()> {
        self.core.check(json.as_bytes()).map_err(thrown)
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
            self.core.open_pipe(server, reader, writer, false).map_err(thrown)
        }
    }

    /// Closes a listener, a connection or, with handle 0, the port.
    pub fn close(&self, handle: u64, deadline_ms: u64) -> Result<()> {
        self.core.close(handle, deadline_ms).map_err(thrown)
    }

    /// Sends a request on a connection or to the client of a call; returns its ticket.
    pub fn request(&self, handle: u64, json: &str) -> Result<u64> {
        self.core.request(handle, json.as_bytes()).map_err(thrown)
    }

    /// Sends a notification of a call, a server or a connection.
    pub fn notify(&self, target: u64, json: &str) -> Result<()> {
        self.core.notify(target, json.as_bytes()).map_err(thrown)
    }

    /// Cancels a request.
    pub fn cancel(&self, ticket: u64, reason: &str) -> Result<()> {
        self.core.cancel(ticket, reason).map_err(thrown)
    }

    /// Answers a call. Returns `false` if it is already done.
    pub fn complete(&self, ticket: u64, shape: u8, body: WholeBytes) -> Result<bool> {
        let shape = Shape::from_number(shape).ok_or_else(|| invalid(format!("{shape} is not a shape")))?;
        self.core.complete(ticket, shape, body.0).map_err(thrown)
    }

    /// Fails a call. Returns `false` if it is already done.
    pub fn fail(&self, ticket: u64, json: &str) -> Result<bool> {
        self.core.fail(ticket, json.as_bytes()).map_err(thrown)
    }

    /// Passes a request to a mounted listener; returns the ticket of its exchange.
    pub fn http_request(&self, listener: u64, head: &str, end: bool) -> Result<u64> {
        self.core.http_request(listener, head.as_bytes(), end).map_err(thrown)
    }

    /// Passes a chunk of a request body. Returns `false` if the rest is not needed.
    pub fn http_body(&self, exchange: u64, bytes: WholeBytes, end: bool) -> Result<bool> {
        self.core.http_body(exchange, bytes.0, end).map_err(thrown)
    }

    /// Grants credit for more bytes of a response.
    pub fn http_credit(&self, exchange: u64, bytes: u64) -> Result<()> {
        self.core.http_credit(exchange, bytes).map_err(thrown)
    }

    /// Takes up to `max` events, and waits up to `wait_ms` for the first. All of them cross in one
    /// buffer, so that a batch costs as many foreign calls as a single event.
    pub fn drain(&self, max: u32, wait_ms: u32) -> Result<Vec<Event>> {
        self.take(max, wait_ms).map_err(thrown)
    }

    /// The deadline of `close` from the options of a server or a connection, in milliseconds.
    pub fn close_deadline_ms(&self, handle: u64) -> Result<u64> {
        self.core.close_deadline(handle).map_err(thrown)
    }

    /// Describes a call, a connection, a server or the port, as JSON.
    pub fn describe(&self, target: u64) -> Result<String> {
        self.core.describe(target).map_err(thrown)
    }

    /// Telemetry of a request as JSON, if it is observed. Without `request`, that of the call or
    /// the request `target`.
    pub fn telemetry(&self, target: u64, request: Option<String>) -> Result<Option<String>> {
        let request = request.unwrap_or_default();
        self.core.telemetry(target, request.as_bytes()).map_err(thrown)
    }

    /// The load of all servers that report it, as JSON.
    pub fn measurements(&self) -> Result<Option<String>> {
        self.core.measurements().map_err(thrown)
    }

    /// Returns whether a call was cancelled or is already answered.
    pub fn cancelled(&self, ticket: u64) -> Result<bool> {
        self.core.cancelled(ticket).map_err(thrown)
    }
}

impl Port {
    fn of(core: bridge::Port, option_names: OptionNames) -> Self {
        Self { core: core.with_option_names(option_names.into()), held: Mutex::default() }
    }

    fn take(&self, max: u32, wait_ms: u32) -> std::result::Result<Vec<Event>, BridgeError> {
        let held = std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        if !held.is_empty() {
            return Ok(held);
        }
        let events = self.core.drain(Lane::Queue, max as usize, wait_ms.into())?;
        Ok(events.into_iter().map(Event::from).collect())
    }

    /// Takes events like `drain`, in the form that they have there. `None` if they do not fit; the
    /// next call returns them. They cross together: one that was left here would wait for the
    /// handlers of the others, if one runs on the host's thread.
    fn take_if_they_fit(
        &self,
        max: u32,
        wait_ms: u32,
        size: usize,
    ) -> std::result::Result<Option<Vec<u8>>, BridgeError> {
        let events = self.take(max, wait_ms)?;
        let needed = Event::COUNT_SIZE + events.iter().map(Event::size).sum::<usize>();
        if needed > size {
            *self.held.lock().unwrap_or_else(PoisonError::into_inner) = events;
            return Ok(None);
        }
        let mut written = Vec::with_capacity(needed);
        <Vec<Event> as Lower<UniFfiTag>>::write(events, &mut written);
        Ok(Some(written))
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
