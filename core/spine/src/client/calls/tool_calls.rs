//! Client calls for tools.

use crate::{
    client::{Client, ClientError, RequestOptions, reading::read_result::read, report_progress},
    protocol::{RawJson, method, model::CallToolResult},
};
use serde::Serialize;
use std::sync::Arc;

impl Client {
    /// Calls a tool. Its arguments are a JSON object (a struct, a map, `json!({…})`), or `()` for
    /// none. If the tool itself fails, the result has `is_error` set.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn call_tool(&self, name: &str, arguments: impl Serialize) -> Result<CallToolResult, ClientError> {
        self.call_tool_with(name, arguments, &RequestOptions::default()).await
    }

    /// Calls a tool with options.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn call_tool_with(
        &self,
        name: &str,
        arguments: impl Serialize,
        options: &RequestOptions,
    ) -> Result<CallToolResult, ClientError> {
        let params = call_params(name, &arguments)?;
        let result: CallToolResult = read(&self.request(method::TOOLS_CALL, Some(&params), options).await?)?;
        // `content` may be missing only from the response to a call that asked for a task.
        if result.content.is_empty() && result.extra.contains_key("task") {
            let text = "the server created a task for a call that did not ask for one";
            return Err(ClientError::InvalidResponse(text.to_owned()));
        }
        Ok(result)
    }
}

impl RequestOptions {
    /// Requests progress notifications and receives them: the progress, the total if known, and a
    /// message for people. Must not block.
    #[must_use]
    pub fn with_progress(mut self, hook: impl Fn(f64, Option<f64>, Option<&str>) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(move |params: &RawJson| {
            if let Err(error) = report_progress(params, &hook) {
                tracing::warn!(target: "trunkline::client::tools", error, "ignored an invalid progress notification");
            }
        }));
        self
    }
}

/// The parameters of `tools/call` and `prompts/get`.
pub(in crate::client) fn call_params(name: &str, arguments: &impl Serialize) -> Result<RawJson, ClientError> {
    #[derive(Serialize)]
    struct CallParams<'a> {
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<&'a RawJson>,
    }
    let arguments = as_json(arguments)?;
    let given = (arguments.as_bytes() != b"null").then_some(&arguments);
    as_json(&CallParams { name, arguments: given })
}

fn as_json(value: &impl Serialize) -> Result<RawJson, ClientError> {
    RawJson::from_value(value).map_err(invalid)
}

pub(super) fn invalid(error: serde_json::Error) -> ClientError {
    ClientError::Invalid(format!("The arguments cannot be serialized as JSON: {error}"))
}
