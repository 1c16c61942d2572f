//! Reads requests for input from results and tasks.

use super::odd_params::usable_params;
use crate::{
    client::{InputRequest, InputRequired},
    protocol::{RawJson, model::Task},
};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{json, value::RawValue};

/// Maximum requests per round.
const MAX_REQUESTS: usize = 64;

impl InputRequired {
    /// Parses the result of a server, which has this name in the log.
    pub(in crate::client) fn read(server: Option<&str>, result: &RawJson) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Result_<'a> {
            #[serde(borrow, default, rename = "inputRequests")]
            requests: Option<IndexMap<String, Request<'a>>>,
            #[serde(borrow, default, rename = "requestState")]
            state: Option<&'a RawValue>,
        }
        #[derive(Deserialize)]
        struct Request<'a> {
            method: String,
            #[serde(borrow, default)]
            params: Option<&'a RawValue>,
        }
        let invalid = |problem: &str| format!("input_required: {problem}");
        let read: Result_<'_> = result.read().map_err(|problem| invalid(&problem))?;
        if read.requests.is_none() && read.state.is_none() {
            return Err(invalid("neither inputRequests nor requestState is set"));
        }
        if read.state.is_some_and(|state| !state.get().starts_with('"')) {
            return Err(invalid("requestState must be a string"));
        }
        let requests = read.requests.unwrap_or_default();
        if requests.len() > MAX_REQUESTS {
            return Err(invalid(&format!("{} requests; the maximum is {MAX_REQUESTS}", requests.len())));
        }
        let slice = |raw: &RawValue| RawJson::slice_of(result.buffer(), raw);
        let request = |(key, Request { method, params }): (String, Request<'_>)| {
            let params = usable_params(server, &method, &params.map_or_else(RawJson::empty_object, slice));
            let params = params.map_err(|fault| invalid(&format!("the params of {key:?}: {fault}")))?;
            Ok((key, InputRequest { method, params }))
        };
        let requests = requests.into_iter().map(request).collect::<Result<_, String>>()?;
        Ok(Self { requests, state: read.state.map(slice) })
    }

    /// The requests of a task (TKX-32).
    pub(in crate::client) fn of_task(server: Option<&str>, task: &Task) -> Result<Self, String> {
        let requests = task.input_requests.clone().unwrap_or_default();
        Self::read(server, &RawJson::object(&json!({"inputRequests": requests})))
    }
}
