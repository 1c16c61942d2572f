//! Requests of a client, or to the client of a call: their options, and how they are sent.

use std::ptr::null;
use std::sync::{OnceLock, Weak};

use bytes::Bytes;
use serde_json::value::RawValue;
use trunkline::protocol::{RawJson, model::Progress, surrogates::mended};
use trunkline_bridge::{self as bridge, Event, EventKind, message};

use crate::calls::trunkline_call;
use crate::edge::failure::trunkline_result::*;
use crate::edge::prelude::*;
use crate::open_handle::Opened;
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

type ProgressCallback = Callback<trunkline_progress_callback>;

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
    pub(crate) wrong: OnceLock<Failure>,
}

/// A request that is ready to be sent. It doesn't refer to the host's options, which a callback may
/// free while the request waits.
pub(crate) struct PreparedRequest {
    pub(crate) message: message::Request,
    progress: Option<Arc<ProgressCallback>>,
    /// The context of the calls that it causes.
    scope: Option<Arc<CallScope>>,
}

impl PreparedRequest {
    pub(crate) fn new(method: &str, params: Option<&RawValue>, options: Option<&trunkline_request_options>) -> Self {
        let params = params.map(|params| RawJson::trusted(mended(params.get().as_bytes()).into_owned().into()));
        let message = options.map(|options| options.message.clone()).unwrap_or_default();
        let progress = options.and_then(|options| options.progress.clone());
        let scope = options.and_then(|options| options.user_data.clone()).map(CallScope::with_data);
        let message = message.with_method(method.to_owned()).with_params(params).with_progress(progress.is_some());
        Self { message, progress, scope }
    }

    /// Sends the request to `target`, and blocks until its result arrives. Returns its ticket and
    /// the result.
    pub(crate) fn run(self, port: &Arc<Port>, target: u64) -> Result<(u64, Bytes), Failure> {
        port.check_may_wait()?;
        let Self { message, progress, scope } = self;
        let (message, span) = port.begin_span(target, message.with_wait(true).with_causes(scope.is_some()));
        let send = |core: &bridge::Port| core.request_message(target, message);
        let sent = match scope.clone() {
            None => send(&port.core).map_err(Failure::from),
            // Only for the calls that it causes: this thread fetches the reply.
            scope => {
                let waiting = StartedRequest { owner: target, scope, ..StartedRequest::default() };
                port.make(Arc::new(waiting), send, |_| ())
            }
        };
        let ticket = sent.as_ref().ok().copied();
        let report = progress.map(|callback| move |body: &[u8]| report_progress(&callback, body));
        let report = report.as_ref().map(|report| report as &Report);
        let outcome = sent.and_then(|ticket| Ok((ticket, port.wait_for(ticket, report)?)));
        if let Some(scope) = scope {
            scope.end_origin();
            ticket.inspect(|ticket| port.detach(*ticket));
        }
        port.end_span(ticket, span);
        outcome
    }

    /// Sends the request to `target`, something of the client; its outcome is passed to
    /// `completion`. `ticket` is set before any callback runs that may need it.
    pub(crate) fn start(
        self,
        client: &Opened,
        target: u64,
        completion: OnComplete,
        ticket: impl FnOnce(u64),
    ) -> Result<(), Failure> {
        let ended = self.scope.clone();
        let completion: OnComplete = Box::new(move |outcome| {
            ended.inspect(|scope| scope.end_origin());
            completion(outcome);
        });
        let (started, message) = self.started(&client.port, target, client.handle, completion);
        client.port.make(started, |core| core.request_message(target, message), ticket).map(drop)
    }

    /// Sends a request of a call. Its outcome is passed to `completion`, even if the revision or
    /// the client doesn't support it.
    pub(crate) fn start_for_call(
        mut self,
        call: &trunkline_call,
        completion: OnComplete,
        ticket: impl FnOnce(u64),
    ) -> Result<(), Failure> {
        self.scope = (self.message.method == message::NEXT).then(|| call.scope().clone());
        let (started, message) = self.started(&call.port, call.ticket, call.registered.server, completion);
        match call.port.make(started.clone(), |core| core.request_message(call.ticket, message), ticket) {
            // The outcome of the request, rather than a misuse of the function that sent it.
            Err(failure) if matches!(failure.result, TRUNKLINE_PROTOCOL | TRUNKLINE_SUSPENDED) => {
                call.port.add_job(call.registered.server, move || started.complete(Err(failure)))
            }
            sent => sent.map(drop),
        }
    }

