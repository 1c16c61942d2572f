//! The lifespan of a server: opened before its first call and closed after its last.

use std::sync::Weak;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use trunkline_bridge::message::{CLOSE, FailKind, OPEN};
use trunkline_bridge::{Event, EventKind, Shape};

use crate::calls::trunkline_call_callback;
use crate::edge::prelude::*;
use crate::options::SetMembers;
use crate::port::{EventReceiver, Port, failing};
use crate::server::trunkline_server;
use crate::server_requests::ServerRequestHandlers;

/// Opens what the calls of a server need. Return `false` on failure; the function that was about to
/// serve then fails.
pub type trunkline_lifespan_open_callback = Option<unsafe extern "C" fn(user_data: *mut c_void) -> bool>;

/// Closes what was opened.
pub type trunkline_lifespan_close_callback = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// The lifespan of one of the host's servers, which closes it at the latest when it is freed.
pub(crate) struct HostLifespan {
    open: trunkline_lifespan_open_callback,
    close: trunkline_lifespan_close_callback,
    data: UserData,
    is_open: AtomicBool,
}

impl HostLifespan {
    fn open(&self) -> bool {
        // SAFETY: the host's function with the host's data.
        let opened = self.open.is_none_or(|open| unsafe { open(self.data.pointer()) });
        self.is_open.store(opened, Ordering::SeqCst);
        opened
    }

    fn close(&self) {
        if let Some(close) = self.close.filter(|_| self.is_open.swap(false, Ordering::SeqCst)) {
            // SAFETY: the host's function with the host's data.
            unsafe { close(self.data.pointer()) }
        }
    }
}

impl Drop for HostLifespan {
    fn drop(&mut self) {
        self.close();
    }
}

/// Opens and closes the lifespan of a server until it is freed.
struct LifespanReceiver(Weak<HostLifespan>);

impl EventReceiver for LifespanReceiver {
    fn receive(self: Arc<Self>, port: &Arc<Port>, event: Event) -> bool {
        if event.kind != EventKind::Call {
            return false;
        }
        let lifespan = self.0.upgrade();
        // Also before it opens: that may have been called off when it was already open. A server
        // that was freed has closed it.
        lifespan.as_ref().inspect(|lifespan| lifespan.close());
        let is_done = event.name != OPEN || lifespan.as_ref().is_none_or(|lifespan| lifespan.open());
        if !is_done {
            let failure = failing(FailKind::Internal, "its open callback returned false");
            let _ = port.core.fail_message(event.ticket, failure);
        } else if !port.core.complete(event.ticket, Shape::Result, Bytes::from_static(b"{}")).is_ok_and(|open| open) {
            // The opening was cancelled, and nothing else closes the lifespan.
            lifespan.inspect(|lifespan| lifespan.close());
        }
        true
    }
}

impl trunkline_server {
    fn set_lifespan(&self, receiver: Arc<dyn EventReceiver>) -> Result<(), Failure> {
        let entry = SetMembers::default().with("server", self.handle());
        self.port().make(receiver, |core| core.register("lifespan", entry.0), |_| ()).map(drop)
    }
}

/// Sets the lifespan callbacks, which open something that calls need, such as a database, and close
/// it again. `open` runs before the first call, inside the function that starts to listen or
/// connects in memory, which fails with `TRUNKLINE_TRANSPORT` if it returns false. `close` runs
/// when the last listener and the last in-memory client have ended, however they end, and by
/// `trunkline_server_free` at the latest. Both run like callbacks, alternately, each time the
/// server is served, with the same `user_data`; either may be NULL. The lifespan of a mounted
/// server opens with the first request that reaches it, and closes with the server it is mounted
/// on. `TRUNKLINE_INVALID_ARGUMENT` while the server is being served, and if it already has a
/// lifespan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_set_lifespan(
    server: *mut trunkline_server,
    open: trunkline_lifespan_open_callback,
    close: trunkline_lifespan_close_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    let data = UserData::new(user_data, destructor);
    guard(error, || {
        let server = handle!(server);
        let lifespan = Arc::new(HostLifespan { open, close, data, is_open: AtomicBool::new(false) });
        server.set_lifespan(Arc::new(LifespanReceiver(Arc::downgrade(&lifespan))))?;
        // The core refuses a second one.
        let _ = server.lifespan.set(lifespan);
        Ok(())
    })
}

/// Like `trunkline_server_set_lifespan`, with calls, whose results are `{}`: complete them
/// immediately or later, on any thread. `trunkline_server_free` does not run `close`: the program
/// then closes what is still open. If an `open` can no longer be completed, it is not needed
/// anymore: close what it has opened.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_set_lifespan_calls(
    server: *mut trunkline_server,
    open: trunkline_call_callback,
    close: trunkline_call_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    let data = Arc::new(UserData::new(user_data, destructor));
    guard(error, || {
        let mut functions = ServerRequestHandlers::default();
        for (name, function) in [(OPEN, open), (CLOSE, close)] {
            functions.put(name, Callback { function: required(function, name)?, data: data.share() });
        }
        handle!(server).set_lifespan(Arc::new(functions))
    })
}
