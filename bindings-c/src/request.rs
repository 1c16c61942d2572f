//! Requests, of a client or to the client of a call: their options, and how they are sent.

use std::ffi::c_void;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::callback::{ProgressCallback, ReplyCallback, UserData, trunkline_destructor, trunkline_progress_callback};
use crate::error::{Failure, trunkline_error, trunkline_result};
use crate::ffi::{free, guard, out, set, text};
use crate::hub::Hub;
use crate::options::options;
use crate::text::trunkline_str;
use crate::work::{Completion, StartedRequest, Waiter, Work};

/// Options of a request. Made by `trunkline_request_options_new`, freed by
/// `trunkline_request_options_free`. What is not set is the client's; for a request to the client of
/// a call, 60 s and 10 minutes, or for input the server's `TRUNKLINE_LIMIT_INPUT_TIMEOUT_MS`.
#[derive(Default)]
pub struct trunkline_request_options {
    timeout_ms: Option<u64>,
    max_timeout_ms: Option<u64>,
    key: Option<String>,
    progress: Option<Arc<ProgressCallback>>,
    wrong: Option<Failure>,
}

options!(trunkline_request_options);

impl trunkline_request_options {
    /// Nothing but a key, if it is not empty.
    pub(crate) fn with_key(key: &str) -> Self {
        Self { key: (!key.is_empty()).then(|| key.to_owned()), ..Self::default() }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    progress: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    all: bool,
}

/// A request that can be sent. It needs the host's options no more: a callback may free them while the request waits.
pub(crate) struct Prepared {
    pub(crate) json: Vec<u8>,
    progress: Option<Arc<ProgressCallback>>,
}

impl Prepared {
    pub(crate) fn new(
        method: &str,
        params: Option<&RawValue>,
        options: Option<&trunkline_request_options>,
    ) -> Result<Self, Failure> {
        Self::make(method, params, options, false)
    }

    /// A request for the whole of a list, all its pages.
    pub(crate) fn list(method: &str, options: Option<&trunkline_request_options>) -> Result<Self, Failure> {
        Self::make(method, None, options, true)
    }

    fn make(
        method: &str,
        params: Option<&RawValue>,
        options: Option<&trunkline_request_options>,
        all: bool,
    ) -> Result<Self, Failure> {
        let unset = trunkline_request_options::default();
        let options = options.unwrap_or(&unset);
        let request = Request {
            method,
            params,
            key: options.key.as_deref(),
            timeout_ms: options.timeout_ms,
            max_timeout_ms: options.max_timeout_ms,
            progress: options.progress.is_some(),
            all,
        };
        let json = serde_json::to_vec(&request).map_err(|reason| Failure::internal(reason.to_string()))?;
        Ok(Self { json, progress: options.progress.clone() })
    }

    /// Sends it to `target` and blocks until its result is there.
    pub(crate) fn run(self, hub: &Arc<Hub>, target: u64) -> Result<Bytes, Failure> {
        let ticket = hub.request(target, &self.json, Waiter::thread(), |_| ())?;
        hub.wait_for(ticket, self.progress.as_ref())
    }

    /// Sends it to `target`; its outcome goes to a callback. Tells its ticket.
    pub(crate) fn start(
        self,
        hub: &Hub,
        target: u64,
        completion: Option<ReplyCallback>,
        ticket: impl FnOnce(u64),
    ) -> Result<(), Failure> {
        let completion = completion.map_or(Completion::Ignored, Completion::Reply);
        let started = StartedRequest::new(target, completion, self.progress);
        hub.request(target, &self.json, Waiter::Callback(started), ticket).map(drop)
    }

    /// Sends what a call asks for. Whatever is said to it, the revision's or the client's refusal too, goes to where its answer
    /// goes.
    pub(crate) fn ask(self, hub: &Hub, call: u64, completion: Completion) -> Result<(), Failure> {
        let request = StartedRequest::new(call, completion, self.progress);
        match hub.request(call, &self.json, Waiter::Callback(request.clone()), |_| ()) {
            Ok(_) => Ok(()),
            Err(failure) if failure.is_said_to_the_call() => {
                hub.add_due(Work::Completion { request, outcome: Err(failure) })
            }
            Err(failure) => Err(failure),
        }
    }
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

/// Sets which answer of the client belongs to the request, for requests on a call: see `trunkline_call_elicit`.
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
