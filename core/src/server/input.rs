//! What a server may ask a client for while it serves a request: elicitation, sampling and roots.

use super::{asking::AskError, capabilities::covers};
use crate::{
    engine::Scope,
    protocol::{
        Era, RawJson, RpcError, method,
        model::{CreateMessageParams, ElicitParams},
        project,
        schema::Schema,
    },
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A request for input: its method and parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct InputRequest {
    pub(super) kind: InputKind,
    pub(super) params: Value,
}

/// Input that a handler needs of its client first: returned as an error, by `?` or by `into()`. The handler is called again with
/// [`super::Context::input_responses`] and [`super::Context::state`].
///
/// Handlers that would rather write one line after the other use [`super::Context::elicit`] and its like instead.
#[derive(Debug, Clone, Default, PartialEq, thiserror::Error)]
#[error("The handler needs input of its client; this is no failure")]
pub struct InputRequired {
    pub(super) requests: BTreeMap<String, InputRequest>,
    pub(super) state: Option<Value>,
}

impl InputRequired {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with one more request, under a key of your choice.
    pub fn ask(mut self, key: impl Into<String>, request: InputRequest) -> Self {
        self.requests.insert(key.into(), request);
        self
    }

    /// The same with something to know when the handler is called again. It travels sealed.
    pub fn with_state(mut self, state: impl Into<Value>) -> Self {
        self.state = Some(state.into());
        self
    }
}

/// The kinds of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputKind {
    Elicitation,
    Sampling,
    Roots,
}

/// A request that this client cannot be asked.
pub(super) struct Refused {
    pub(super) error: RpcError,
}

impl InputRequest {
    /// A request of a method: `elicitation/create`, `sampling/createMessage` or `roots/list`.
    ///
    /// # Errors
    /// For any other method, and for parameters that are no object.
    pub fn new(method: &str, params: Value) -> Result<Self, RpcError> {
        let kind = InputKind::of(method).ok_or_else(|| {
            RpcError::invalid_params(format!(
                "{method} is no request for input: there are elicitation/create, sampling/createMessage and roots/list"
            ))
        })?;
        let params = if params.is_null() { json!({}) } else { params };
        if !params.is_object() {
            return Err(RpcError::invalid_params(format!("The params of {method} must be an object")));
        }
        Ok(Self { kind, params })
    }

    /// Asks the user, by a form or by a page to visit.
    pub fn elicit(params: &ElicitParams) -> Self {
        Self { kind: InputKind::Elicitation, params: serde_json::to_value(params).unwrap_or_default() }
    }

    /// Asks the client's model.
    pub fn sample(params: &CreateMessageParams) -> Self {
        Self { kind: InputKind::Sampling, params: serde_json::to_value(params).unwrap_or_default() }
    }

    /// Asks for the client's roots.
    pub fn roots() -> Self {
        Self { kind: InputKind::Roots, params: json!({}) }
    }

    pub(super) fn to_json(&self) -> Value {
        match self.kind {
            InputKind::Roots => json!({"method": self.kind.method()}),
            _ => json!({"method": self.kind.method(), "params": self.params}),
        }
    }

    /// Whether a client's answer can be used: `Err` says why not.
    pub(super) fn check_answer(&self, answer: &Value) -> Result<(), Unusable> {
        let shape = |fits: bool| if fits { Ok(()) } else { Err(Unusable::Shape) };
        match self.kind {
            InputKind::Roots => shape(answer["roots"].is_array()),
            InputKind::Sampling => {
                shape(answer["role"].is_string() && answer["model"].is_string() && !answer["content"].is_null())
            }
            InputKind::Elicitation => match answer["action"].as_str() {
                Some("accept") => match self.params.get("requestedSchema") {
                    Some(schema) => {
                        let empty = json!({});
                        let content = answer.get("content").unwrap_or(&empty);
                        check_content(schema, content).map_err(Unusable::Content)
                    }
                    None => Ok(()),
                },
                Some("decline" | "cancel") => Ok(()),
                _ => Err(Unusable::Shape),
            },
        }
    }
}

/// Why an answer is no use.
pub(super) enum Unusable {
    /// It answers something else.
    Shape,
    /// What was filled in is not what the schema says (ELI-11).
    Content(String),
}

