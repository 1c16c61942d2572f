//! Calls: information about them, and cancellation.

use std::borrow::Cow;
use std::ffi::c_void;
use std::sync::Arc;

use crate::calls::{CancelCallback, trunkline_call, trunkline_cancel_callback};
use crate::edge::prelude::*;

/// The arguments, as passed to the callback. Borrowed: valid as long as the call. Empty for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_arguments(call: *const trunkline_call) -> trunkline_str {
    value_or(trunkline_str::empty(), || Ok(handle!(call).arguments.lend()))
}

/// The string at a JSON pointer in the arguments, such as "/city", without quotes and escapes.
/// Borrowed: valid as long as the call. Returns `otherwise` if there is no string there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_text(
    call: *const trunkline_call,
    pointer: trunkline_str,
    otherwise: trunkline_str,
) -> trunkline_str {
    value_or(otherwise, || {
        let (call, pointer) = (handle!(call), text!(pointer));
        let text: Cow<'_, str> = call.argument(pointer)?;
        Ok(call.lend(Text::copy(text.as_bytes())))
    })
}

/// The number at a JSON pointer in the arguments. Returns `otherwise` if there is no number there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_number(
    call: *const trunkline_call,
    pointer: trunkline_str,
    otherwise: f64,
) -> f64 {
    value_or(otherwise, || handle!(call).argument(text!(pointer)))
}

/// The integer at a JSON pointer in the arguments. Returns `otherwise` if there is no 64-bit
/// integer there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_int64(
    call: *const trunkline_call,
    pointer: trunkline_str,
    otherwise: i64,
) -> i64 {
    value_or(otherwise, || handle!(call).argument(text!(pointer)))
}

/// The boolean at a JSON pointer in the arguments. Returns `otherwise` if there is none there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_bool(
    call: *const trunkline_call,
    pointer: trunkline_str,
    otherwise: bool,
) -> bool {
    value_or(otherwise, || handle!(call).argument(text!(pointer)))
}

/// Information about the call as JSON: `method`, `name`, `revision`, `requestId`, `sessionId`,
/// `headers` (of the HTTP request, with lowercase names), `url`, `remoteAddress`, `clientInfo`,
/// `clientCapabilities`, `meta`, `progress` (`true` if the caller asked for it), `auth` (the
/// caller, an object with at least `principal`), `inputResponses` and `state` (of the previous
/// round: `trunkline_call_require_input`), `once` (`trunkline_call_set_once`). The caller owns
/// `description`; free it with `trunkline_text_free`. Fails with `TRUNKLINE_INVALID_ARGUMENT` once
/// the call is completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_info(
    call: *const trunkline_call,
    description: *mut *mut trunkline_text,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (call, description) = (handle!(call), out!(description));
        description.finish(Text::new(call.port.core.describe(call.ticket)?).give())
    })
}

/// The member of this description at a JSON pointer: "/auth/principal", "/headers/x-tenant",
/// "/state", "/inputResponses/user_name/content/name". `value` is JSON and owned by the caller;
/// free it with `trunkline_text_free`. `TRUNKLINE_NOT_FOUND` if there is nothing there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_fact(
    call: *const trunkline_call,
    pointer: trunkline_str,
    value: *mut *mut trunkline_text,
) -> trunkline_result {
    guard_result(|| {
        let (call, pointer, value) = (handle!(call), text!(pointer), out!(value));
        value.finish(call.info_at(pointer)?.give())
    })
}

/// The data of what caused the call: the `user_data` of `trunkline_http_request`, such as the
/// connection of a web server, or that of an in-memory client
/// (`trunkline_request_options_set_user_data`). Borrowed: if the data has a destructor, valid as
/// long as the call; otherwise valid until the exchange or the request has ended, and NULL after
/// that, because calls of tasks continue after the response. NULL for other calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_exchange_data(call: *const trunkline_call) -> *mut c_void {
    value_or(std::ptr::null_mut(), || Ok(handle!(call).exchange_data().unwrap_or(std::ptr::null_mut())))
}

/// Stores a value under a name for the handlers of the same request: middleware stores what the
/// handlers behind it need, such as the user. `destructor` is called once the value is replaced or
/// the request has ended, and no call uses it; also if the function fails. A NULL value removes the
/// existing one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_set_var(
    call: *mut trunkline_call,
    name: trunkline_str,
    value: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let value = (!value.is_null()).then(|| UserData::new(value, destructor));
    guard_result(|| {
        let (call, name) = (handle!(call), text!(name));
        call.scope().set_var(name, value);
        Ok(())
    })
}

/// The value stored under that name with `trunkline_call_set_var` for this request, by this handler
/// or by middleware around it. Borrowed: valid as long as the call, even if it is replaced
/// meanwhile. NULL if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_var(call: *const trunkline_call, name: trunkline_str) -> *mut c_void {
    value_or(std::ptr::null_mut(), || Ok(handle!(call).var(text!(name)).unwrap_or(std::ptr::null_mut())))
}

/// Returns `true` if the result is no longer needed: the client cancelled the call, its connection
/// has ended, or it is already completed. For tools that work in small steps. `false` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_cancelled(call: *const trunkline_call) -> bool {
    value_or(false, || {
        let call = handle!(call);
        Ok(call.port.core.cancelled(call.ticket)?)
    })
}

/// Runs `callback` once when the call is cancelled or its result is no longer needed, even if that
/// has already happened. Like all callbacks, it runs inside `trunkline_dispatch` or another
/// blocking function of the port, and not after the call was released. A second callback replaces
/// the first. `destructor` is called exactly once, whether or not the callback ran.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_on_cancel(
    call: *mut trunkline_call,
    callback: trunkline_cancel_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    guard_result(|| kept!(call).on_cancel(CancelCallback::required(callback, user_data)?))
}

/// Keeps the call after its callback returns, to complete it later from any thread. Release it with
/// `trunkline_call_free`. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_retain(call: *mut trunkline_call) -> *mut trunkline_call {
    contain(std::ptr::null_mut(), || {
        if !call.is_null() {
            // SAFETY: the conventions of the header: a live call; each one is inside an `Arc`,
            // created when it began.
            unsafe { Arc::increment_strong_count(call) };
        }
        call
    })
}

/// Releases a call kept with `trunkline_call_retain`. If it is not completed, it fails now. NULL is
/// allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_free(call: *mut trunkline_call) {
    contain((), || {
        if !call.is_null() {
            // SAFETY: the conventions of the header: pairs with one `trunkline_call_retain`.
            drop(unsafe { Arc::from_raw(call) });
        }
    });
}
