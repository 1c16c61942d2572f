//! The port.

use std::ffi::c_void;

use crate::edge::prelude::*;
use crate::log::{LogCallback, trunkline_log_callback};
use crate::port::{Port, deadline_after, trunkline_port};

/// Creates a port to share. The caller owns `port`; free it with `trunkline_port_free`. It starts
/// nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_new(
    port: *mut *mut trunkline_port,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let port = out!(port);
        port.finish(give(trunkline_port { port: Port::new()? }))
    })
}

/// Runs pending callbacks; if there are none, waits up to `timeout_ms` for the first one (0: does
/// not wait; `TRUNKLINE_NO_TIMEOUT`: waits indefinitely). Also returns when a listener or
/// connection ends, and when a destructor has run. `count` may be NULL; otherwise it receives the
/// number of callbacks that ran. `TRUNKLINE_BLOCKING` inside a callback of the same port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_dispatch(
    port: *mut trunkline_port,
    timeout_ms: u64,
    count: *mut usize,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        // A callback may free the port, and the server or client it belongs to.
        let port = handle!(port).port.clone();
        let ran = port.dispatch(deadline_after(timeout_ms))?;
        out_or_null!(count)(ran);
        Ok(())
    })
}

/// Ends the waiting `trunkline_dispatch`, or the next one. May be called on any thread, and on Unix
/// inside a signal handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_wake(port: *mut trunkline_port) -> trunkline_result {
    guard_result(|| {
        handle!(port).port.end_dispatch();
        Ok(())
    })
}

/// An object for event loops to wait on: on Unix a file descriptor that is readable, on Windows an
/// event handle that is signalled, when `trunkline_dispatch` has something to do. Owned by the
/// port: do not read, reset or close it. -1 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_descriptor(port: *const trunkline_port) -> isize {
    value_or(-1, || Ok(handle!(port).port.descriptor()))
}

/// Sends log records to `callback` instead of writing errors and warnings to stderr. A NULL
/// callback restores the default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_on_log(
    port: *mut trunkline_port,
    callback: trunkline_log_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    guard_result(|| handle!(port).port.attach_log(LogCallback::new(callback, user_data)))
}

/// Writes an error to the library's log, such as one from a callback that does not complete a call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_log_error(message: trunkline_str) -> trunkline_result {
    guard_result(|| {
        trunkline_bridge::log_error(text!(message));
        Ok(())
    })
}

/// Releases a port created with `trunkline_port_new`. It stays alive while a server or client uses
/// it. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_free(port: *mut trunkline_port) {
    free!(port)
}
