//! Calls: what is known about them, and their cancellation.

use std::borrow::Cow;
use std::ffi::c_void;
use std::sync::Arc;

use crate::calls::{CancelCallback, trunkline_call, trunkline_cancel_callback};
use crate::edge::prelude::*;

/// The arguments again, as the callback got them. Borrowed: valid as long as the call. Empty for
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_arguments(call: *const trunkline_call) -> trunkline_str {
    value_or(trunkline_str::empty(), || Ok(handle!(call).arguments.lend()))
}

/// The text of the string at a JSON pointer in the arguments, such as "/city": without quotes and
/// escapes, borrowed for as long as the call. `otherwise` if there is no string at that place.
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

/// The number at a JSON pointer in the arguments. `otherwise` if there is no number at that place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_number(
    call: *const trunkline_call,
    pointer: trunkline_str,
    otherwise: f64,
) -> f64 {
    value_or(otherwise, || handle!(call).argument(text!(pointer)))
}

/// The whole number at a JSON pointer in the arguments. `otherwise` if there is no whole number of
/// 64 bits at that place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_int64(
    call: *const trunkline_call,
    pointer: trunkline_str,
    otherwise: i64,
) -> i64 {
    value_or(otherwise, || handle!(call).argument(text!(pointer)))
}

/// The truth value at a JSON pointer in the arguments. `otherwise` if there is none at that place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_bool(
    call: *const trunkline_call,
    pointer: trunkline_str,
    otherwise: bool,
) -> bool {
    value_or(otherwise, || handle!(call).argument(text!(pointer)))
}

/// Information about the call as JSON: `method`, `name`, `revision`, `requestId`, `sessionId`,
/// `headers` (of the HTTP request, by their names in lower case), `url`, `remoteAddress`,
/// `clientInfo`, `clientCapabilities`, `meta`, `progress` (`true` if the caller asked for it),
/// `auth` (the caller, an object with at least `principal`), `inputResponses` and `state` (of the
/// round before: `trunkline_call_require_input`), `once` (`trunkline_call_set_once`). `description`
/// is yours: `trunkline_text_free`. Fails with `TRUNKLINE_INVALID_ARGUMENT` once the call is
/// answered.
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
/// "/state", "/inputResponses/user_name/content/name". `value` is JSON and yours:
/// `trunkline_text_free`. `TRUNKLINE_NOT_FOUND` if there is nothing at that place.
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

/// The data of what brought the call: the `user_data` of `trunkline_http_request`, such as the
/// connection of a web server, or that of a client in memory
/// (`trunkline_request_options_set_user_data`). Borrowed: valid as long as the call if the data has
/// a destructor, otherwise until the exchange or the request is over, and NULL from then on: calls
/// of tasks go on after the response. NULL for other calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_exchange_data(call: *const trunkline_call) -> *mut c_void {
    value_or(std::ptr::null_mut(), || Ok(handle!(call).exchange_data().unwrap_or(std::ptr::null_mut())))
}

/// Keeps a value for the handlers of the same request under a name: middleware keeps what the
/// handlers behind it need, such as the user. `destructor` fires when the value is replaced or the
/// request is over, and no call uses it any more; also if the function fails. A NULL value takes
/// away the one that is there.
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
        call.surroundings().set_var(name, value);
        Ok(())
    })
}

/// The value that was kept under that name with `trunkline_call_set_var` for this request, by this
/// handler or by middleware around it. Borrowed: valid as long as the call, also if it is replaced
/// meanwhile. NULL if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_var(call: *const trunkline_call, name: trunkline_str) -> *mut c_void {
    value_or(std::ptr::null_mut(), || Ok(handle!(call).var(text!(name)).unwrap_or(std::ptr::null_mut())))
}

/// Returns `true` if the call is no longer wanted: the client cancelled it, its connection is gone,
/// or it is answered already. For tools that work in small steps. `false` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_cancelled(call: *const trunkline_call) -> bool {
    value_or(false, || {
        let call = handle!(call);
        Ok(call.port.core.cancelled(call.ticket)?)
    })
}

/// Runs `callback` once when the call is no longer wanted, also if that already happened: like all
/// callbacks, inside `trunkline_dispatch` or another blocking function of the port, and not any
/// more once the call was let go of. A second callback replaces the first. `destructor` fires
/// exactly once, whether or not the callback ran.
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

/// Keeps the call beyond its callback, to answer it later from any thread. Give it back with
/// `trunkline_call_free`. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_retain(call: *mut trunkline_call) -> *mut trunkline_call {
    contain(std::ptr::null_mut(), || {
        if !call.is_null() {
            // SAFETY: the conventions of the header: a call that is alive; each one is inside an
            // `Arc`, made when it began.
            unsafe { Arc::increment_strong_count(call) };
        }
        call
    })
}

/// Lets go of a call that was kept with `trunkline_call_retain`. If it was not answered, it fails
/// now. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_free(call: *mut trunkline_call) {
    contain((), || {
        if !call.is_null() {
            // SAFETY: the conventions of the header: pairs with one `trunkline_call_retain`.
            drop(unsafe { Arc::from_raw(call) });
        }
    });
}
