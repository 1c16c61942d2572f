//! The native half of the npm package: the bridge of the core as one JavaScript class, [`Port`]. It moves values and lifetimes and knows no
//! protocol word; what the functions mean is in `docs/bridge.md`.

mod bell;
mod value;
#[cfg(unix)]
mod watch;

use bytes::Bytes;
use napi::Env;
use napi::bindgen_prelude::Function;
use napi_derive::napi;
use trunkline::bridge::{self, Lane, Shape};

use crate::bell::{Bell, BellFunction};
use crate::value::{Field, Result, fields, invalid, number, text, thrown};

/// A queue of events for one JavaScript thread. Functions that fail throw an `Error` whose `code` is the kind and whose `message` is the error
/// object of the contract as JSON.
#[napi]
pub struct Port {
    inner: bridge::Port,
    bell: Bell,
}

#[napi]
impl Port {
    /// `bell` is called without arguments on the thread of this constructor when events are waiting. It must not throw.
    #[napi(constructor, catch_unwind)]
    pub fn new(bell: BellFunction) -> Self {
        let bell = Bell::new(bell);
        Self { inner: bridge::Port::new(bell.clone()), bell }
    }

    /// Registers a thing described by JSON; its handle.
    #[napi(catch_unwind)]
    pub fn register(&self, kind: String, json: String) -> Result<f64> {
        self.inner.register(&kind, json.as_bytes()).map(number).map_err(thrown)
    }

    /// Removes what was registered.
    #[napi(catch_unwind)]
    pub fn unregister(&self, handle: i64) -> Result<()> {
        self.inner.unregister(handle as u64).map_err(thrown)
    }

    /// Starts a listener or a connection; its handle, which is the ticket of the reply that follows.
    #[napi(catch_unwind)]
    pub fn open(&self, json: String) -> Result<f64> {
        self.inner.open(json.as_bytes()).map(number).map_err(thrown)
    }

    /// Closes a listener, a connection or, with handle 0, the port.
    #[napi(catch_unwind)]
    pub fn close(&self, handle: i64, deadline_ms: i64) -> Result<()> {
        self.inner.close(handle as u64, deadline_ms.try_into().unwrap_or(0)).map_err(thrown)
    }

    /// Sends a request on a connection; its ticket.
    #[napi(catch_unwind)]
    pub fn request(&self, handle: i64, json: String) -> Result<f64> {
        self.inner.request(handle as u64, json.as_bytes()).map(number).map_err(thrown)
    }

    /// Sends a notification on a connection, or the progress of a call.
    #[napi(catch_unwind)]
    pub fn notify(&self, target: i64, json: String) -> Result<()> {
        self.inner.notify(target as u64, json.as_bytes()).map_err(thrown)
    }

    /// Cancels a request.
    #[napi(catch_unwind)]
    pub fn cancel(&self, ticket: i64, reason: String) -> Result<()> {
        self.inner.cancel(ticket as u64, &reason).map_err(thrown)
    }

    /// Answers a call; `false` if it was already done.
    #[napi(catch_unwind)]
    pub fn complete(&self, ticket: i64, shape: u8, body: String) -> Result<bool> {
        let shape = Shape::from_number(shape).ok_or_else(|| invalid(format!("{shape} is not a shape")))?;
        self.inner.complete(ticket as u64, shape, Bytes::from(body)).map_err(thrown)
    }

    /// Answers a call with a failure; `false` if it was already done.
    #[napi(catch_unwind)]
    pub fn fail(&self, ticket: i64, json: String) -> Result<bool> {
        self.inner.fail(ticket as u64, json.as_bytes()).map_err(thrown)
    }

    /// Gives a request to a mounted listener; the ticket of its exchange.
    #[napi(catch_unwind)]
    pub fn http_request(&self, listener: i64, head: String, end: bool) -> Result<f64> {
        self.inner.http_request(listener as u64, head.as_bytes(), end).map(number).map_err(thrown)
    }

    /// Gives a piece of the body of a request; `false` if the rest is not wanted.
    #[napi(catch_unwind)]
    pub fn http_body(&self, exchange: i64, bytes: &[u8], end: bool) -> Result<bool> {
        self.inner.http_body(exchange as u64, Bytes::copy_from_slice(bytes), end).map_err(thrown)
    }

    /// Lets so many more bytes of a response come.
    #[napi(catch_unwind)]
    pub fn http_credit(&self, exchange: i64, bytes: u32) -> Result<()> {
        self.inner.http_credit(exchange as u64, bytes.into()).map_err(thrown)
    }

    /// Takes up to `max` events as one flat array: kind, ticket, handle, ok, name and body of the first, then of the second, and so on.
    /// A `wait_ms` above 0 blocks the JavaScript thread; it is for the time when its loop no longer runs.
    #[napi(catch_unwind)]
    pub fn drain(&self, lane: String, max: u32, wait_ms: u32) -> Result<Vec<Field>> {
        let events = self.inner.drain(lane_of(&lane)?, max as usize, wait_ms.into()).map_err(thrown)?;
        Ok(fields(events))
    }

    /// Blocks the JavaScript thread for a reply that was asked to be waited for: its ok and its body, or `null` when it did not come in time.
    #[napi(catch_unwind)]
    pub fn wait(&self, ticket: i64, wait_ms: u32) -> Result<Option<Vec<Field>>> {
        let reply = self.inner.wait(ticket as u64, wait_ms.into()).map_err(thrown)?;
        Ok(reply.map(|reply| vec![Field::Flag(reply.ok), Field::Body(reply.body)]))
    }

    /// Facts about a call, a connection, a server or the port, as JSON.
    #[napi(catch_unwind)]
    pub fn describe(&self, target: i64) -> Result<String> {
        self.inner.describe(target as u64).map(text).map_err(thrown)
    }

    /// Whether a call is no longer wanted.
    #[napi(catch_unwind)]
    pub fn cancelled(&self, ticket: i64) -> Result<bool> {
        self.inner.cancelled(ticket as u64).map_err(thrown)
    }

    /// Lets the event loop read a pipe that was lent; whether it does. `pumped` is called each time that it has read, with whether it still watches.
    #[napi(catch_unwind)]
    pub fn watch(&self, env: Env, handle: i64, pumped: Function<'_, bool, ()>) -> Result<bool> {
        #[cfg(unix)]
        return watch::watch(&env, &self.inner, handle as u64, pumped);
        #[cfg(not(unix))]
        {
            let _ = (env, handle, pumped);
            Ok(false)
        }
    }

    /// Lets this port keep the event loop alive. A new port does not.
    #[napi(js_name = "ref", catch_unwind)]
    pub fn hold(&self, env: Env) -> Result<()> {
        self.bell.hold(&env)
    }

    /// Undoes `ref`.
    #[napi(js_name = "unref", catch_unwind)]
    pub fn release(&self, env: Env) -> Result<()> {
        self.bell.release(&env)
    }
}

fn lane_of(name: &str) -> Result<Lane> {
    match name {
        "queue" => Ok(Lane::Queue),
        "pool" => Ok(Lane::Pool),
        _ => Err(invalid(format!("{name:?} is not a lane (queue or pool)"))),
    }
}
