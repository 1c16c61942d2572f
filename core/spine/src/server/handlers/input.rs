//! Requests for input: elicitation, sampling and roots.

use super::client_request::ClientRequestError;
use crate::{
    engine::RequestInfo,
    protocol::{
        Era, RawJson, RpcError,
        input::{self, AnswerError, InputError},
        method,
        model::{CreateMessageParams, ElicitParams},
    },
    random::unguessable,
};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A request for input: its method and parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct InputRequest {
    pub(in crate::server) kind: InputKind,
    pub(in crate::server) params: Value,
}

/// Input that a handler needs from its client. Return it as an error, with `?` or `into()`. The
/// handler is called again with [`crate::server::Context::input_responses`] and
/// [`crate::server::Context::state`].
///
/// For straight-line code, use [`crate::server::Context::elicit`] and similar functions instead.
///
/// ```
/// use trunkline::{
///     CallError, Context,
///     protocol::model::{ElicitParams, Field, FormSchema},
///     server::{InputRequest, InputRequired},
/// };
///
/// async fn greet(ctx: Context) -> Result<String, CallError> {
///     let Some(answer) = ctx.input_responses().remove("name") else {
///         let form = FormSchema::new().required("name", Field::text());
///         let request = InputRequest::elicit(&ElicitParams::form("What is your name?", form));
///         return Err(InputRequired::new().ask("name", request).into());
///     };
///     Ok(format!("Hello {}", answer["content"]["name"]))
/// }
/// ```
#[derive(Debug, Clone, Default, PartialEq, thiserror::Error)]
#[error("The handler needs input of its client; this is not a failure")]
#[must_use = "a handler ends with it"]
pub struct InputRequired {
    /// In the order of the handler, for clients that ask their user one request at a time.
    pub(in crate::server) requests: IndexMap<String, InputRequest>,
    pub(in crate::server) state: Option<Value>,
}

impl InputRequired {
    /// Creates an empty set of requests.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a request under a key of your choice.
    pub fn ask(mut self, key: impl Into<String>, request: InputRequest) -> Self {
        self.requests.insert(key.into(), request);
        self
    }

    /// Sets a state for the next call of the handler. It travels sealed.
    pub fn with_state(mut self, state: impl Into<Value>) -> Self {
        self.state = Some(state.into());
        self
    }
}

/// The kinds of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::server) enum InputKind {
    Elicitation,
    Sampling,
    Roots,
}

/// The client's answer to a request for input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::server) enum Answer {
    #[serde(rename = "g")]
    Given(Value),
    /// Does not match its request; contains where it differs (ELI-11).
    #[serde(rename = "u")]
    Unfit(String),
    /// Refusals exist only in the legacy era; a modern client simply never sends the next round.
    #[serde(rename = "r")]
    Refused(RpcError),
}

impl InputRequest {
    /// Creates a request of the method `elicitation/create`, `sampling/createMessage` or
    /// `roots/list`. The schema of a form may have what schema libraries generate for flat types:
    /// references to choices, and fields that may be null, which become optional.
    ///
    /// # Errors
    /// For any other method, or if the parameters are not an object.
    pub fn new(method: &str, params: Value) -> Result<Self, RpcError> {
        let kind = InputKind::of(method).ok_or_else(|| {
            RpcError::invalid_params(format!(
                "{method} is not a request for input: use elicitation/create, sampling/createMessage or roots/list"
            ))
        })?;
        let mut params = if params.is_null() { json!({}) } else { params };
        if !params.is_object() {
            return Err(RpcError::invalid_params(format!("The params of {method} must be an object")));
        }
        if kind == InputKind::Elicitation
            && let Some(schema) = params.get_mut(SCHEMA)
        {
            *schema = input::flattened_form(schema.take());
        }
        Ok(Self { kind, params })
    }

    /// Asks the user, with a form or a page to visit.
    pub fn elicit(params: &ElicitParams) -> Self {
        Self { kind: InputKind::Elicitation, params: serde_json::to_value(params).unwrap_or_default() }
    }

    /// Asks the client's model.
    #[deprecated(note = "in protocol revision 2026-07-28; call the API of a model provider instead")]
    pub fn sample(params: &CreateMessageParams) -> Self {
        Self { kind: InputKind::Sampling, params: serde_json::to_value(params).unwrap_or_default() }
    }

    /// Asks for the client's roots.
    #[deprecated(note = "in protocol revision 2026-07-28; use tool arguments, resource URIs or configuration instead")]
    pub fn roots() -> Self {
        Self { kind: InputKind::Roots, params: json!({}) }
    }

    pub(in crate::server) fn to_json(&self) -> Value {
        match self.kind {
            InputKind::Roots => json!({"method": self.kind.method()}),
            _ => json!({"method": self.kind.method(), "params": self.params}),
        }
    }

    /// The part that is needed to check the answer.
    pub(in crate::server) fn sealed(&self) -> SealedInputRequest {
        SealedInputRequest { kind: self.kind, schema: self.params.get(SCHEMA).cloned() }
    }

