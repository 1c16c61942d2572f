//! Requests of a client, or to the client of a call: their options, and how they are sent.

use std::ffi::c_void;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline::bridge_support::Mutex;
use trunkline::protocol::RawJson;
use trunkline::protocol::surrogates::mended;
use trunkline_bridge::message;
use trunkline_bridge::{Event, EventKind};

use crate::calls::trunkline_call;
use crate::edge::failure::{Failure, trunkline_error, trunkline_result};
use crate::edge::text::{Text, trunkline_str};
use crate::edge::user_data::{Callback, UserData};
use crate::port::{EventReceiver, Port, Report};
use crate::scope::CallScope;
use crate::telemetry::Span;

/// Receives the progress of a request. `total` is 0 if unknown; `message` may be empty and is
/// borrowed until the callback returns.
pub type trunkline_progress_callback =
    Option<unsafe extern "C" fn(progress: f64, total: f64, message: *const trunkline_str, user_data: *mut c_void)>;

/// Receives the outcome of a started request: `TRUNKLINE_OK` and the result as JSON, or the failure
/// with its error. `error` is NULL on success, `json` is empty on failure. Both are borrowed until
/// the callback returns.
pub type trunkline_reply_callback = Option<
    unsafe extern "C" fn(
        result: trunkline_result,
        json: *const trunkline_str,
        error: *const trunkline_error,
        user_data: *mut c_void,
    ),
>;

pub(crate) type ProgressCallback = Callback<unsafe extern "C" fn(f64, f64, *const trunkline_str, *mut c_void)>;
pub(crate) type ReplyCallback =
    Callback<unsafe extern "C" fn(trunkline_result, *const trunkline_str, *const trunkline_error, *mut c_void)>;

/// Options of a request. Create them with `trunkline_request_options_new`, and free them with
/// `trunkline_request_options_free`. An option that is not set defaults to the client's. For a
/// request to the client of a call, timeouts default to 60 s and 10 minutes, or, if it requests
/// input, to the server's `TRUNKLINE_LIMIT_INPUT_TIMEOUT_MS`.
#[derive(Default)]
pub struct trunkline_request_options {
    /// The message; only its options are set.
    pub(crate) message: message::Request,
    pub(crate) progress: Option<Arc<ProgressCallback>>,
    /// The data for the calls that the request causes in this process.
    pub(crate) user_data: Option<Arc<UserData>>,
    pub(crate) wrong: Option<Failure>,
}

impl trunkline_request_options {
    /// Options with only a key, if it is not empty.
    pub(crate) fn with_key(key: &str) -> Self {
        let key = (!key.is_empty()).then(|| key.to_owned());
        Self { message: message::Request::default().with_key(key), ..Self::default() }
    }
}

/// A request that is ready to be sent. It doesn't refer to the host's options, which a callback may
/// free while the request waits.
pub(crate) struct PreparedRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: Option<&'a RawValue>,
    /// True to fetch all pages of a list.
    pub(crate) all: bool,
    pub(crate) options: Option<&'a trunkline_request_options>,
}

impl PreparedRequest<'_> {
    fn message(&self, wait: bool, causes: bool) -> message::Request {
        let params = self.params.map(|params| RawJson::trusted(mended(params.get().as_bytes()).into_owned().into()));
        let options = self.options.map(|options| options.message.clone()).unwrap_or_default();
        let all = self.all || options.all;
        options
            .with_method(self.method.to_owned())
            .with_params(params)
            .with_all(all)
            .with_progress(self.progress().is_some())
            .with_wait(wait)
            .with_causes(causes)
    }

    fn progress(&self) -> Option<Arc<ProgressCallback>> {
        self.options.and_then(|options| options.progress.clone())
    }

    /// The context of the calls that it causes.
    fn scope(&self) -> Option<Arc<CallScope>> {
        self.options.and_then(|options| options.user_data.clone()).map(CallScope::with_data)
    }

    /// Sends the request to `target`, and blocks until its result arrives. Returns its ticket and
    /// the result.
    pub(crate) fn run(self, port: &Arc<Port>, target: u64) -> Result<(u64, Bytes), Failure> {
        port.check_may_wait()?;
        let (progress, scope) = (self.progress(), self.scope());
        let (message, span) = observed(port, target, self.message(true, scope.is_some()));
        let sent = match &scope {
            None => port.core.request_message(target, message).map_err(Failure::from),
            Some(scope) => {
                let waiting = Arc::new(WaitingRequest { owner: target, scope: scope.clone() });
                port.make(waiting, |core| core.request_message(target, message), |_| ())
            }
        };
        let report = progress.map(|callback| move |body: &[u8]| report_progress(&callback, body));
        let outcome = match &sent {
            Ok(ticket) => port.wait_for(*ticket, report.as_ref().map(|report| report as &Report)),
            Err(_) => Ok(Bytes::new()),
        };
        if let Some(scope) = scope {
            scope.end_origin();
            if let Ok(ticket) = &sent {
                port.detach(*ticket);
            }
        }
        if let Some((telemetry, span)) = port.telemetry().zip(span) {
            telemetry.sent(&port.core, sent.as_ref().ok().copied(), span);
        }
        Ok((sent?, outcome?))
    }

    /// Sends the request to `target`; its outcome is passed to `completion`. `ticket` is set before
    /// any callback runs that may need it.
    pub(crate) fn start(
        self,
        port: &Arc<Port>,
        target: u64,
        owner: u64,
        completion: OnComplete,
        ticket: impl FnOnce(u64),
    ) -> Result<(), Failure> {
        let scope = self.scope();
        let (message, span) = observed(port, target, self.message(false, scope.is_some()));
        let ended = scope.clone();
        let completion: OnComplete = Box::new(move |outcome| {
            ended.inspect(|scope| scope.end_origin());
            completion(outcome);
        });
        let started = StartedRequest::new(owner, completion, self.progress(), scope, span);
        port.make(started, |core| core.request_message(target, message), ticket).map(drop)
    }

    /// Sends a request of a call. Its outcome is passed to `completion`, also if the revision or
    /// the client doesn't support it.
    pub(crate) fn start_for_call(self, call: &trunkline_call, completion: OnComplete) -> Result<(), Failure> {
        let scope = (self.method == message::NEXT).then(|| call.scope().clone());
        let (message, span) = observed(&call.port, call.ticket, self.message(false, scope.is_some()));
        let started = StartedRequest::new(call.server(), completion, self.progress(), scope, span);
        match call.port.make(started.clone(), |core| core.request_message(call.ticket, message), |_| ()) {
            Ok(_) => Ok(()),
            Err(failure) if failure.is_outcome_of_request() => {
                call.port.add_job(call.server(), move || started.complete(Err(failure)))
            }
            Err(failure) => Err(failure),
        }
    }
}

