//! The host's side of a client: handlers for requests and notifications from servers.

use crate::{
    client::readable,
    log_text::with_causes,
    protocol::{
        RawJson, RpcError,
        describe::Described,
        method,
        model::{
            ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitResult,
            ElicitUrlParams, ElicitationComplete, Implementation, LogMessage, Task as TaskOfServer,
        },
        operation::HostOperation,
    },
    runtime::BoxedTask,
    telemetry::RunningOperation,
};
use indexmap::IndexMap;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};
use std::{collections::BTreeMap, error::Error, fmt, future::Future, ops::Deref, sync::Arc};

/// A program's handlers for requests and notifications from servers. They determine the
/// capabilities that a client declares.
///
/// ```
/// use trunkline::{
///     client::{ClientHandlers, ElicitRequest, HandlerError},
///     protocol::model::ElicitResult,
/// };
///
/// let handlers = ClientHandlers::default()
///     .on_elicit(async |request: ElicitRequest| {
///         println!("{}", request.message);
///         Ok::<_, HandlerError>(ElicitResult::decline())
///     })
///     .on_tools_changed(|| println!("The tools have changed"));
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct ClientHandlers {
    answering: BTreeMap<&'static str, RequestHandler>,
    /// Handles everything that the others do not, including `roots/list`.
    pub(in crate::client) passing: Option<PassingHandler>,
    notified: Vec<NotificationHandler>,
}

/// A server's request, as passed to a handler.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerRequest<P> {
    /// The parameters.
    pub params: P,
    /// The name and version of the requesting server, if sent.
    pub server: Option<Implementation>,
    /// The name under which the server was added to its
    /// `ClientGroup`.
    pub server_name: Option<String>,
    /// The telemetry of the request, if enabled.
    #[doc(hidden)]
    pub operation: Option<Arc<RunningOperation>>,
}

/// A form for the user to fill in.
pub type ElicitRequest = ServerRequest<ElicitFormParams>;
/// A page for the user to open. Do not fetch or open it without the user's consent.
pub type ElicitUrlRequest = ServerRequest<ElicitUrlParams>;
/// A conversation for the model to continue.
pub type SampleRequest = ServerRequest<CreateMessageParams>;

/// Handles one kind of request, as JSON.
pub type RequestHandler = Arc<dyn Fn(ServerRequest<RawJson>) -> BoxedTask<Result<RawJson, RpcError>> + Send + Sync>;

/// Handles requests of any method.
#[doc(hidden)]
pub type PassingHandler = Arc<dyn Fn(&str, RawJson) -> BoxedTask<Result<RawJson, RpcError>> + Send + Sync>;

type NotificationHandler = Arc<dyn Fn(&str, Option<&RawJson>) + Send + Sync>;

/// The handlers that answer requests of servers, for [`ClientHandlers`] and the builder of a
/// client.
macro_rules! answering_handlers {
    ($setters:ident) => {
        $setters! {
            /// Lets servers ask the user to fill in forms. Missing fields get their defaults;
            /// content that does not match the form is not sent.
            on_elicit(ElicitRequest) -> ElicitResult = "elicit";
            /// Lets servers ask the user to open pages (2025-11-25 and later).
            on_elicit_url(ElicitUrlRequest) -> ElicitResult = "elicit_url";
            /// Lets servers ask the model to continue a conversation.
            #[deprecated(note = "in protocol revision 2026-07-28; call the API of a model provider instead")]
            on_sample(SampleRequest) -> CreateMessageResult = "sample";
            /// Lets servers ask the model to continue a conversation, with tools (2025-11-25 and
            /// later) or without.
            #[deprecated(note = "in protocol revision 2026-07-28; call the API of a model provider instead")]
            on_sample_with_tools(SampleRequest) -> CreateMessageResult = "sample_with_tools";
        }
    };
}
pub(in crate::client) use answering_handlers;

