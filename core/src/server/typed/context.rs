//! The context of an async handler in Rust.

use super::form::{Elicited, form_of};
#[cfg(feature = "http-server")]
use crate::server::HttpRequest;
use crate::server::{CallInfo, ClientRequestError, Vars, handlers::ResponseCallback};
use crate::{
    engine::RequestInfo,
    protocol::{
        RawJson, RequestId, Revision, RpcError, method,
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
    /// The reports of progress on this thread since other tasks could run.
    static REPORTS: Cell<u8> = const { Cell::new(0) };
}

/// Reports of a thread from one pause for other tasks to the next.
const REPORTS_AT_ONCE: u8 = 64;

/// Lets other tasks run after so many reports.
async fn yield_at_times() {
    let reports = REPORTS.get() + 1;
    REPORTS.set(reports % REPORTS_AT_ONCE);
    let mut is_due = reports == REPORTS_AT_ONCE;
    poll_fn(|context| match std::mem::take(&mut is_due) {
        true => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
        false => Poll::Ready(()),
    })
    .await;
}

/// Time of a client to show that it is alive.
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

    /// The arguments of the call as JSON, as [`super::Params`] reads them.
    pub fn arguments(&self) -> &RawJson {
        &self.arguments
    }

    /// Reports progress, if the client asked for it. Values must rise; others are dropped. It waits
    /// for nobody, but lets other tasks run once in 64 reports of a thread: a handler that only
    /// computes and reports would keep them from sending what it reports.
    pub async fn progress(&self, progress: f64, total: Option<f64>) {
        self.call.progress(progress, total, None);
        yield_at_times().await;
    }

    /// Reports progress with a text for people; as [`Self::progress`].
    pub async fn progress_message(&self, progress: f64, total: Option<f64>, message: &str) {
        self.call.progress(progress, total, Some(message));
        yield_at_times().await;
    }

    /// From here on the call is a task, as [`crate::server::CallInfo::start_task`] says.
    pub fn start_task(&self) {
        self.call.start_task();
    }

    /// Says what the task does now.
    pub fn set_task_message(&self, message: &str) {
        self.call.set_task_message(message);
    }

    /// Completes when the call is cancelled. From then on a handler runs to the next await that has
    /// to wait, and is dropped there, whether it awaits this or not: cleaning up that has to wait
    /// belongs in a task of its own.
    pub async fn cancelled(&self) {
        self.call.cancelled().await;
    }

    /// Closes the HTTP connection that waits for this call, where the client can come back for the
    /// answer: in sessions of 2025-11-25. Elsewhere nothing happens.
    pub fn close_stream(&self) {
        self.call.close_stream();
    }

    /// Returns whether the call is cancelled; for loops that do not await.
    pub fn is_cancelled(&self) -> bool {
        self.call.is_cancelled()
    }

    /// Sends a log message to the client, if it wants messages of that level.
    pub fn log(&self, level: LoggingLevel, data: impl Into<Value>) {
        self.call.log(level, None, &data.into());
    }

    /// Sends a log message under the name of the part of the server that speaks.
    pub fn log_with_logger(&self, logger: &str, level: LoggingLevel, data: impl Into<Value>) {
        self.call.log(level, Some(logger), &data.into());
    }

    /// Asks whether the client is alive. Clients of the modern era cannot be asked.
    ///
    /// # Errors
    /// As [`ClientRequestError`] says.
    pub async fn ping(&self) -> Result<(), ClientRequestError> {
        self.ask(method::PING, None, None, PING_TIMEOUT).await.map(drop)
    }

    /// Asks the user, by a form or by a page to visit. The same code serves both eras: where the
    /// client is asked by rounds (2026-07-28), the handler ends here with
    /// [`ClientRequestError::Suspended`], which `?` passes on, and runs again from the top with the
    /// answer; an effect before this belongs in [`Self::once`].
    ///
    /// # Errors
    /// As [`ClientRequestError`] says. A user who declines or cancels is not an error.
    pub async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, ClientRequestError> {
        self.input(method::ELICITATION_CREATE, None, Some(&params)).await
    }

    /// Asks the user to open a page; the interaction there does not pass through the client. As
    /// [`Self::elicit`] with [`ElicitParams::url`].
    ///
    /// # Errors
    /// As [`Self::elicit`].
    pub async fn elicit_url(
        &self,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Result<ElicitResult, ClientRequestError> {
        self.elicit(ElicitParams::url(message, url)).await
    }

    /// The same under a key of your own. One that this run of the handler has used before stands
    /// for another client request.
    ///
    /// # Errors
    /// As [`Self::elicit`].
    pub async fn elicit_with_key(&self, key: &str, params: ElicitParams) -> Result<ElicitResult, ClientRequestError> {
        self.input(method::ELICITATION_CREATE, Some(key), Some(&params)).await
    }

    /// Asks the user to fill in a form, whose fields are those of a struct; as [`Self::elicit`].
    ///
    /// | field | in the form |
    /// | --- | --- |
    /// | `String`, `char` | a text |
    /// | a number, `bool` | a number, a boolean |
    /// | an enum without data | a choice; comments on its variants are the titles |
    /// | a `Vec` or set of such an enum | several choices (2025-11-25 and later) |
    /// | `Option` of one, `#[serde(default)]` | the same, which need not be filled in |
    ///
    /// Comments are descriptions, and bounds such as `#[schemars(range(min = 1))]` hold.
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
    /// As [`ClientRequestError`] says; [`ClientRequestError::Refused`] also if a field is not of a
    /// form.
    pub async fn elicit_form<T: DeserializeOwned + JsonSchema>(
        &self,
        message: impl Into<String>,
    ) -> Result<Elicited<T>, ClientRequestError> {
        self.elicit_typed(None, message.into()).await
    }

    /// The same under a key of your own.
    ///
    /// # Errors
    /// As [`Self::elicit_form`].
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
                let content = serde_json::to_value(answer.content.unwrap_or_default()).and_then(serde_json::from_value);
                content.map(Elicited::Accept).map_err(|error| ClientRequestError::Invalid(error.to_string()))
            }
            ElicitAction::Decline => Ok(Elicited::Decline),
            ElicitAction::Cancel => Ok(Elicited::Cancel),
        }
    }

    /// Asks the client's model; as [`Self::elicit`].
    ///
    /// # Errors
    /// As [`ClientRequestError`] says.
    pub async fn sample(&self, params: CreateMessageParams) -> Result<CreateMessageResult, ClientRequestError> {
        self.input(method::SAMPLING_CREATE_MESSAGE, None, Some(&params)).await
    }

    /// The same under a key of your own.
    ///
    /// # Errors
    /// As [`ClientRequestError`] says.
    pub async fn sample_with_key(
        &self,
        key: &str,
        params: CreateMessageParams,
    ) -> Result<CreateMessageResult, ClientRequestError> {
        self.input(method::SAMPLING_CREATE_MESSAGE, Some(key), Some(&params)).await
    }

    /// Asks for the client's roots; as [`Self::elicit`].
    ///
    /// # Errors
    /// As [`ClientRequestError`] says.
    pub async fn list_roots(&self) -> Result<Vec<Root>, ClientRequestError> {
        let result: ListRootsResult = self.input(method::ROOTS_LIST, None, None::<&()>).await?;
        Ok(result.roots)
    }

    /// Does something once, however often this handler runs for one request: its value travels with
    /// the state of the request, and a retry that comes again finds it too, as long as
    /// this process serves it and the state has not expired
    /// ([`ServerOptions::state_lifetime`](crate::ServerOptions)). The values of all retries have 16
    /// MiB: beyond it the oldest of the principal with the most are forgotten, and their work would
    /// run again. An effect that must never happen twice needs a key of its own where it happens.
    ///
    /// # Errors
    /// Those of `work`; a value that cannot be JSON fails when it is read back.
    pub async fn once<T, E, Fut>(&self, name: &str, work: impl FnOnce() -> Fut) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
        Fut: Future<Output = Result<T, E>>,
    {
        if let Some(kept) = self.call.kept(name)
            && let Ok(value) = serde_json::from_value(kept)
        {
            return Ok(value);
        }
        let value = work().await?;
        if let Ok(kept) = serde_json::to_value(&value) {
            self.call.keep(name, kept);
        }
        Ok(value)
    }

    /// The answers of this round, for handlers that return
    /// [`crate::server::Outcome::InputRequired`].
    pub fn input_responses(&self) -> BTreeMap<String, Value> {
        self.call.input_responses()
    }

    /// The problems of the other answers of this round; see
    /// [`crate::server::CallInfo::input_problems`].
    pub fn input_problems(&self) -> BTreeMap<String, String> {
        self.call.input_problems()
    }

    /// The state that this handler left in the round before.
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
        let asked: ResponseCallback = Box::new(move |outcome| kept.keep(outcome));
        let asking = self.call.ask(method, key, params, timeout, timeout, asked);
        if matches!(asking, Err(ClientRequestError::Suspended)) {
            // A handler that asks on and on, whatever it is told, must not keep its thread.
            let mut yielded = false;
            poll_fn(|task| {
                if std::mem::replace(&mut yielded, true) {
                    return Poll::Ready(());
                }
                task.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
        }
        asking?;
        answer.kept().await
    }

    /// The revision that governs the call.
    pub fn revision(&self) -> Revision {
        self.scope().revision
    }

    /// The name and version of the client, if it gave them. They are its own claim: not for
    /// decisions.
    pub fn client_info(&self) -> Option<Implementation> {
        self.scope().client_info.as_ref()?.parse().ok()
    }

    /// The capabilities that the client declared.
    pub fn client_capabilities(&self) -> ClientCapabilities {
        self.scope().client_capabilities.parse().unwrap_or_default()
    }

    /// The name of the tool or prompt, or the URI of the resource.
    pub fn name(&self) -> &str {
        self.call.name()
    }

    /// The verified identity of the caller; `None` where no access tokens are needed.
    #[cfg(feature = "auth")]
    pub fn auth(&self) -> Option<crate::auth::Identity> {
        self.scope().auth.as_ref()?.parse().ok()
    }

    /// The JSON-RPC id of the request, unique among those of its session that are in flight.
    pub fn request_id(&self) -> &RequestId {
        self.call.request_id()
    }

    /// The id of the session, over HTTP up to 2025-11-25; elsewhere there is none.
    pub fn session_id(&self) -> Option<&str> {
        self.call.session_id()
    }

    /// The HTTP request that brought the call; `None` on pipes and in memory.
    #[cfg(feature = "http-server")]
    pub fn http(&self) -> Option<&HttpRequest> {
        self.call.http()
    }

    /// The values that middleware, extractors and the handler of this request share.
    pub fn vars(&self) -> &Vars {
        self.call.vars()
    }

    /// The value that the lifespan of the server has opened, if it is of that type.
    pub fn lifespan<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.call.lifespan()?.downcast().ok()
    }

    /// The request's `_meta` object, or the one that middleware put in its place.
    pub fn meta(&self) -> Option<&RawJson> {
        self.scope().meta.as_ref()
    }

    fn scope(&self) -> &RequestInfo {
        self.call.request_info()
    }
}