/// A request with the trace context of its span, if the port has telemetry.
fn observed(port: &Port, target: u64, message: message::Request) -> (message::Request, Option<Span>) {
    match port.telemetry() {
        None => (message, None),
        Some(telemetry) => telemetry.sending(&port.core, target, message),
    }
}

/// The function that receives the outcome of a started request.
pub(crate) type OnComplete = Box<dyn FnOnce(Result<Bytes, Failure>) + Send + Sync>;

/// The completion of a request whose outcome is passed to the host's callback, if there is one.
pub(crate) fn completion(callback: Option<ReplyCallback>) -> OnComplete {
    Box::new(move |outcome| {
        let Some(Callback { function, data }) = callback else { return };
        let outcome = ReplyArguments::of(outcome);
        // SAFETY: the host's function with the host's data; all arguments live until it returns.
        unsafe { function(outcome.result(), &outcome.body.lend(), outcome.error(), data.pointer()) }
    })
}

/// The outcome of a request, as callback arguments.
pub(crate) struct ReplyArguments {
    pub(crate) body: Text,
    pub(crate) error: Option<trunkline_error>,
}

impl ReplyArguments {
    pub(crate) fn of(outcome: Result<Bytes, Failure>) -> Self {
        match outcome {
            Ok(body) => Self { body: Text::copy(&body), error: None },
            Err(failure) => Self { body: Text::copy(b""), error: Some(failure.into_error()) },
        }
    }

    pub(crate) fn result(&self) -> trunkline_result {
        self.error.as_ref().map_or(trunkline_result::TRUNKLINE_OK, |error| error.result)
    }

    pub(crate) fn error(&self) -> *const trunkline_error {
        self.error.as_ref().map_or(std::ptr::null(), std::ptr::from_ref)
    }
}

/// A request that a thread waits for, with the context of the calls that it causes.
struct WaitingRequest {
    owner: u64,
    scope: Arc<CallScope>,
}

impl EventReceiver for WaitingRequest {
    fn owner(&self) -> u64 {
        self.owner
    }

    fn scope(&self) -> Option<Arc<CallScope>> {
        Some(self.scope.clone())
    }

    fn receive(self: Arc<Self>, _: &Arc<Port>, _: Event) -> bool {
        false
    }
}

struct StartedRequest {
    /// The connection, or the server of the call.
    owner: u64,
    completion: Mutex<Option<OnComplete>>,
    progress: Option<Arc<ProgressCallback>>,
    /// The context of the call that sends it, for the calls that it causes.
    scope: Option<Arc<CallScope>>,
    span: Option<Span>,
}

impl StartedRequest {
    fn new(
        owner: u64,
        completion: OnComplete,
        progress: Option<Arc<ProgressCallback>>,
        scope: Option<Arc<CallScope>>,
        span: Option<Span>,
    ) -> Arc<Self> {
        Arc::new(Self { owner, completion: Mutex::new(Some(completion)), progress, scope, span })
    }

    fn complete(&self, outcome: Result<Bytes, Failure>) {
        let completion = self.completion.lock().take();
        if let Some(completion) = completion {
            completion(outcome);
        }
    }
}

impl EventReceiver for StartedRequest {
    fn owner(&self) -> u64 {
        self.owner
    }

    fn scope(&self) -> Option<Arc<CallScope>> {
        self.scope.clone()
    }

    fn receive(self: Arc<Self>, port: &Arc<Port>, event: Event) -> bool {
        if let (EventKind::Reply, Some((telemetry, span))) = (event.kind, port.telemetry().zip(self.span)) {
            telemetry.sent(&port.core, Some(event.ticket), span);
        }
        match (event.kind, &self.progress) {
            (EventKind::Reply, _) => self.complete(event.body.into_outcome().map_err(Failure::from)),
            (EventKind::Notification, Some(callback)) => report_progress(callback, &event.body.into_bytes()),
            _ => return false,
        }
        true
    }
}

#[derive(Deserialize)]
struct ReceivedProgress {
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

fn report_progress(callback: &ProgressCallback, body: &[u8]) {
    if let Ok(ReceivedProgress { progress, total, message }) = serde_json::from_slice(body) {
        let message = Text::new(message.unwrap_or_default().into_bytes());
        let Callback { function, data } = callback;
        // SAFETY: the host's function with the host's data; the text lives until it returns.
        unsafe { function(progress, total.unwrap_or(0.0), &message.lend(), data.pointer()) }
    }
}
