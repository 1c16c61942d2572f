//! Requests for input instead of a result (2026-07-28), and the answers to them.

use crate::protocol::{
    RawJson,
    describe::{Described, Type},
};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{
    json,
    value::{RawValue, to_raw_value},
};
use std::collections::BTreeMap;

/// The input that a server needs before it has a result. Turn it into the next round with
/// [`InputRequired::answer`].
///
/// ```
/// use serde_json::json;
/// use trunkline::{
///     Client, ClientError, RequestOptions,
///     protocol::{RawJson, model::CallToolResult},
/// };
///
/// # async fn greet(client: &Client) -> Result<CallToolResult, Box<dyn std::error::Error>> {
/// let mut options = RequestOptions::default().with_manual_input(true);
/// loop {
///     match client.call_tool_with("greet", json!({}), &options).await {
///         Err(ClientError::InputRequired(required)) => {
///             let name = RawJson::from_value(&json!({"action": "accept", "content": {"name": "Ann"}}))?;
///             let keys: Vec<String> = required.requests().map(|(key, _)| key.to_owned()).collect();
///             let answers = required.answer(keys.into_iter().map(|key| (key, name.clone())));
///             options = options.with_input_responses(answers);
///         }
///         result => return Ok(result?),
///     }
/// }
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InputRequired {
    pub(in crate::client) requests: IndexMap<String, InputRequest>,
    /// The server's state, a JSON string that only the server can read.
    pub(in crate::client) state: Option<RawJson>,
}

/// One request for input.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InputRequest {
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// The parameters; an empty object if there are none.
    pub params: RawJson,
}

trunkline_proto::options! {
    /// The answers of one round, for
    /// [`RequestOptions::with_input_responses`](super::RequestOptions::with_input_responses).
    #[derive(Debug, Clone, PartialEq)]
    pub struct InputResponses {
        /// The answers to the requests of the previous round, by key: results of
        /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
        @into input_responses: Option<BTreeMap<String, RawJson>> => "inputResponses" = None,
        /// The server's state, exactly as received with the requests.
        @some(EchoedState) request_state: Option<EchoedState> => "requestState" = None,
    }
}

/// A server's state (`requestState`), which is sent back exactly as received.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct EchoedState(RawJson);

impl From<&str> for EchoedState {
    fn from(state: &str) -> Self {
        Self(RawJson::trusted(json!(state).to_string().into()))
    }
}

impl From<String> for EchoedState {
    fn from(state: String) -> Self {
        Self::from(&*state)
    }
}

impl Described for EchoedState {
    const TYPE: Type = Type::String;
}

impl InputRequired {
    /// The server's state, for a caller that answers later or elsewhere
    /// ([`InputResponses::with_request_state`]).
    pub fn request_state(&self) -> Option<String> {
        self.state.as_ref()?.parse().ok()
    }

    /// The requests by key, in the server's order. If there are none, repeat the call unchanged.
    pub fn requests(&self) -> impl ExactSizeIterator<Item = (&str, &InputRequest)> {
        self.requests.iter().map(|(key, request)| (key.as_str(), request))
    }

    /// The answers by key, with the server's state.
    pub fn answer<K: Into<String>>(self, responses: impl IntoIterator<Item = (K, RawJson)>) -> InputResponses {
        InputResponses { request_state: self.state.map(EchoedState), ..responses.into_iter().collect() }
    }
}

/// Answers by key, without a server state: those for a task.
impl<K: Into<String>> FromIterator<(K, RawJson)> for InputResponses {
    fn from_iter<I: IntoIterator<Item = (K, RawJson)>>(responses: I) -> Self {
        let responses = responses.into_iter().map(|(key, response)| (key.into(), response)).collect();
        Self { input_responses: Some(responses), request_state: None }
    }
}

impl InputResponses {
    /// Returns whether there are answers (even an empty set) or a state.
    pub(in crate::client) fn are_given(&self) -> bool {
        self.input_responses.is_some() || self.request_state.is_some()
    }

    /// The parameters of the next round: the original ones, with the answers and the unchanged
    /// state (MRTR-15, MRTR-17).
    pub(in crate::client) fn with_params(&self, params: Option<&RawJson>) -> Result<RawJson, serde_json::Error> {
        let mut members: IndexMap<String, &RawValue> = params.map_or(Ok(IndexMap::new()), RawJson::parse)?;
        // Members of these names among the program's parameters are those of an earlier round.
        members.retain(|name, _| !matches!(&**name, "inputResponses" | "requestState"));
        let responses = self.input_responses.as_ref().filter(|responses| !responses.is_empty());
        let responses = responses.map(to_raw_value).transpose()?;
        if let Some(responses) = &responses {
            members.insert("inputResponses".to_owned(), responses);
        }
        if let Some(state) = &self.request_state {
            members.insert("requestState".to_owned(), state.0.parse()?);
        }
        RawJson::from_value(&members)
    }
}
