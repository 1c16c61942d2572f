//! The native half of the npm package: the bridge as one JavaScript class, [`Port`]. It moves
//! values and manages lifetimes, and contains no protocol names. `docs/bridge.md` describes the
//! functions.

mod bell;
#[cfg(unix)]
mod handoff;
mod value;

use bytes::Bytes;
use napi::Env;
use napi::bindgen_prelude::FunctionRef;
use napi_derive::napi;
use trunkline_bridge::{self as bridge, Lane, OptionNames, Shape};

use crate::bell::{Bell, BellFunction};
use crate::value::{EventFields, Result, fields, invalid, number, thrown};

/// Version of the library. The package rejects any version but its own.
#[napi]
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A queue of events for one JavaScript thread. Functions that fail throw an `Error` whose `code`
/// is the kind and whose `message` is the error object as JSON.
#[napi]
pub struct Port {
    inner: bridge::Port,
    bell: Bell,
}

#[napi]
impl Port {
    /// Creates a port. `bell` is called on this thread when events are waiting. It must not throw.
    #[napi(constructor, catch_unwind)]
    pub fn new(bell: BellFunction) -> Self {
        let bell = Bell::new(bell);
        Self { inner: bridge::Port::new(bell.clone()).with_option_names(OptionNames::Camel), bell }
    }

    /// Registers a server, a feature or a verifier; returns its handle.
    #[napi(catch_unwind)]
    pub fn register(&self, kind: String, json: String) -> Result<f64> {
        self.inner.register(&kind, json.as_bytes()).map(number).map_err(thrown)
    }

    /// Unregisters a handle.
    #[napi(catch_unwind)]
    pub fn unregister(&self, handle: i64) -> Result<()> {
        self.inner.unregister(handle as u64).map_err(thrown)
    }

    /// Opens a listener or a connection; returns its handle, which is the ticket of its reply.
    #[napi(catch_unwind)]
    pub fn open(&self, json: String) -> Result<f64> {
        self.inner.open(json.as_bytes()).map(number).map_err(thrown)
    }

    /// Opens a listener on duplicates of two descriptors.
    #[napi(catch_unwind)]
    pub fn open_pipe(&self, server: i64, reader: i32, writer: i32) -> Result<f64> {
        #[cfg(not(unix))]
        {
            let _ = (server, reader, writer);
            Err(invalid("file descriptors can be served only on Unix: use HTTP".to_owned()))
        }
        #[cfg(unix)]
        {
            let (reader, writer) = (duplicate(reader)?, duplicate(writer)?);
            self.inner.open_pipe(server as u64, reader, writer, false).map(number).map_err(thrown)
        }
    }

    /// Validates an argument of `open`.
    #[napi(catch_unwind)]
    pub fn check(&self, json: String) -> Result<()> {
        self.inner.check(json.as_bytes()).map_err(thrown)
    }

    /// Closes a listener, a connection or, with handle 0, the port.
    #[napi(catch_unwind)]
    pub fn close(&self, handle: i64, deadline_ms: i64) -> Result<()> {
        self.inner.close(handle as u64, deadline_ms.try_into().unwrap_or(0)).map_err(thrown)
    }

    /// The deadline of `close` from the options of a server or a connection, in milliseconds.
    #[napi(catch_unwind)]
    pub fn close_deadline_ms(&self, handle: i64) -> Result<f64> {
        self.inner.close_deadline(handle as u64).map(number).map_err(thrown)
    }

    /// Sends a request on a connection or to the client of a call; returns its ticket.
    #[napi(catch_unwind)]
    pub fn request(&self, handle: i64, json: String) -> Result<f64> {
        self.inner.request(handle as u64, json.as_bytes()).map(number).map_err(thrown)
    }

    /// Sends a notification of a call, a server or a connection.
    #[napi(catch_unwind)]
    pub fn notify(&self, target: i64, json: String) -> Result<()> {
        self.inner.notify(target as u64, json.as_bytes()).map_err(thrown)
    }

    /// Cancels a request.
    #[napi(catch_unwind)]
    pub fn cancel(&self, ticket: i64, reason: String) -> Result<()> {
        self.inner.cancel(ticket as u64, &reason).map_err(thrown)
    }

