//! The context of an async handler in Rust.

use super::typed_form::{Elicited, form_of};
#[cfg(feature = "http-server")]
use crate::server::HttpRequest;
use crate::server::{CallInfo, ClientRequest, ClientRequestError, Vars, handlers::ResponseCallback};
use crate::{
    engine::RequestInfo,
    protocol::{
        RawJson, RequestId, Revision, RpcError, integers, method,
        model::{
            ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitAction, ElicitParams, ElicitResult,
            Implementation, ListRootsResult, LoggingLevel, Root,
        },
    },
    runtime::Promise,
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    cell::Cell,
    collections::BTreeMap,
    future::{Future, poll_fn},
    sync::Arc,
    task::Poll,
    time::Duration,
};

thread_local! {
    /// Progress reports on this thread since it last yielded to other tasks.
    static REPORTS: Cell<u8> = const { Cell::new(0) };
}

/// A thread yields to other tasks after this many.
const REPORTS_PER_YIELD: u8 = 64;

/// Yields to other tasks after a number of reports.
async fn yield_at_times() {
    let reports = REPORTS.get() + 1;
    REPORTS.set(reports % REPORTS_PER_YIELD);
    yield_if(reports == REPORTS_PER_YIELD).await;
}

/// Yields to other tasks once, if `is_due`.
async fn yield_if(mut is_due: bool) {
    poll_fn(|context| match std::mem::take(&mut is_due) {
        true => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
        false => Poll::Ready(()),
    })
    .await;
}

/// Timeout of a ping to the client.
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// The call that a handler serves. Cheap to clone.
///
/// A handler takes it as one of its arguments, in any position.
///
/// ```
/// use std::time::Duration;
/// use trunkline::{Client, Context, RequestOptions, Server, protocol::model::LoggingLevel};
///
/// async fn index(ctx: Context) -> String {
///     for page in 1..=3 {
///         ctx.progress_message(f64::from(page), Some(3.0), &format!("Page {page}")).await;
///         tokio::time::sleep(Duration::from_millis(1)).await;
///     }
///     ctx.log(LoggingLevel::Info, "The index is complete");
///     let user = ctx.auth().and_then(|identity| identity.subject);
///     format!("Indexed 3 pages for {}", user.as_deref().unwrap_or("everyone"))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), trunkline::ClientError> {
/// let server = Server::builder("library", "1.0.0").tool("index", "Index all pages.", index).build();
///
/// let client = Client::connect(&server).await?;
/// let options = RequestOptions::default().with_progress(|pages, _, _| println!("{pages} pages"));
/// let result = client.call_tool_with("index", (), &options).await?;
/// assert_eq!(result.joined_text(), "Indexed 3 pages for everyone");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Context {
    call: CallInfo,
    arguments: RawJson,
}

impl Context {
    pub(in crate::server) fn new(call: CallInfo, arguments: RawJson) -> Self {
        Self { call, arguments }
    }

    /// The arguments of the call as JSON, as read by [`super::Params`].
    pub fn arguments(&self) -> &RawJson {
        &self.arguments
    }

    /// Reports progress, if the client asked for it. Each value must be greater than the last;
    /// others are dropped. It never waits for the client, but yields to other tasks once every 64
    /// reports of a thread: otherwise a handler that only computes and reports would keep them from
    /// sending the reports.
    pub async fn progress(&self, progress: f64, total: Option<f64>) {
        self.call.progress(progress, total, None);
        yield_at_times().await;
    }

    /// Reports progress with a message for people; see [`Self::progress`].
    pub async fn progress_message(&self, progress: f64, total: Option<f64>, message: &str) {
        self.call.progress(progress, total, Some(message));
        yield_at_times().await;
    }

    /// Turns the call into a task from here on; see [`crate::server::CallInfo::start_task`].
    pub fn start_task(&self) {
        self.call.start_task();
    }

    /// Sets the status message of the task.
    pub fn set_task_message(&self, message: &str) {
        self.call.set_task_message(message);
    }

