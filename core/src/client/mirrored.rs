//! Parameters of tools that HTTP headers repeat (H26-23, H26-30..39), seen from the client.

use super::{Client, ClientError, Flight, InFlight, Inner, RequestOptions, reply::ReplyTo};
use crate::{
    protocol::{
        RawJson,
        error::code,
        method,
        schema::{HeaderParameter, header_parameters},
    },
    sync::Mutex,
};
use memchr::memmem;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Weak},
};

/// The mirrored parameters of tools, from the most recent lists (H26-39).
#[derive(Default)]
pub(super) struct MirroredTools {
    by_name: Mutex<HashMap<String, Vec<HeaderParameter>>>,
}

const ANNOTATION: &[u8] = b"x-mcp-header";

impl MirroredTools {
    /// Reads a list of tools. One whose annotation breaks the rules is left out of it (H26-30, H26-31).
    pub(super) fn read_list(&self, result: RawJson) -> RawJson {
        // Most lists have no annotation, and need no reading.
        if memmem::find(result.as_bytes(), ANNOTATION).is_none() && self.by_name.lock().is_empty() {
            return result;
        }
        let Ok(mut list) = result.parse::<Value>() else { return result };
        let Some(tools) = list.get_mut("tools").and_then(Value::as_array_mut) else { return result };
        let before = tools.len();
        let mut by_name = self.by_name.lock();
        tools.retain(|tool| {
            let name = tool["name"].as_str().unwrap_or_default();
            match header_parameters(&tool["inputSchema"]) {
                Ok(parameters) if parameters.is_empty() => drop(by_name.remove(name)),
                Ok(parameters) => drop(by_name.insert(name.to_owned(), parameters)),
                Err(problem) => {
                    tracing::warn!(target: "trunkline", "the tool {name:?} is left out: its x-mcp-header at {problem}");
                    by_name.remove(name);
                    return false;
                }
            }
            true
        });
        if tools.len() == before {
            return result;
        }
        RawJson::from_value(&list).unwrap_or(result)
    }

    /// The headers that repeat parameters of a call: name and value, not encoded yet.
    pub(super) fn of_call(&self, params: Option<&RawJson>) -> Result<Vec<(String, String)>, ClientError> {
        #[derive(Deserialize)]
        struct CallParams<'a> {
            #[serde(borrow)]
            name: Cow<'a, str>,
            #[serde(borrow)]
            arguments: Option<&'a RawValue>,
        }
        let by_name = self.by_name.lock();
        if by_name.is_empty() {
            return Ok(Vec::new());
        }
        let Some(call) = params.and_then(|params| params.parse::<CallParams<'_>>().ok()) else { return Ok(Vec::new()) };
        let Some(parameters) = by_name.get(&*call.name) else { return Ok(Vec::new()) };
        let arguments: Value =
            call.arguments.map_or(Ok(Value::Null), |raw| serde_json::from_str(raw.get())).unwrap_or_default();
        let mut headers = Vec::with_capacity(parameters.len());
        for parameter in parameters {
            match parameter.text(&arguments) {
                Ok(Some(text)) => headers.push((parameter.name.clone(), text)),
                Ok(None) => {}
                Err(problem) => return Err(ClientError::Invalid(format!("The arguments of {}: {problem}", call.name))),
            }
        }
        Ok(headers)
    }
}

/// Gets the answer of a call first: if the server missed a header, the list of tools is fetched anew and the call made once
/// more (H26-38).
pub(super) struct Recall {
    pub(super) client: Weak<Inner>,
    pub(super) params: Option<RawJson>,
    pub(super) options: RequestOptions,
    pub(super) with_progress: bool,
    pub(super) reply: Arc<dyn ReplyTo>,
    pub(super) flight: InFlight,
}

impl ReplyTo for Recall {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        let mismatch = matches!(&outcome, Err(ClientError::Protocol(error)) if error.code == code::HEADER_MISMATCH);
        match self.client.upgrade() {
            Some(inner) if mismatch => {
                let client = Client { inner };
                let again = Self {
                    client: self.client.clone(),
                    params: self.params.clone(),
                    options: self.options.clone(),
                    with_progress: self.with_progress,
                    reply: Arc::clone(&self.reply),
                    flight: self.flight.clone(),
                };
                let runtime = Arc::clone(&client.inner.runtime);
                runtime.spawn(Box::pin(async move { again.call(&client, outcome).await }));
            }
            _ => self.reply.answered(outcome),
        }
    }

    fn progress(&self, params: RawJson) {
        self.reply.progress(params);
    }
}

impl Recall {
    async fn call(self, client: &Client, refused: Result<RawJson, ClientError>) {
        if client.list_all(method::TOOLS_LIST, None, &RequestOptions::default()).await.is_err() {
            return self.reply.answered(refused);
        }
        let started = {
            let mut flight = self.flight.0.lock();
            if matches!(*flight, Flight::Cancelled) {
                Err(ClientError::Cancelled)
            } else {
                let (params, options) = (self.params.as_ref(), &self.options);
                let reply = Arc::clone(&self.reply);
                let sent = client.start_once(method::TOOLS_CALL, params, options, self.with_progress, reply);
                sent.map(|id| *flight = Flight::Sent(id))
            }
        };
        if let Err(error) = started {
            self.reply.answered(Err(error));
        }
    }
}