    /// Reads an answer. [`ClientRequestError::Suspended`] means that it belongs to another request,
    /// so this one is still open (MRTR-10).
    pub(in crate::server) fn read(&self, answer: Answer) -> Result<Value, ClientRequestError> {
        match answer {
            Answer::Refused(error) => Err(ClientRequestError::Refused(error)),
            Answer::Unfit(problem) => Err(ClientRequestError::Invalid(problem)),
            Answer::Given(value) => match self.check_answer(&value) {
                Ok(()) => Ok(value),
                Err(AnswerError::Mismatch(problem)) => Err(ClientRequestError::Invalid(problem.to_string())),
                Err(AnswerError::Malformed(_)) => Err(ClientRequestError::Suspended),
            },
        }
    }

    /// Checks whether a client's answer is usable.
    fn check_answer(&self, answer: &Value) -> Result<(), AnswerError> {
        input::check_answer(self.kind.method(), &self.params, answer)
    }
}

/// The parameter of an elicitation that the answer must match.
const SCHEMA: &str = "requestedSchema";

/// The request that an answer is checked against. It travels sealed, so that the client cannot
/// change it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::server) struct SealedInputRequest {
    #[serde(rename = "k")]
    kind: InputKind,
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
}

impl SealedInputRequest {
    /// The client's answer. `None` if it belongs to another request, so this one is still open
    /// (MRTR-10).
    pub(in crate::server) fn answer(&self, response: Value) -> Option<Answer> {
        let params = self.schema.as_ref().map_or_else(|| json!({}), |schema| json!({SCHEMA: schema}));
        match input::check_answer(self.kind.method(), &params, &response) {
            Ok(()) => Some(Answer::Given(response)),
            Err(AnswerError::Mismatch(problem)) => Some(Answer::Unfit(problem.to_string())),
            Err(AnswerError::Malformed(_)) => None,
        }
    }
}

impl InputKind {
    pub(in crate::server) fn of(method: &str) -> Option<Self> {
        [Self::Elicitation, Self::Sampling, Self::Roots].into_iter().find(|kind| kind.method() == method)
    }

    pub(in crate::server) fn method(self) -> &'static str {
        match self {
            Self::Elicitation => method::ELICITATION_CREATE,
            Self::Sampling => method::SAMPLING_CREATE_MESSAGE,
            Self::Roots => method::ROOTS_LIST,
        }
    }

    /// The name of the client's capability, which its method begins with. Also used in keys.
    pub(in crate::server) fn word(self) -> &'static str {
        self.method().split('/').next().unwrap_or_default()
    }
}

/// Projects the request to the client's revision, if the client declared the capability (MRTR-04,
/// DISC-14).
pub(in crate::server) fn check(mut request: InputRequest, info: &RequestInfo) -> Result<InputRequest, RpcError> {
    let declared: Value = info.client_capabilities.parse().unwrap_or_default();
    let method = request.kind.method();
    let mut without_id = false;
    let new_id = || {
        unguessable().unwrap_or_else(|| {
            without_id = true;
            String::new()
        })
    };
    match input::prepare(method, &mut request.params, &declared, info.revision, new_id) {
        Ok(()) if without_id => Err(RpcError::internal()),
        Ok(()) => Ok(request),
        Err(InputError::Invalid(problem)) => Err(RpcError::invalid_params(format!("{method}: {problem}"))),
        Err(InputError::Unsupported(unsupported)) => {
            Err(RpcError { message: unsupported.why, ..lacking(info, unsupported.required) })
        }
    }
}

/// Combines two errors. Missing capabilities are reported together (DISC-15); any other error is
/// reported alone.
pub(in crate::server) fn both(earlier: Option<RpcError>, later: RpcError) -> RpcError {
    fn merge(into: &mut Value, from: &Value) {
        match (into.as_object_mut(), from.as_object()) {
            (Some(into), Some(from)) => {
                from.iter().for_each(|(name, member)| merge(into.entry(name).or_insert_with(|| json!({})), member));
            }
            _ => *into = from.clone(),
        }
    }
    let Some(mut earlier) = earlier else { return later };
    match (&mut earlier.data, &later.data) {
        (Some(into), Some(from)) if earlier.code == later.code => merge(into, from),
        _ => {}
    }
    earlier
}

/// DISC-15; the legacy era has no dedicated error code.
pub(in crate::server) fn lacking(info: &RequestInfo, needed: Value) -> RpcError {
    if info.revision.era() == Era::Modern {
        return RpcError::missing_client_capability(needed);
    }
    let names: Vec<_> = needed.as_object().into_iter().flat_map(|members| members.keys().cloned()).collect();
    RpcError::invalid_request(format!(
        "The client did not declare the capability for {}, or not enough of it, or its revision {} does not support the request",
        names.join(", "),
        info.revision
    ))
}

/// The answer as a value, if it is usable.
pub(in crate::server) fn read_answer(
    request: &InputRequest,
    answer: Result<RawJson, ClientRequestError>,
) -> Result<Value, ClientRequestError> {
    let value: Value = answer?.parse().map_err(|_| ClientRequestError::Invalid("it is malformed".into()))?;
    match request.check_answer(&value) {
        Ok(()) => Ok(value),
        Err(AnswerError::Malformed(_)) => {
            Err(ClientRequestError::Invalid(format!("it is not a result of {}", request.kind.method())))
        }
        Err(AnswerError::Mismatch(problem)) => Err(ClientRequestError::Invalid(problem.to_string())),
    }
}
