//! Tool parameters mirrored in HTTP headers (H26-23, H26-30..39), on the client.

use crate::{
    client::client_error::ClientError,
    protocol::{
        RawJson,
        call_params::CallParams,
        schema::{HeaderParameter, header_parameters},
    },
    sync::Mutex,
};
use indexmap::IndexMap;
use memchr::memmem;
use serde::Deserialize;
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};
use std::{borrow::Cow, collections::HashMap};

/// The mirrored parameters of tools, from the latest lists (H26-39).
#[derive(Default)]
pub(in crate::client) struct MirroredTools {
    by_name: Mutex<HashMap<String, Vec<HeaderParameter>>>,
}

const ANNOTATION: &[u8] = b"x-mcp-header";

impl MirroredTools {
    /// Reads a list of tools, removing those with invalid annotations (H26-30, H26-31).
    pub(in crate::client) fn read_list(&self, result: RawJson) -> RawJson {
        // Most lists have no annotations and need no parsing.
        if memmem::find(result.as_bytes(), ANNOTATION).is_none() && self.by_name.lock().is_empty() {
            return result;
        }
        self.without_broken(&result).unwrap_or(result)
    }

    /// The list without the removed tools, otherwise exactly as written. `None` if nothing is
    /// removed.
    fn without_broken(&self, result: &RawJson) -> Option<RawJson> {
        let mut members: IndexMap<String, &RawValue> = result.parse().ok()?;
        let list = members.get_mut("tools")?;
        let mut tools: Vec<&RawValue> = serde_json::from_str(list.get()).ok()?;
        let before = tools.len();
        tools.retain(|tool| self.read_tool(tool));
        if tools.len() == before {
            return None;
        }
        let kept = to_raw_value(&tools).ok()?;
        *list = &kept;
        RawJson::from_value(&members).ok()
    }

    /// Reads the annotations of a tool. Returns `false` if they are invalid.
    fn read_tool(&self, tool: &RawValue) -> bool {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct ListedTool<'a> {
            #[serde(borrow)]
            name: Cow<'a, str>,
            #[serde(borrow)]
            input_schema: Option<&'a RawValue>,
        }
        // A malformed tool is refused when the list is parsed.
        let Ok(ListedTool { name, input_schema }) = serde_json::from_str(tool.get()) else { return true };
        let annotated = input_schema.filter(|schema| memmem::find(schema.get().as_bytes(), ANNOTATION).is_some());
        let schema: Value = annotated.and_then(|schema| serde_json::from_str(schema.get()).ok()).unwrap_or_default();
        let mut by_name = self.by_name.lock();
        match header_parameters(&schema) {
            Ok(parameters) if parameters.is_empty() => drop(by_name.remove(&*name)),
            Ok(parameters) => drop(by_name.insert(name.into_owned(), parameters)),
            Err(problem) => {
                tracing::warn!(target: "trunkline::client::tools", tool = &*name, error = %problem, "left out a tool with an invalid x-mcp-header");
                by_name.remove(&*name);
                return false;
            }
        }
        true
    }

    /// The mirrored headers of a call: name and value, not encoded yet.
    pub(in crate::client) fn of_call(&self, params: Option<&RawJson>) -> Result<Vec<(String, String)>, ClientError> {
        let by_name = self.by_name.lock();
        if by_name.is_empty() {
            return Ok(Vec::new());
        }
        let Some(call) = params.and_then(|params| CallParams::read(params).ok()) else { return Ok(Vec::new()) };
        let Some(parameters) = by_name.get(&*call.name) else { return Ok(Vec::new()) };
        let arguments: Value = call.arguments.and_then(|value| value.parse().ok()).unwrap_or_default();
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

    /// Also for numbers that no machine type can represent.
    #[test]
    fn h26_30_what_stays_of_a_list_stays_as_it_was_written() {
        let good = r#"{"name": "good", "inputSchema": {"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}, "_meta": {"n": 1e999}}"#;
        let plain = r#"{"name": "plain", "inputSchema": {"properties": {"a": {"maximum": 1.50}}}}"#;
        let bad = r#"{"name": "bad", "inputSchema": {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}}"#;
        let mirrored = MirroredTools::default();
        let list = |tools: &[&str]| {
            RawJson::from_text(format!(r#"{{"ttlMs":1e2,"tools":[{}],"_meta":{{"n":1e999}}}}"#, tools.join(",")).into())
                .unwrap()
        };
        assert_eq!(mirrored.read_list(list(&[plain, bad, good])), list(&[plain, good]));
        let whole = list(&[plain, good]);
        assert_eq!(mirrored.read_list(whole.clone()), whole);
        let call = RawJson::from_value(&json!({"name": "good", "arguments": {"a": "x"}})).unwrap();
        assert_eq!(mirrored.of_call(Some(&call)).unwrap(), [("A".to_owned(), "x".to_owned())]);
    }
}
