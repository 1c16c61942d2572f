//! The port: the queue that servers and clients share, and the one place where their callbacks run.

use std::ffi::c_void;
use std::sync::Arc;

use crate::callback::{LogCallback, UserData, trunkline_destructor, trunkline_log_callback};
use crate::error::{trunkline_error, trunkline_result};
use crate::ffi::{free, guard, handle, out, quietly, told, value_or};
use crate::hub::{Hub, deadline_after};

/// A queue of events and the threads that wait on it. Each server and each client has one of its
/// own unless its options name one to share: share a port to run several servers and clients in one
/// event loop.
///
/// Callbacks run only on a thread that is inside `trunkline_dispatch` or inside another blocking
/// function of a server or client of the port, and never two of one port at the same time.
pub struct trunkline_port {
    pub(crate) hub: Arc<Hub>,
}

/// Makes a port to share. `port` is yours: `trunkline_port_free`. Starts nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_new(
    port: *mut *mut trunkline_port,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let port = out!(port);
        port.put(crate::ffi::give(trunkline_port { hub: Hub::new()? }));
        Ok(())
    })
}

/// Runs the callbacks that are due; if there are none, waits for the first up to `timeout_ms` (0:
/// does not wait; `TRUNKLINE_NO_TIMEOUT`: as long as it takes). Returns also when a listener or
/// connection ends. `count` may be NULL; otherwise it gets the number of callbacks that ran.
/// `TRUNKLINE_BLOCKING` inside a callback of the same port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_dispatch(
    port: *mut trunkline_port,
    timeout_ms: u64,
    count: *mut usize,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        // A callback may free the port, and the server or client that it belongs to.
        let hub = handle!(port).hub.clone();
        let ran = hub.dispatch(deadline_after(timeout_ms))?;
        told!(count)(ran);
        Ok(())
    })
}

/// Ends the `trunkline_dispatch` that is waiting, or the next one. May be called on any thread, and on
/// Unix inside a signal handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_wake(port: *mut trunkline_port) -> trunkline_result {
    quietly(|| {
        handle!(port).hub.end_dispatch();
        Ok(())
    })
}

/// What an event loop can wait on: on Unix a file descriptor that is readable, on Windows an event
/// handle that is signalled, when `trunkline_dispatch` has something to do. Owned by the port: do
/// not read, reset or close it. -1 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_descriptor(port: *const trunkline_port) -> isize {
    value_or(-1, || Ok(handle!(port).hub.descriptor()))
}

/// Sends log records to `callback` instead of writing errors and warnings to stderr. A NULL
/// callback restores that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_on_log(
    port: *mut trunkline_port,
    callback: trunkline_log_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    quietly(|| {
        let port = handle!(port);
        let callback = LogCallback::new(callback, user_data).map(Arc::new);
        let replaced = std::mem::replace(&mut port.hub.state()?.log, callback);
        drop(replaced);
        Ok(())
    })
}

/// Lets go of a port that `trunkline_port_new` made. It lives on while a server or client uses it.
/// NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_free(port: *mut trunkline_port) {
    free!(port)
}
