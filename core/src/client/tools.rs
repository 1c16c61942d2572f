//! Tools from the client's side.

use super::{Client, ClientError, RequestOptions};
use crate::protocol::{
    RawJson, RpcError,
    error::code,
    method,
    model::{CallToolResult, Tool},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::json;

/// One page of a server's tools.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedTools {
    /// The tools.
    pub tools: Vec<Tool>,
    /// Where the next page begins; none if this is the last.
    #[serde(default)]
    pub next_cursor: Option<String>,
}

/// A server that never ends its list is not followed for ever.
const MAX_PAGES: usize = 10_000;

impl Client {
    /// Every tool of the server, page by page (PAG-04).
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub async fn list_tools(&self) -> Result<Vec<Tool>, ClientError> {
        let mut tools = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let page = self.list_tools_page(cursor.as_deref()).await?;
            tools.extend(page.tools);
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => return Ok(tools),
            }
        }
        Err(ClientError::Protocol(RpcError::new(code::INTERNAL_ERROR, "The server's list of tools does not end")))
    }

    /// One page of the server's tools: the first, or the one that a cursor names.
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub async fn list_tools_page(&self, cursor: Option<&str>) -> Result<ListedTools, ClientError> {
        let params = cursor.map(|cursor| as_json(&json!({"cursor": cursor}))).transpose()?;
        read(&self.request(method::TOOLS_LIST, params.as_ref(), &RequestOptions::default()).await?)
    }

    /// Calls a tool. A failure of the tool itself is a result with `is_error`.
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub async fn call_tool(&self, name: &str, arguments: impl Serialize) -> Result<CallToolResult, ClientError> {
        self.call_tool_with(name, arguments, &RequestOptions::default()).await
    }

    /// Calls a tool with options.
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub async fn call_tool_with(
        &self,
        name: &str,
        arguments: impl Serialize,
        options: &RequestOptions,
    ) -> Result<CallToolResult, ClientError> {
        let params = as_json(&json!({"name": name, "arguments": serde_json::to_value(arguments).map_err(invalid)?}))?;
        read(&self.request(method::TOOLS_CALL, Some(&params), options).await?)
    }
}

fn as_json(value: &impl Serialize) -> Result<RawJson, ClientError> {
    RawJson::from_value(value).map_err(invalid)
}

fn invalid(error: serde_json::Error) -> ClientError {
    ClientError::Invalid(format!("The arguments cannot be JSON: {error}"))
}

fn read<T: DeserializeOwned>(result: &RawJson) -> Result<T, ClientError> {
    result.parse().map_err(|error| {
        ClientError::Protocol(RpcError::new(
            code::INTERNAL_ERROR,
            format!("The server's result makes no sense: {error}"),
        ))
    })
}
