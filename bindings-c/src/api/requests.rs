//! Options of requests.

use std::ffi::c_void;
use std::sync::Arc;

use crate::edge::failure::{trunkline_error, trunkline_result};
use crate::edge::ffi::{free, give, guard, out, text};
use crate::edge::options::set;
use crate::edge::text::trunkline_str;
use crate::edge::user_data::{UserData, trunkline_destructor};
use crate::requests::{ProgressCallback, trunkline_progress_callback, trunkline_request_options};

/// Makes options in which nothing is set. `options` is yours: `trunkline_request_options_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_request_options_new(
    options: *mut *mut trunkline_request_options,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        out!(options).put(give(trunkline_request_options::default()));
        Ok(())
    })
}

/// Sets how long the request waits, in milliseconds; progress renews it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_request_options_set_timeout_ms(
    options: *mut trunkline_request_options,
    timeout_ms: u64,
) -> trunkline_result {
    set!(options, {
        options.timeout_ms = Some(timeout_ms);
        Ok(())
    })
}

/// Sets how long the request waits at most, whatever progress it makes, in milliseconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_request_options_set_max_timeout_ms(
    options: *mut trunkline_request_options,
    timeout_ms: u64,
) -> trunkline_result {
    set!(options, {
        options.max_timeout_ms = Some(timeout_ms);
        Ok(())
    })
}

/// Sets which answer of the client belongs to the request, for requests to the client of a call; without it,
/// questions are counted by kind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_request_options_set_key(
    options: *mut trunkline_request_options,
    key: trunkline_str,
) -> trunkline_result {
    set!(options, {
        options.key = Some(text!(key).to_owned());
        Ok(())
    })
}

/// Asks for progress. `callback` runs before the request's outcome: for a blocking request on the
/// thread that made it. Of progress that comes faster than it returns, and while other callbacks of the
/// port run, it gets the latest; a blocking request that is answered meanwhile leaves it out. `destructor` fires exactly once, when neither the options nor a request
/// uses `user_data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_request_options_on_progress(
    options: *mut trunkline_request_options,
    callback: trunkline_progress_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    set!(options, {
        let callback = ProgressCallback::required(callback, user_data)?;
        options.progress = Some(Arc::new(callback));
        Ok(())
    })
}

/// Frees options. NULL is allowed; requests in flight keep what they need.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_request_options_free(options: *mut trunkline_request_options) {
    free!(options)
}
