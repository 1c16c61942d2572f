//! Output schemas of tools, from the server's lists (TOOL-14).

use super::{client_call::tool_of, result_schema::ResultSchema};
use crate::{protocol::RawJson, sync::Mutex};
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{borrow::Cow, collections::HashMap, sync::Arc};

/// Maximum total size of stored schemas. Results of further tools are not validated.
const MAX_BYTES: usize = 16 << 20;

const MEMBER: &[u8] = b"outputSchema";

/// Output schemas of tools, from the latest lists.
#[derive(Default)]
pub(in crate::client) struct OutputSchemas(Mutex<KnownSchemas>);

#[derive(Default)]
struct KnownSchemas {
    by_name: HashMap<String, Arc<ResultSchema>>,
    bytes: usize,
}

impl OutputSchemas {
    /// Reads a list of tools, or a page of one.
    pub(in crate::client) fn read_list(&self, result: &RawJson) {
        #[derive(Deserialize)]
        struct ListedTools<'a> {
            #[serde(borrow)]
            tools: Vec<ListedTool<'a>>,
        }
        #[derive(Deserialize)]
        struct ListedTool<'a> {
            #[serde(borrow)]
            name: Cow<'a, str>,
            #[serde(borrow, rename = "outputSchema")]
            output_schema: Option<&'a RawValue>,
        }
        let mut known = self.0.lock();
        // Most lists have no output schemas and need no parsing.
        if memmem::find(result.as_bytes(), MEMBER).is_none() && known.by_name.is_empty() {
            return;
        }
        let Ok(list) = result.parse::<ListedTools<'_>>() else { return };
        for tool in list.tools {
            known.forget(&tool.name);
            if let Some(text) = tool.output_schema {
                known.keep(tool.name.into_owned(), text.to_owned());
            }
        }
    }

    /// The output schema of the tool that a request calls.
    pub(in crate::client) fn of_call(&self, params: Option<&RawJson>) -> Option<Arc<ResultSchema>> {
        let known = self.0.lock();
        if known.by_name.is_empty() {
            return None;
        }
        known.by_name.get(&*tool_of(params)?).cloned()
    }
}

impl KnownSchemas {
    fn forget(&mut self, tool: &str) {
        if let Some(schema) = self.by_name.remove(tool) {
            self.bytes -= schema.listed_bytes();
        }
    }

    fn keep(&mut self, tool: String, text: Box<RawValue>) {
        let bytes = self.bytes + text.get().len();
        if bytes <= MAX_BYTES {
            self.bytes = bytes;
            let schema = Arc::new(ResultSchema::of_tool(&tool, text));
            self.by_name.insert(tool, schema);
        }
    }
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use super::*;
    use crate::{
        client::{client_error::ClientError, link::ClientId},
        kept_log::KeptLog,
        transport::TokioRuntime,
    };
    use serde_json::{Value, json};
    use std::time::{Duration, Instant};

    fn raw(value: &Value) -> RawJson {
        RawJson::from_value(value).unwrap()
    }

    fn listed(schemas: &OutputSchemas, tools: &Value) {
        schemas.read_list(&raw(&json!({"tools": tools})));
    }

    async fn answer(schemas: &OutputSchemas, tool: &str, result: Value) -> Result<RawJson, ClientError> {
        let result = raw(&result);
        let Some(schema) = schemas.of_call(Some(&raw(&json!({"name": tool})))) else { return Ok(result) };
        let deadline = Instant::now() + Duration::from_secs(30);
        schema.checked_until(deadline, TokioRuntime::current(), ClientId::next(), result).await
    }

    #[tokio::test]
    async fn tool_14_results_match_the_output_schema_of_the_newest_list() {
        let schemas = OutputSchemas::default();
        let high = json!({"type": "object", "properties": {"high": {"type": "number"}}, "required": ["high"]});
        listed(&schemas, &json!([{"name": "forecast", "outputSchema": high}, {"name": "echo"}]));
        let content = |content: Value| json!({"content": [], "structuredContent": content});
        assert!(answer(&schemas, "forecast", content(json!({"high": 21}))).await.is_ok());
        assert!(answer(&schemas, "forecast", json!({"content": [], "isError": true})).await.is_ok());
        assert!(answer(&schemas, "forecast", json!({"task": {"taskId": "t"}})).await.is_ok());
        assert!(answer(&schemas, "echo", json!({"content": []})).await.is_ok());
        for (result, problem) in
            [(content(json!({"high": "hot"})), "high"), (json!({"content": []}), "no structuredContent")]
        {
            let error = answer(&schemas, "forecast", result).await.unwrap_err().to_string();
            assert!(error.contains("\"forecast\"") && error.contains(problem), "{error}");
        }
        listed(&schemas, &json!([{"name": "forecast"}]));
        assert!(answer(&schemas, "forecast", json!({"content": []})).await.is_ok());
        assert_eq!(schemas.0.lock().bytes, 0);
    }

    #[tokio::test]
    async fn tool_14_a_schema_that_cannot_be_used_is_logged_and_checks_nothing() {
        let schemas = OutputSchemas::default();
        listed(&schemas, &json!([{"name": "odd", "outputSchema": {"type": 5}}]));
        let log = KeptLog::default();
        let guard = tracing::subscriber::set_default(log.clone());
        assert!(answer(&schemas, "odd", json!({"content": []})).await.is_ok());
        assert!(answer(&schemas, "odd", json!({"content": []})).await.is_ok());
        drop(guard);
        let texts = log.take();
        assert!(texts.len() == 1 && texts[0].contains("the tool \"odd\""), "{texts:?}");
    }

    #[test]
    fn schemas_are_kept_up_to_a_number_of_bytes() {
        let schemas = OutputSchemas::default();
        let large = json!({"description": "x".repeat(MAX_BYTES / 2)});
        listed(&schemas, &json!([{"name": "a", "outputSchema": large}, {"name": "b", "outputSchema": large}]));
        assert_eq!(schemas.0.lock().by_name.len(), 1);
    }
}
