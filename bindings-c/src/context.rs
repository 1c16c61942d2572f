//! The context of a handler: progress, logs and stored values of its call, and requests to the
//! client.

use std::ffi::c_void;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use trunkline::protocol::model::LoggingLevel;
use trunkline_bridge::Shape;
use trunkline_bridge::message::{LogMessage, Notification, NotifyCall};

use crate::calls::trunkline_call;
use crate::edge::failure::{Failure, trunkline_error, trunkline_result};
use crate::edge::text::trunkline_str;
use crate::edge::user_data::Callback;
use crate::json::raw;
use crate::requests::{OnComplete, PreparedRequest, ReplyArguments, trunkline_request_options};

/// Receives the outcome of a request that a call sent: `TRUNKLINE_OK` and the result as JSON, or
/// the failure with its error. All arguments are borrowed until the callback returns: complete the
/// call, send another request, or keep the call with `trunkline_call_retain`.
///
/// `TRUNKLINE_SUSPENDED` is not a failure: the client is being asked, and the handler runs again
/// from the start, as a new call that gets the response. Release what you hold and return; a
/// response to this call is ignored.
pub type trunkline_answer_callback = Option<
    unsafe extern "C" fn(
        call: *mut trunkline_call,
        result: trunkline_result,
        json: *const trunkline_str,
        error: *const trunkline_error,
        user_data: *mut c_void,
    ),
>;

pub(crate) type AnswerCallback = Callback<
    unsafe extern "C" fn(
        *mut trunkline_call,
        trunkline_result,
        *const trunkline_str,
        *const trunkline_error,
        *mut c_void,
    ),
>;

impl trunkline_call {
    pub(crate) fn notify(&self, notification: NotifyCall) -> Result<(), Failure> {
        Ok(self.port.core.notify_message(self.ticket, Notification::Call(notification))?)
    }

    pub(crate) fn log(&self, level: &str, logger: &str, data: Value) -> Result<(), Failure> {
        let level = LoggingLevel::deserialize(Value::from(level));
        let level = level.map_err(|reason| Failure::invalid(format!("the argument `level`: {reason}")))?;
        let logger = (!logger.is_empty()).then(|| logger.to_owned());
        self.notify(NotifyCall { log: Some(LogMessage { level, logger, data }), ..NotifyCall::default() })
    }

    /// Sends a request to the client of the call.
    pub(crate) fn request(
        self: &Arc<Self>,
        method: &str,
        params: Option<&RawValue>,
        options: Option<&trunkline_request_options>,
        completion: OnComplete,
    ) -> Result<(), Failure> {
        let request = PreparedRequest { method, params, all: false, options };
        request.start_for_call(self, completion)
    }

    pub(crate) fn request_input(
        self: &Arc<Self>,
        method: &str,
        params: &str,
        key: &str,
        callback: AnswerCallback,
    ) -> Result<(), Failure> {
        let options = trunkline_request_options::with_key(key);
        self.request(method, raw("params", params)?, Some(&options), self.answer_with(Some(callback)))
    }

    /// The completion of a request whose outcome is passed to a callback. The call lives at least
    /// until the callback has run.
    pub(crate) fn answer_with(self: &Arc<Self>, callback: Option<AnswerCallback>) -> OnComplete {
        let call = self.clone();
        Box::new(move |outcome| {
            let Some(Callback { function, data }) = callback else { return };
            let outcome = ReplyArguments::of(outcome);
            let (body, error) = (&outcome.body.lend(), outcome.error());
            // SAFETY: the host's function with the host's data; all arguments live until it
            // returns.
            unsafe { function(call.as_raw(), outcome.result(), body, error, data.pointer()) }
        })
    }

    /// The completion of a request whose outcome completes the call itself.
    pub(crate) fn pass_on(self: &Arc<Self>) -> OnComplete {
        let call = self.clone();
        Box::new(move |outcome: Result<Bytes, Failure>| {
            let answered = match outcome {
                Ok(result) => call.complete(Shape::Result, &result),
                Err(failure) => call.fail_with(&failure.error),
            };
            if let Err(failure) = answered
                && failure.result == trunkline_result::TRUNKLINE_INVALID_ARGUMENT
            {
                let _ = call.fail_internal(failure.message());
            }
        })
    }
}