    fn started(
        self,
        port: &Arc<Port>,
        target: u64,
        owner: u64,
        completion: OnComplete,
    ) -> (Arc<StartedRequest>, message::Request) {
        let Self { message, progress, scope } = self;
        let (message, span) = port.begin_span(target, message.with_causes(scope.is_some()));
        let (completion, span) = (Mutex::new(Some(completion)), Mutex::new(span));
        let span = SentSpan { port: Arc::downgrade(port), span };
        (Arc::new(StartedRequest { owner, completion, progress, scope, span }), message)
    }
}

/// The function that receives the outcome of a started request.
pub(crate) type OnComplete = Box<dyn FnOnce(Result<Bytes, Failure>) + Send + Sync>;

/// The completion of a request whose outcome is passed to the host's callback, if there is one.
pub(crate) fn completion(callback: Option<Callback<trunkline_reply_callback>>) -> OnComplete {
    Box::new(move |outcome| {
        let Some(Callback { function, data }) = callback else { return };
        // SAFETY: the host's function with the host's data; all arguments live until it returns.
        lend_outcome(outcome, |result, json, error| unsafe { function(result, json, error, data.pointer()) });
    })
}

/// Passes on the outcome of a request as callback arguments.
pub(crate) fn lend_outcome(
    outcome: Result<Bytes, Failure>,
    callback: impl FnOnce(trunkline_result, *const trunkline_str, *const trunkline_error),
) {
    match outcome {
        Ok(json) => callback(TRUNKLINE_OK, &Text::copy(json).lend(), null()),
        Err(failure) => {
            let error = failure.into_error();
            callback(error.result, &trunkline_str::empty(), &error);
        }
    }
}

#[derive(Default)]
struct StartedRequest {
    /// The connection, or the server of the call.
    owner: u64,
    completion: Mutex<Option<OnComplete>>,
    progress: Option<Arc<ProgressCallback>>,
    /// The context of the calls that it causes.
    scope: Option<Arc<CallScope>>,
    span: SentSpan,
}

/// The span of a started request.
#[derive(Default)]
struct SentSpan {
    port: Weak<Port>,
    span: Mutex<Option<Span>>,
}

impl StartedRequest {
    fn complete(&self, outcome: Result<Bytes, Failure>) {
        let completion = self.completion.lock().take();
        if let Some(completion) = completion {
            completion(outcome);
        }
    }
}

impl SentSpan {
    fn end(&self, port: &Port, ticket: Option<u64>) {
        let span = self.span.lock().take();
        port.end_span(ticket, span);
    }
}

impl Drop for SentSpan {
    fn drop(&mut self) {
        // The request was refused, or its client was freed.
        self.port.upgrade().inspect(|port| self.end(port, None));
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
        if event.kind == EventKind::Reply {
            self.span.end(port, Some(event.ticket));
        }
        match (event.kind, &self.progress) {
            (EventKind::Reply, _) => self.complete(event.body.into_outcome().map_err(Failure::from)),
            (EventKind::Notification, Some(callback)) => report_progress(callback, &event.body.into_bytes()),
            _ => return false,
        }
        true
    }
}

fn report_progress(callback: &ProgressCallback, body: &[u8]) {
    if let Ok(Progress { progress, total, message, .. }) = serde_json::from_slice(body) {
        let message = Text::new(message.unwrap_or_default());
        let Callback { function, data } = callback;
        // SAFETY: the host's function with the host's data; the text lives until it returns.
        unsafe { function(progress, total.unwrap_or(0.0), &message.lend(), data.pointer()) }
    }
}

/// Sets data that follows the request to the handlers of an in-memory server, which read it with
/// `trunkline_call_exchange_data`: for example, the user for whom a program calls its own server.
/// Servers in other processes do not receive it. `destructor` is called when neither the options
/// nor a request nor a call uses the data, even if the function fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_request_options_set_user_data(
    options: *mut trunkline_request_options,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    set!(options, options.user_data = Some(Arc::new(user_data)))
}