impl InputKind {
    pub(super) fn of(method: &str) -> Option<Self> {
        [Self::Elicitation, Self::Sampling, Self::Roots].into_iter().find(|kind| kind.method() == method)
    }

    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Elicitation => method::ELICITATION_CREATE,
            Self::Sampling => method::SAMPLING_CREATE_MESSAGE,
            Self::Roots => method::ROOTS_LIST,
        }
    }

    /// The client's capability, and the word in keys.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
        }
    }
}

/// The request in the words of the client's revision, if the client declared what it needs (MRTR-04, DISC-14).
pub(super) fn check(mut request: InputRequest, scope: &Scope) -> Result<InputRequest, Refused> {
    let wrong = |text: String| Refused { error: RpcError::invalid_params(text) };
    if request.kind == InputKind::Elicitation {
        check_question(&request.params).map_err(|problem| wrong(format!("elicitation/create: {problem}")))?;
    }
    let needed = needs(&request);
    let declared: Value = scope.client_capabilities.parse().unwrap_or_default();
    let lacks = |needed: Value| Refused { error: lacking(scope, needed) };
    if !declares(&declared, &needed) {
        return Err(lacks(needed));
    }
    let projected = match request.kind {
        InputKind::Elicitation => project::project_elicit_params(&mut request.params, scope.revision, new_id),
        InputKind::Sampling => project::project_sampling_params(&mut request.params, scope.revision),
        InputKind::Roots => Ok(()),
    };
    match projected {
        Ok(()) => Ok(request),
        Err(unsupported) => {
            let mut refused = lacks(unsupported.required);
            refused.error.message = unsupported.why;
            Err(refused)
        }
    }
}

/// An elicitation's id: nobody can guess it (ELI-28).
fn new_id() -> String {
    let mut bytes = [0; 16];
    // Without randomness there is no TLS either.
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The client capabilities that a request needs.
fn needs(request: &InputRequest) -> Value {
    match request.kind {
        InputKind::Roots => json!({"roots": {}}),
        InputKind::Elicitation if request.params["mode"] == "url" => json!({"elicitation": {"url": {}}}),
        InputKind::Elicitation => json!({"elicitation": {"form": {}}}),
        InputKind::Sampling => {
            let mut sampling = json!({});
            if request.params.get("tools").is_some() || request.params.get("toolChoice").is_some() {
                sampling["tools"] = json!({});
            }
            json!({"sampling": sampling})
        }
    }
}

/// An elicitation capability without modes means forms (ELI-03).
fn declares(declared: &Value, needed: &Value) -> bool {
    let forms = needed["elicitation"].get("form").is_some()
        && declared["elicitation"]
            .as_object()
            .is_some_and(|modes| modes.get("url").is_none() || modes.contains_key("form"));
    forms || covers(declared, needed)
}

/// DISC-15; in the handshake era there is no code of its own for it.
pub(super) fn lacking(scope: &Scope, needed: Value) -> RpcError {
    if scope.revision.era() == Era::Modern {
        return RpcError::missing_client_capability(needed);
    }
    let names: Vec<_> = needed.as_object().into_iter().flat_map(|members| members.keys().cloned()).collect();
    RpcError::invalid_request(format!(
        "The client declared no capability, or not enough of it, for {}, or its revision {} cannot express the request",
        names.join(", "),
        scope.revision
    ))
}

/// The answer as a value, if it can be used.
pub(super) fn read_answer(request: &InputRequest, answer: Result<RawJson, AskError>) -> Result<Value, AskError> {
    let value: Value = answer?.parse().map_err(|_| AskError::Invalid("it cannot be read".into()))?;
    match request.check_answer(&value) {
        Ok(()) => Ok(value),
        Err(Unusable::Shape) => Err(AskError::Invalid(format!("it is no result of {}", request.kind.method()))),
        Err(Unusable::Content(problem)) => Err(AskError::Invalid(problem)),
    }
}

/// ELI-07
fn check_question(params: &Value) -> Result<(), &'static str> {
    match (params["mode"].as_str().unwrap_or("form"), params) {
        (_, params) if !params["message"].is_string() => Err("params.message must be a text"),
        ("form", params) if !params["requestedSchema"].is_object() => Err("params.requestedSchema must be an object"),
        ("url", params) if !params["url"].is_string() => Err("params.url must be a URL"),
        ("form" | "url", _) => Ok(()),
        _ => Err("params.mode must be form or url"),
    }
}

fn check_content(schema: &Value, content: &Value) -> Result<(), String> {
    let schema = Schema::compile(schema).map_err(|error| error.to_string())?;
    schema.validate(content).map_err(|problem| problem.to_string())
}
