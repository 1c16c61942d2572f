//! Parameters of tools that HTTP headers repeat (H26-23, H26-30..39), seen from the client.

use super::error::ClientError;
use crate::{
    protocol::{
        RawJson,
        schema::{HeaderParameter, header_parameters},
    },
    sync::Mutex,
};
use memchr::memmem;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use std::{borrow::Cow, collections::HashMap};

/// The mirrored parameters of tools, from the most recent lists (H26-39).
#[derive(Default)]
pub(super) struct MirroredTools {
    by_name: Mutex<HashMap<String, Vec<HeaderParameter>>>,
}

const ANNOTATION: &[u8] = b"x-mcp-header";

impl MirroredTools {
    /// Reads a list of tools. One whose annotation breaks the rules is left out of it (H26-30,
    /// H26-31).
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
                    tracing::warn!(target: "trunkline::client::tools", tool = name, error = %problem, "a tool is left out for its x-mcp-header");
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

#[cfg(all(test, feature = "full"))]
mod tests {
    use super::*;
    use crate::kept_log::KeptLog;
    use serde_json::json;

    #[test]
    fn h26_31_a_tool_that_is_left_out_is_logged_with_the_reason() {
        let of = |name: &str, header: &str| json!({"name": name, "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": header}}}});
        let list = RawJson::from_value(&json!({"tools": [of("good", "A"), of("bad", "A B")]})).unwrap();
        let log = KeptLog::default();
        let read = tracing::subscriber::with_default(log.clone(), || MirroredTools::default().read_list(list));
        assert_eq!(read.parse::<Value>().unwrap()["tools"].as_array().unwrap().len(), 1);
        let texts = log.take();
        assert!(texts.len() == 1 && texts[0].contains("tool=bad") && texts[0].contains("A B"), "{texts:?}");
    }
}