    /// Answers a call. Returns `false` if it is already done.
    #[napi(catch_unwind)]
    pub fn complete(&self, ticket: i64, shape: u8, body: String) -> Result<bool> {
        let shape = Shape::from_number(shape).ok_or_else(|| invalid(format!("{shape} is not a shape")))?;
        self.inner.complete(ticket as u64, shape, Bytes::from(body)).map_err(thrown)
    }

    /// Fails a call. Returns `false` if it is already done.
    #[napi(catch_unwind)]
    pub fn fail(&self, ticket: i64, json: String) -> Result<bool> {
        self.inner.fail(ticket as u64, json.as_bytes()).map_err(thrown)
    }

    /// Passes a request to a mounted listener; returns the ticket of its exchange.
    #[napi(catch_unwind)]
    pub fn http_request(&self, listener: i64, head: String, end: bool) -> Result<f64> {
        self.inner.http_request(listener as u64, head.as_bytes(), end).map(number).map_err(thrown)
    }

    /// Passes a chunk of a request body. Returns `false` if the rest is not needed.
    #[napi(catch_unwind)]
    pub fn http_body(&self, exchange: i64, bytes: &[u8], end: bool) -> Result<bool> {
        self.inner.http_body(exchange as u64, Bytes::copy_from_slice(bytes), end).map_err(thrown)
    }

    /// Grants credit for more bytes of a response.
    #[napi(catch_unwind)]
    pub fn http_credit(&self, exchange: i64, bytes: u32) -> Result<()> {
        self.inner.http_credit(exchange as u64, bytes.into()).map_err(thrown)
    }

    /// Takes up to `max` events. A `wait_ms` above 0 blocks the JavaScript thread, for use once its
    /// loop has ended.
    #[napi(catch_unwind)]
    pub fn drain(&self, max: u32, wait_ms: u32) -> Result<Vec<EventFields>> {
        let events = self.inner.drain(Lane::Queue, max as usize, wait_ms.into()).map_err(thrown)?;
        Ok(events.into_iter().map(fields).collect())
    }

    /// Describes a call, a connection, a server or the port, as JSON.
    #[napi(catch_unwind)]
    pub fn describe(&self, target: i64) -> Result<String> {
        self.inner.describe(target as u64).map_err(thrown)
    }

    /// Telemetry of a request as JSON; empty if it is not observed. Without `request`, that of the
    /// call or the request `target`.
    #[napi(catch_unwind)]
    pub fn telemetry(&self, target: i64, request: Option<String>) -> Result<String> {
        let request = request.unwrap_or_default();
        let record = self.inner.telemetry(target as u64, request.as_bytes());
        record.map(Option::unwrap_or_default).map_err(thrown)
    }

    /// The load of all servers that report it, as JSON; empty if none does.
    #[napi(catch_unwind)]
    pub fn measurements(&self) -> Result<String> {
        self.inner.measurements().map(Option::unwrap_or_default).map_err(thrown)
    }

    /// Returns whether a call was cancelled or is already answered.
    #[napi(catch_unwind)]
    pub fn cancelled(&self, ticket: i64) -> Result<bool> {
        self.inner.cancelled(ticket as u64).map_err(thrown)
    }

    /// Lets the event loop read a pipe that the core hands over. Returns `false` if it cannot.
    /// `on_read` is called after each read, with `false` once the core resumes reading.
    #[napi(catch_unwind)]
    pub fn watch(&self, env: Env, handle: i64, on_read: FunctionRef<bool, ()>) -> Result<bool> {
        #[cfg(unix)]
        return handoff::watch(&env, &self.inner, handle as u64, on_read);
        #[cfg(not(unix))]
        {
            let _ = (env, handle, on_read);
            Ok(false)
        }
    }

    /// Makes this port keep the event loop alive, or no longer. A new port does not.
    #[napi(catch_unwind)]
    pub fn hold(&self, env: Env, held: bool) -> Result<()> {
        self.bell.hold(&env, held)
    }
}

/// Writes log records to standard error without blocking on a slow reader.
#[napi(catch_unwind)]
pub fn write_stderr(text: String) {
    bridge::write_stderr(&text);
}

/// Returns the known name that was probably meant by a misspelt one.
#[napi(catch_unwind)]
pub fn nearest(name: String, known: Vec<String>) -> Option<String> {
    bridge::nearest(&name, known.iter().map(String::as_str)).map(str::to_owned)
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