macro_rules! setters {
    ($($(#[doc = $doc:literal])* $(#[deprecated(note = $note:literal)])? $name:ident($request:ident) -> $result:ident = $operation:literal;)*) => {
        impl ClientHandlers {
            $($(#[doc = $doc])*
            $(#[deprecated(note = $note)])?
            pub fn $name<F, R, E>(self, handler: F) -> Self
            where
                F: Fn($request) -> R + Send + Sync + 'static,
                R: Future<Output = Result<$result, E>> + Send + 'static,
                E: Into<HandlerError>,
            {
                self.answer($operation, typed(handler))
            })*
        }
    };
}

answering_handlers!(setters);

impl ClientHandlers {
    /// Receives log messages from servers. Must not block.
    #[deprecated(note = "in protocol revision 2026-07-28; log to standard error or through OpenTelemetry instead")]
    pub fn on_log(self, handler: impl Fn(LogMessage) + Send + Sync + 'static) -> Self {
        self.on_received(method::LOG_MESSAGE, handler)
    }

    /// Called when the server's tools have changed. Must not block.
    pub fn on_tools_changed(self, handler: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_change(method::TOOLS_LIST_CHANGED, handler)
    }

    /// Called when the server's resources or resource templates have changed. Must not block.
    pub fn on_resources_changed(self, handler: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_change(method::RESOURCES_LIST_CHANGED, handler)
    }

    /// Called when the server's prompts have changed. Must not block.
    pub fn on_prompts_changed(self, handler: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_change(method::PROMPTS_LIST_CHANGED, handler)
    }

    /// Called when a URL elicitation is complete (2025-11-25). Its id may be unknown to this
    /// client. Must not block.
    pub fn on_elicitation_complete(self, handler: impl Fn(ElicitationComplete) + Send + Sync + 'static) -> Self {
        self.on_received(method::ELICITATION_COMPLETE, handler)
    }

    /// Called with the task states that servers report: unprompted (2025-11-25), or for tasks that
    /// are followed or subscribed to. Must not block.
    pub fn on_task_status(self, handler: impl Fn(TaskOfServer) + Send + Sync + 'static) -> Self {
        self.on_received(method::TASKS_STATUS, handler)
    }

    fn on_received<T: DeserializeOwned + Described + 'static>(
        self,
        wanted: &'static str,
        handler: impl Fn(T) + Send + Sync + 'static,
    ) -> Self {
        self.on_notification(move |method, params| {
            if method != wanted {
                return;
            }
            match params.map_or_else(|| Err("it has no params".to_owned()), readable) {
                Ok(received) => handler(received),
                Err(error) => {
                    tracing::warn!(target: "trunkline::client::handlers", method, error, "ignored an invalid notification from the server");
                }
            }
        })
    }

    fn on_change(self, wanted: &'static str, handler: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_notification(move |method, _| {
            if method == wanted {
                handler();
            }
        })
    }

    fn on_notification(mut self, handler: impl Fn(&str, Option<&RawJson>) + Send + Sync + 'static) -> Self {
        self.notified.push(Arc::new(handler));
        self
    }

    /// Handles the requests of one operation of [`HOST`](crate::protocol::operation::HOST), by
    /// name.
    #[doc(hidden)]
    pub fn answer(mut self, operation: &'static str, handler: RequestHandler) -> Self {
        self.answering.insert(operation, handler);
        self
    }

    /// Forwards requests of servers. Declares no capabilities.
    #[doc(hidden)]
    pub fn pass_on(self, handler: PassingHandler) -> Self {
        Self { passing: Some(handler), ..self }
    }

    /// The handlers for a server of a group, whose own client receives all notifications.
    #[doc(hidden)]
    pub fn of_member(self) -> Self {
        Self { notified: Vec::new(), ..self }
    }

    /// These handlers, falling back to others for requests they do not handle.
    pub(in crate::client) fn or(mut self, others: &Self) -> Self {
        for (operation, handler) in &others.answering {
            self.answering.entry(operation).or_insert_with(|| Arc::clone(handler));
        }
        self
    }

    /// The handler of a request.
    pub(in crate::client) fn handler_of(&self, method: &str, params: &Value) -> Option<RequestHandler> {
        HostOperation::answering(method, params).iter().find_map(|name| self.answering.get(name)).cloned()
    }

    /// Passes a notification to its handlers.
    pub(in crate::client) fn notify(&self, method: &str, params: Option<&RawJson>) {
        for handler in &self.notified {
            handler(method, params);
        }
    }

    /// The given capabilities plus those of the handlers, of roots and of tasks (2025-11-25).
    pub(in crate::client) fn capabilities(
        &self,
        given: &ClientCapabilities,
        has_roots: bool,
        takes_tasks: bool,
    ) -> Value {
        let mut capabilities = serde_json::to_value(given).unwrap_or_default();
        for host in self.answering.keys().filter_map(|name| HostOperation::named(name)) {
            declare(&mut capabilities, host.capability);
            if takes_tasks {
                declare_tasks(&mut capabilities, host.operation.method);
            }
        }
        if has_roots {
            declare(&mut capabilities, &["roots"]);
            capabilities["roots"]["listChanged"] = json!(true);
        }
        capabilities
    }
}

impl fmt::Debug for ClientHandlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.answering.keys().collect();
        f.debug_struct("ClientHandlers").field("answering", &names).finish_non_exhaustive()
    }
}

