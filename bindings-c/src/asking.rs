//! What a call asks while it runs: its client for input, and middleware for the rest of the request.

use std::ffi::c_void;
use std::sync::{Arc, Weak};

use serde_json::value::RawValue;

use crate::call::trunkline_call;
use crate::callback::{AnswerCallback, UserData, trunkline_answer_callback, trunkline_destructor};
use crate::error::{Failure, trunkline_error, trunkline_result};
use crate::ffi::{guard, handle, settled, text};
use crate::json::raw;
use crate::request::{Prepared, trunkline_request_options};
use crate::text::trunkline_str;
use crate::work::Completion;

impl trunkline_call {
    /// The call as something that can be kept.
    fn keep_alive(&self) -> Result<Arc<Self>, Failure> {
        let kept = self.hub.state()?.calls.get(&self.ticket).and_then(Weak::upgrade);
        kept.ok_or_else(|| Failure::internal("the call is not in the table of its port"))
    }

    fn ask(
        &self,
        method: &str,
        params: Option<&RawValue>,
        options: Option<&trunkline_request_options>,
        callback: Option<AnswerCallback>,
    ) -> Result<(), Failure> {
        let call = self.keep_alive()?;
        let completion = callback.map_or(Completion::Ignored, |callback| Completion::Answer(call, callback));
        Prepared::new(method, params, options)?.ask(&self.hub, self.ticket, completion)
    }

    fn ask_for_input(&self, method: &str, params: &str, key: &str, callback: AnswerCallback) -> Result<(), Failure> {
        let options = trunkline_request_options::with_key(key);
        self.ask(method, raw("params", params)?, Some(&options), Some(callback))
    }
}

/// Asks the user of the call's client: `params` are those of `elicitation/create`, a form (`{"message", "requestedSchema"}`) or
/// a page (`{"mode": "url", "message", "url"}`). The outcome, `{"action", "content"}`, comes to `callback`, inside
/// `trunkline_dispatch` or another blocking function of the port; the call lives until then.
///
/// Up to 2025-11-25 the client is asked while the call waits. On 2026-07-28 the callback gets the answer if the client has given
/// it, otherwise `TRUNKLINE_SUSPENDED`: the handler runs again with it. `key` says which answer belongs to which question; if it is
/// empty, questions are counted by kind. What has an effect before a question is done once: `trunkline_call_set_once`.
///
/// A client that cannot be asked gives `TRUNKLINE_PROTOCOL`, also to `callback`. The function itself fails if an argument is wrong, or
/// with `TRUNKLINE_CLOSED` if the call is not wanted any more. `destructor` fires exactly once, also then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_elicit(
    call: *mut trunkline_call,
    params: trunkline_str,
    key: trunkline_str,
    callback: trunkline_answer_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    guard(error, || {
        let callback = AnswerCallback::required(callback, user_data)?;
        handle!(call).ask_for_input("elicit", text!(params), text!(key), callback)
    })
}

/// Asks the model of the call's client, otherwise as `trunkline_call_elicit`: `params` are those of `sampling/createMessage`
/// (`{"messages", "maxTokens", …}`), and the outcome is a CreateMessageResult.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_sample(
    call: *mut trunkline_call,
    params: trunkline_str,
    key: trunkline_str,
    callback: trunkline_answer_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    guard(error, || {
        let callback = AnswerCallback::required(callback, user_data)?;
        handle!(call).ask_for_input("sample", text!(params), text!(key), callback)
    })
}

/// Asks for the roots of the call's client, otherwise as `trunkline_call_elicit`: the outcome is `{"roots"}`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_roots(
    call: *mut trunkline_call,
    key: trunkline_str,
    callback: trunkline_answer_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    guard(error, || {
        let callback = AnswerCallback::required(callback, user_data)?;
        handle!(call).ask_for_input("roots", "", text!(key), callback)
    })
}

/// Makes any request to the client of the call, otherwise as `trunkline_call_elicit`; those three are the ones that work in both
/// eras. Others, such as `TRUNKLINE_METHOD_PING`, exist up to 2025-11-25 only: `TRUNKLINE_PROTOCOL` with the code -32601 afterwards.
/// `params` is JSON, or empty for none; `options` and `callback` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_start_request(
    call: *mut trunkline_call,
    method: trunkline_str,
    params: trunkline_str,
    options: *const trunkline_request_options,
    callback: trunkline_answer_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    guard(error, || {
        let callback = AnswerCallback::new(callback, user_data);
        let (call, method, params) = (handle!(call), text!(method), raw("params", text!(params))?);
        call.ask(method, params, settled!(options), callback)
    })
}

/// In middleware: runs the rest of the request, with other params (JSON) or, if `params` is empty, as it came. The outcome comes
/// to `callback`, which answers the call, most often with `trunkline_call_return_result` or `trunkline_call_fail_with`; a NULL
/// callback answers it with the outcome as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_next(
    call: *mut trunkline_call,
    params: trunkline_str,
    callback: trunkline_answer_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    guard(error, || {
        let callback = AnswerCallback::new(callback, user_data);
        let (call, params) = (handle!(call).keep_alive()?, raw("params", text!(params))?);
        let completion = match callback {
            Some(callback) => Completion::Answer(call.clone(), callback),
            None => Completion::PassOn(call.clone()),
        };
        Prepared::new("next", params, None)?.ask(&call.hub, call.ticket, completion)
    })
}
