//! Requests, of a client or to the client of a call: their options, and how they are sent.

use std::ffi::c_void;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::callback::{ProgressCallback, ReplyCallback, UserData, trunkline_destructor, trunkline_progress_callback};
use crate::error::{Failure, trunkline_error, trunkline_result};
use crate::ffi::{changed, free, guard, out, quietly};
use crate::hub::Hub;
use crate::work::{StartedRequest, Waiter};

/// Options of a request. Made by `trunkline_request_options_new`, freed by
/// `trunkline_request_options_free`. What is not set is the client's; for a request to the client of
/// a call, 60 s and 10 minutes.
#[derive(Default)]
pub struct trunkline_request_options {
    timeout_ms: Option<u64>,
    max_timeout_ms: Option<u64>,
    progress: Option<Arc<ProgressCallback>>,
}

/// Options in which nothing is set, for callers that give none.
pub(crate) static UNSET: trunkline_request_options =
    trunkline_request_options { timeout_ms: None, max_timeout_ms: None, progress: None };

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    progress: bool,
}

/// Sends a request to `target` and blocks until its result is there.
pub(crate) fn run(
    hub: &Arc<Hub>,
    target: u64,
    method: &str,
    params: Option<&RawValue>,
    options: &trunkline_request_options,
) -> Result<Bytes, Failure> {
    let ticket = hub.request(target, &json(method, params, options)?, Waiter::thread())?;
    hub.wait_for(ticket, options.progress.as_deref())
}

/// Sends a request to `target`, the outcome of which goes to a callback; its ticket.
pub(crate) fn start(
    hub: &Hub,
    target: u64,
    method: &str,
    params: Option<&RawValue>,
    options: &trunkline_request_options,
    completion: Option<ReplyCallback>,
) -> Result<u64, Failure> {
    let started = StartedRequest { target, completion, progress: options.progress.clone() };
    hub.request(target, &json(method, params, options)?, Waiter::Callback(Arc::new(started)))
}

/// A request as the bridge takes it.
pub(crate) fn json(
    method: &str,
    params: Option<&RawValue>,
    options: &trunkline_request_options,
) -> Result<Vec<u8>, Failure> {
    let request = Request {
        method,
        params,
        timeout_ms: options.timeout_ms,
        max_timeout_ms: options.max_timeout_ms,
        progress: options.progress.is_some(),
    };
    serde_json::to_vec(&request).map_err(|reason| Failure::internal(reason.to_string()))
}

/// Makes options in which nothing is set. `options` is yours: `trunkline_request_options_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_request_options_new(
    options: *mut *mut trunkline_request_options,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        out!(options).put(crate::ffi::give(trunkline_request_options::default()));
        Ok(())
    })
}

/// Sets how long the request waits, in milliseconds; progress renews it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_request_options_set_timeout_ms(
    options: *mut trunkline_request_options,
    timeout_ms: u64,
) -> trunkline_result {
    quietly(|| {
        changed!(options).timeout_ms = Some(timeout_ms);
        Ok(())
    })
}

/// Sets how long the request waits at most, whatever progress it makes, in milliseconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_request_options_set_max_timeout_ms(
    options: *mut trunkline_request_options,
    timeout_ms: u64,
) -> trunkline_result {
    quietly(|| {
        changed!(options).max_timeout_ms = Some(timeout_ms);
        Ok(())
    })
}

/// Asks for progress. `callback` runs before the request's outcome: for a blocking request on the
/// thread that made it. `destructor` fires exactly once, when neither the options nor a request
/// uses `user_data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_request_options_on_progress(
    options: *mut trunkline_request_options,
    callback: trunkline_progress_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    quietly(|| {
        let callback = ProgressCallback::new(callback, user_data).ok_or_else(|| Failure::null("callback"))?;
        changed!(options).progress = Some(Arc::new(callback));
        Ok(())
    })
}

/// Frees options. NULL is allowed; requests in flight keep what they need.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_request_options_free(options: *mut trunkline_request_options) {
    free!(options)
}
