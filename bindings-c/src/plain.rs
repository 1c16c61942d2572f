//! Functions without `trunkline_str` by value: what a server and a client need from a language
//! whose FFI cannot pass structs. Those that only convert their arguments are in
//! `generated/plain.rs`.

use std::ffi::c_char;
use std::ptr::null_mut;

use crate::calls::{has_taken_call, taking_calls, trunkline_call, trunkline_call_callback};
use crate::edge::prelude::*;
use crate::listener::{trunkline_listener, trunkline_listener_url};
use crate::port::trunkline_port;
use crate::texts::{trunkline_text_str, trunkline_version};

/// The bytes of a string passed to a callback or an output argument, and their number. `len` may be
/// NULL. Borrowed: valid as long as the string. "" for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_str(text: *const trunkline_str, len: *mut usize) -> *const c_char {
    lend(value_or(trunkline_str::empty(), || Ok(*handle!(text))), len)
}

/// The bytes of a string created by the library, and their number. `len` may be NULL. Borrowed:
/// valid until the string is freed. "" for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_text(text: *const trunkline_text, len: *mut usize) -> *const c_char {
    // SAFETY: the same arguments under the same conventions, here and below.
    lend(unsafe { trunkline_text_str(text) }, len)
}

/// The version of the library, such as "0.1.0". Static: never freed.
#[unsafe(no_mangle)]
pub extern "C" fn trunkline_plain_version() -> *const c_char {
    trunkline_version().data
}

/// The URL of an HTTP listener; see `trunkline_listener_url`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_listener_url(listener: *const trunkline_listener) -> *const c_char {
    unsafe { trunkline_listener_url(listener) }.data
}

/// Like `trunkline_dispatch` without a timeout, except for a call of `callback` behind which
/// nothing is pending: returns it in `call` and the data in `user_data` instead, so that this
/// thread can serve it while another one is in `trunkline_plain_stand_by`. Release the call with
/// `trunkline_call_free`. `call` is NULL if there was none. Calls that are reported to telemetry
/// always run their callback. Blocks until there is something to run or to return.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_dispatch_or_take(
    port: *mut trunkline_port,
    callback: trunkline_call_callback,
    call: *mut *mut trunkline_call,
    user_data: *mut usize,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        // A callback may free the port, and the server or client it belongs to.
        let (port, out, out_data) = (handle!(port).port.clone(), out!(call), out!(user_data));
        let (dispatched, taken) = taking_calls(callback, || port.dispatch(None, has_taken_call));
        let (call, data) = taken.map_or((null_mut(), 0), |call| {
            let data = call.registered.callback.as_ref().map_or(0, |callback| callback.data.pointer().addr());
            (Arc::into_raw(call).cast_mut(), data)
        });
        out.put(call);
        out_data.put(data);
        dispatched.map(drop)
    })
}

/// Blocks until a dispatch has had something to run or to return for a moment, but no thread has
/// begun one, because the thread that does is busy. Also returns after `trunkline_plain_wake`. One
/// thread at a time may stand by.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_stand_by(
    port: *mut trunkline_port,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let port = handle!(port).port.clone();
        port.stand_by()
    })
}

/// Ends the waiting dispatch or, if there is none, the waiting `trunkline_plain_stand_by`; or the
/// next one. Not for signal handlers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_wake(port: *mut trunkline_port) -> trunkline_result {
    guard_result(|| {
        handle!(port).port.end_dispatch();
        Ok(())
    })
}

/// Lends a string as `const char *`.
pub(crate) fn lend(text: trunkline_str, len: *mut usize) -> *const c_char {
    out_or_null!(len)(text.len);
    text.data
}