/// The member that names the server within its group, in parameters for a host in another language.
/// Not part of any revision.
const SERVER_NAME: &str = "serverName";

impl ServerRequest<RawJson> {
    /// The parameters, with the server's name within its group. Only this side sets the name; one
    /// sent by a server is removed.
    #[doc(hidden)]
    pub fn into_named_params(self) -> RawJson {
        let Self { params, server_name, .. } = self;
        // Always parsed: the name of a member may contain escapes.
        let Ok(mut members) = params.parse::<IndexMap<String, Box<RawValue>>>() else { return params };
        members.shift_remove(SERVER_NAME);
        if let Some(Ok(name)) = server_name.map(|name| to_raw_value(&name)) {
            members.insert(SERVER_NAME.to_owned(), name);
        }
        RawJson::from_value(&members).unwrap_or(params)
    }
}

impl<P> Deref for ServerRequest<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.params
    }
}

fn declare(capabilities: &mut Value, path: &[&str]) {
    let mut at = capabilities;
    for name in path {
        at = &mut at[*name];
        if !at.is_object() {
            *at = json!({});
        }
    }
}

/// Declares that requests of this method may be tasks (TSK-01).
fn declare_tasks(capabilities: &mut Value, method: &str) {
    let (group, name) = method.split_once('/').unwrap_or((method, ""));
    declare(capabilities, &["tasks", "requests", group, name]);
    declare(capabilities, &["tasks", "list"]);
    declare(capabilities, &["tasks", "cancel"]);
}