    /// Completes when the call is cancelled. After that, the handler is dropped the next time it
    /// suspends at an `.await`, whether or not it awaits this; spawn a separate task for async
    /// cleanup.
    pub async fn cancelled(&self) {
        self.call.cancelled().await;
    }

    /// Closes the HTTP response of this call early, if the client can reconnect for the result,
    /// that is, in sessions of 2025-11-25. Otherwise it has no effect.
    pub fn close_stream(&self) {
        self.call.close_stream();
    }

    /// Returns whether the call is cancelled; for loops that do not await.
    pub fn is_cancelled(&self) -> bool {
        self.call.is_cancelled()
    }

    /// Sends a log message to the client, if it wants messages of that level.
    #[deprecated(note = "in protocol revision 2026-07-28; log to standard error or through OpenTelemetry instead")]
    pub fn log(&self, level: LoggingLevel, data: impl Into<Value>) {
        self.call.log(level, None, &data.into());
    }

    /// Sends a log message with the name of a part of the server as its logger.
    #[deprecated(note = "in protocol revision 2026-07-28; log to standard error or through OpenTelemetry instead")]
    pub fn log_with_logger(&self, logger: &str, level: LoggingLevel, data: impl Into<Value>) {
        self.call.log(level, Some(logger), &data.into());
    }

    /// Pings the client. Clients of the modern era cannot be pinged.
    ///
    /// # Errors
    /// See [`ClientRequestError`].
    pub async fn ping(&self) -> Result<(), ClientRequestError> {
        self.ask(method::PING, None, None, PING_TIMEOUT).await.map(drop)
    }

    /// Asks the user, with a form or a page to visit. The same code works in both eras. On
    /// 2026-07-28, where requests take several rounds, this returns
    /// [`ClientRequestError::Suspended`], which the handler must pass on with `?`. It then runs
    /// again from the top with the answer; wrap side effects before this call in [`Self::once`].
    ///
    /// # Errors
    /// See [`ClientRequestError`]. A user who declines or cancels is not an error.
    pub async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, ClientRequestError> {
        self.input(method::ELICITATION_CREATE, None, Some(&params)).await
    }