fn typed<P, T, F, R, E>(handler: F) -> RequestHandler
where
    P: DeserializeOwned + Described,
    T: Serialize,
    F: Fn(ServerRequest<P>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<T, E>> + Send + 'static,
    E: Into<HandlerError>,
{
    Arc::new(move |request: ServerRequest<RawJson>| {
        let ServerRequest { params, server, server_name, operation } = request;
        let answer = readable(&params).map(|params| handler(ServerRequest { params, server, server_name, operation }));
        Box::pin(async move {
            let answer = answer.map_err(|problem| RpcError::invalid_params(format!("params.{problem}")))?;
            let result = answer.await.map_err(|error| error.into().into_rpc())?;
            RawJson::from_value(&result).map_err(|error| {
                tracing::error!(target: "trunkline::client::handlers", %error, "could not serialize a handler's response");
                RpcError::internal()
            })
        })
    })
}

/// Why a handler failed. Every error type converts into it with `?`; the server then gets a generic
/// message, and the error with its causes is logged.
///
/// ```
/// use trunkline::{
///     Client,
///     client::{ElicitRequest, HandlerError},
///     protocol::model::ElicitResult,
/// };
///
/// async fn ask(_: ElicitRequest) -> Result<ElicitResult, HandlerError> {
///     let name = std::fs::read_to_string("name.txt")?;
///     Ok(ElicitResult::accept([("name".to_owned(), name.into())].into_iter().collect()))
/// }
///
/// let client = Client::builder().on_elicit(ask);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct HandlerError(RpcError);

impl HandlerError {
    /// The user declined.
    pub fn rejected(text: impl Into<String>) -> Self {
        Self(RpcError::new(-1, text))
    }

    /// A JSON-RPC error, sent unchanged.
    pub fn new(error: RpcError) -> Self {
        Self(error)
    }

    pub(in crate::client) fn into_rpc(self) -> RpcError {
        self.0
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<E: Error> From<E> for HandlerError {
    fn from(error: E) -> Self {
        let text = with_causes(&error);
        tracing::error!(target: "trunkline::client::handlers", error = text, "a handler of the client failed");
        Self(RpcError::internal())
    }
}

#[expect(deprecated, reason = "older revisions have it")]
#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn declared(handlers: &ClientHandlers) -> Value {
        handlers.capabilities(&ClientCapabilities::default(), false, false)
    }

    #[test]
    fn eli_22_only_this_side_names_the_server_of_a_group() {
        let request = |params: Value, name: Option<&str>| {
            let params = RawJson::from_value(&params).unwrap();
            let request = ServerRequest { params, server: None, server_name: name.map(str::to_owned), operation: None };
            request.into_named_params().parse::<Value>().unwrap()
        };
        let claimed = json!({"message": "m", "serverName": "bank"});
        assert_eq!(request(claimed.clone(), None), json!({"message": "m"}));
        assert_eq!(request(claimed, Some("shop")), json!({"message": "m", "serverName": "shop"}));
        assert_eq!(request(json!({}), None), json!({}));
        let escaped =
            RawJson::from_text(Bytes::from_static(br#"{"message": "m", "\u0073erverName": "bank"}"#)).unwrap();
        let escaped = ServerRequest { params: escaped, server: None, server_name: None, operation: None };
        assert_eq!(escaped.into_named_params().parse::<Value>().unwrap(), json!({"message": "m"}));
    }

    #[test]
    fn eli_03_smp_03_capabilities_follow_from_handlers() {
        let none = ClientHandlers::default();
        assert_eq!(declared(&none), json!({}));
        let form = none.clone().on_elicit(async |_| Ok::<_, HandlerError>(ElicitResult::cancel()));
        assert_eq!(declared(&form), json!({"elicitation": {"form": {}}}));
        let both = form.on_elicit_url(async |_| Ok::<_, HandlerError>(ElicitResult::cancel()));
        assert_eq!(declared(&both), json!({"elicitation": {"form": {}, "url": {}}}));
        let plain = none.clone().on_sample(async |_| Ok::<_, HandlerError>(CreateMessageResult::default()));
        assert_eq!(declared(&plain), json!({"sampling": {}}));
        let tools = none.clone().on_sample_with_tools(async |_| Ok::<_, HandlerError>(CreateMessageResult::default()));
        assert_eq!(declared(&tools), json!({"sampling": {"tools": {}}}));
        let roots = none.capabilities(&ClientCapabilities::default(), true, true);
        assert_eq!(roots, json!({"roots": {"listChanged": true}}));
    }

    #[test]
    fn tsk_01_what_handlers_answer_may_be_tasks() {
        let form = ClientHandlers::default().on_elicit(async |_| Ok::<_, HandlerError>(ElicitResult::cancel()));
        let both = form.on_sample(async |_| Ok::<_, HandlerError>(CreateMessageResult::default()));
        let declared = both.capabilities(&ClientCapabilities::default(), false, true);
        let requests = json!({"elicitation": {"create": {}}, "sampling": {"createMessage": {}}});
        assert_eq!(declared["tasks"], json!({"list": {}, "cancel": {}, "requests": requests}));
    }
}