    /// Asks the user to open a page, where the interaction does not pass through the client. Like
    /// [`Self::elicit`] with [`ElicitParams::url`].
    ///
    /// # Errors
    /// See [`Self::elicit`].
    pub async fn elicit_url(
        &self,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Result<ElicitResult, ClientRequestError> {
        self.elicit(ElicitParams::url(message, url)).await
    }

    /// The same with an explicit key. Reusing a key within a run of the handler is a different
    /// client request.
    ///
    /// # Errors
    /// See [`Self::elicit`].
    pub async fn elicit_with_key(&self, key: &str, params: ElicitParams) -> Result<ElicitResult, ClientRequestError> {
        self.input(method::ELICITATION_CREATE, Some(key), Some(&params)).await
    }

    /// Asks the user to fill in a form with the fields of a struct; see [`Self::elicit`].
    ///
    /// | field | in the form |
    /// | --- | --- |
    /// | `String`, `char` | a text field |
    /// | a number, `bool` | a number or boolean field |
    /// | an enum without data | a single choice; doc comments on its variants are the titles |
    /// | a `Vec` or set of such an enum | a multiple choice (2025-11-25 and later) |
    /// | `Option` of one, `#[serde(default)]` | the same field, but optional |
    ///
    /// Doc comments become descriptions, and constraints such as `#[schemars(range(min = 1))]`
    /// apply.
    ///
    /// ```
    /// use trunkline::{CallError, Context, Server, server::Elicited};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Booking {
    ///     /// Number of people
    ///     #[schemars(range(min = 1, max = 12))]
    ///     people: u8,
    ///     window: Option<bool>,
    /// }
    ///
    /// async fn book(ctx: Context) -> Result<String, CallError> {
    ///     Ok(match ctx.elicit_form::<Booking>("A table for how many?").await? {
    ///         Elicited::Accept(booking) => format!("A table for {} is booked.", booking.people),
    ///         Elicited::Decline | Elicited::Cancel => "Nothing was booked.".to_owned(),
    ///     })
    /// }
    ///
    /// let server = Server::builder("restaurant", "1.0.0").tool("book", "Book a table.", book).build();
    /// ```
    ///
    /// # Errors
    /// See [`ClientRequestError`]; also [`ClientRequestError::Refused`] if a field is not allowed
    /// in a form.
    pub async fn elicit_form<T: DeserializeOwned + JsonSchema>(
        &self,
        message: impl Into<String>,
    ) -> Result<Elicited<T>, ClientRequestError> {
        self.elicit_typed(None, message.into()).await
    }

    /// The same with an explicit key.
    ///
    /// # Errors
    /// See [`Self::elicit_form`].
    pub async fn elicit_form_with_key<T: DeserializeOwned + JsonSchema>(
        &self,
        key: &str,
        message: impl Into<String>,
    ) -> Result<Elicited<T>, ClientRequestError> {
        self.elicit_typed(Some(key), message.into()).await
    }

    async fn elicit_typed<T: DeserializeOwned + JsonSchema>(
        &self,
        key: Option<&str>,
        message: String,
    ) -> Result<Elicited<T>, ClientRequestError> {
        const METHOD: &str = method::ELICITATION_CREATE;
        let form = form_of::<T>();
        let form =
            form.map_err(|why| ClientRequestError::Refused(RpcError::invalid_params(format!("{METHOD}: {why}"))))?;
        let answer: ElicitResult = self.input(METHOD, key, Some(&ElicitParams::form(message, form))).await?;
        match answer.action {
            ElicitAction::Accept => {
                let content = serde_json::to_value(answer.content.unwrap_or_default())
                    .and_then(|content| integers::from_value(&content));
                content.map(Elicited::Accept).map_err(|error| ClientRequestError::Invalid(error.to_string()))
            }
            ElicitAction::Decline => Ok(Elicited::Decline),
            ElicitAction::Cancel => Ok(Elicited::Cancel),
        }
    }

    /// Asks the client's model; see [`Self::elicit`].
    ///
    /// # Errors
    /// See [`ClientRequestError`].
    #[deprecated(note = "in protocol revision 2026-07-28; call the API of a model provider instead")]
    pub async fn sample(&self, params: CreateMessageParams) -> Result<CreateMessageResult, ClientRequestError> {
        self.input(method::SAMPLING_CREATE_MESSAGE, None, Some(&params)).await
    }

    /// The same with an explicit key.
    ///
    /// # Errors
    /// See [`ClientRequestError`].
    #[deprecated(note = "in protocol revision 2026-07-28; call the API of a model provider instead")]
    pub async fn sample_with_key(
        &self,
        key: &str,
        params: CreateMessageParams,
    ) -> Result<CreateMessageResult, ClientRequestError> {
        self.input(method::SAMPLING_CREATE_MESSAGE, Some(key), Some(&params)).await
    }

    /// Asks for the client's roots; see [`Self::elicit`].
    ///
    /// # Errors
    /// See [`ClientRequestError`].
    #[deprecated(note = "in protocol revision 2026-07-28; use tool arguments, resource URIs or configuration instead")]
    pub async fn list_roots(&self) -> Result<Vec<Root>, ClientRequestError> {
        let result: ListRootsResult = self.input(method::ROOTS_LIST, None, None::<&()>).await?;
        Ok(result.roots)
    }

    /// Runs `work` once per request, however often the handler runs. The value is carried in the
    /// state of the request. It is also kept for replayed requests, as long as this process runs
    /// and the state has not expired ([`ServerOptions::state_lifetime`](crate::ServerOptions)).
    /// The values kept for replays are limited to 16 MiB. Beyond it, the oldest values of the
    /// principal with the most are discarded, so a replay runs their work again. If an effect must
    /// never happen twice, deduplicate it where it takes effect.
    ///
    /// # Errors
    /// Returns the error of `work`. A value that cannot be serialized to JSON fails when it is read
    /// back.
    pub async fn once<T, E, Fut>(&self, name: &str, work: impl FnOnce() -> Fut) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
        Fut: Future<Output = Result<T, E>>,
    {
        if let Some(kept) = self.call.memoized(name)
            && let Ok(value) = serde_json::from_value(kept)
        {
            return Ok(value);
        }
        let value = work().await?;
        if let Ok(kept) = serde_json::to_value(&value) {
            self.call.memoize(name, kept);
        }
        Ok(value)
    }

    /// The answers of this round, for handlers that return
    /// [`crate::server::Outcome::InputRequired`].
    pub fn input_responses(&self) -> BTreeMap<String, Value> {
        self.call.input_responses()
    }

    /// Validation errors of the other answers of this round; see
    /// [`crate::server::CallInfo::input_problems`].
    pub fn input_problems(&self) -> BTreeMap<String, String> {
        self.call.input_problems()
    }

    /// The state that this handler stored in the previous round.
    pub fn state(&self) -> Option<Value> {
        self.call.state()
    }

    async fn input<T: DeserializeOwned>(
        &self,
        method: &str,
        key: Option<&str>,
        params: Option<&impl Serialize>,
    ) -> Result<T, ClientRequestError> {
        let params = params
            .map(RawJson::from_value)
            .transpose()
            .map_err(|error| ClientRequestError::Invalid(error.to_string()))?;
        let timeout = self.call.timeout_for(method);
        let answer = self.ask(method, key, params.as_ref(), timeout).await?;
        answer.parse().map_err(|error| ClientRequestError::Invalid(error.to_string()))
    }

    async fn ask(
        &self,
        method: &str,
        key: Option<&str>,
        params: Option<&RawJson>,
        timeout: Duration,
    ) -> Result<RawJson, ClientRequestError> {
        let answer = Arc::new(Promise::default());
        let kept = Arc::clone(&answer);
        let on_response: ResponseCallback = Box::new(move |outcome| kept.keep(outcome));
        let asking = self.call.ask(ClientRequest { method, key, params, timeout, max: timeout }, on_response);
        // A handler that keeps asking regardless of the answers must not block its thread.
        yield_if(matches!(asking, Err(ClientRequestError::Suspended))).await;
        asking?;
        answer.kept().await
    }

    /// The revision that governs the call.
    pub fn revision(&self) -> Revision {
        self.scope().revision
    }

    /// The name and version of the client, if sent. They are not verified: do not base decisions on
    /// them.
    pub fn client_info(&self) -> Option<Implementation> {
        self.scope().client_info.as_ref()?.parse().ok()
    }

    /// The capabilities declared by the client.
    pub fn client_capabilities(&self) -> ClientCapabilities {
        self.scope().client_capabilities.parse().unwrap_or_default()
    }

    /// The name of the tool or prompt, or the URI of the resource.
    pub fn name(&self) -> &str {
        self.call.name()
    }

    /// The verified identity of the caller; `None` if no access tokens are required.
    #[cfg(feature = "auth")]
    pub fn auth(&self) -> Option<crate::auth::Identity> {
        self.scope().auth.as_ref()?.parse().ok()
    }

    /// The JSON-RPC id of the request, unique among the requests of its session in flight.
    pub fn request_id(&self) -> &RequestId {
        self.call.request_id()
    }

    /// The session id, over HTTP up to 2025-11-25; `None` otherwise.
    pub fn session_id(&self) -> Option<&str> {
        self.call.session_id()
    }

    /// The HTTP request of the call; `None` on pipes and in memory.
    #[cfg(feature = "http-server")]
    pub fn http(&self) -> Option<&HttpRequest> {
        self.call.http()
    }

    /// Values shared by the middleware, extractors and handler of this request.
    pub fn vars(&self) -> &Vars {
        self.call.vars()
    }

    /// The value opened by the server's lifespan, if it is of that type.
    pub fn lifespan<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.call.backend.lifespan()?.downcast().ok()
    }

    /// The request's `_meta` object, or the one set by middleware.
    pub fn meta(&self) -> Option<&RawJson> {
        self.scope().meta.as_ref()
    }

    fn scope(&self) -> &RequestInfo {
        self.call.request_info()
    }
}
