//! Facts about tools from a server's lists: their output schemas (TOOL-14), the parameters mirrored
//! in HTTP headers (H26-23, H26-30..39), and their task support (TSK-04, TSK-06).

use super::result_schema::{ResultSchema, SchemaRules};
use crate::{
    client::ClientError,
    printable::{MAX_LENGTH, line},
    protocol::{
        RawJson,
        call_params::CallParams,
        model::TaskSupport,
        schema::{HeaderParameter, header_parameters},
    },
    sync::Mutex,
};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// Maximum total size of stored schemas. Those of tools that have not been listed for the longest
/// time are forgotten first; if one list exceeds it, results of its further tools are not
/// validated.
const MAX_BYTES: usize = 16 << 20;
/// Maximum known tools, unless one page has more: twice what a whole list may have.
const MAX_TOOLS: usize = 20_000;

const OUTPUT_SCHEMA: &str = "outputSchema";
const ANNOTATION: &str = "x-mcp-header";

/// The tools of the latest lists (H26-39).
#[derive(Default)]
pub(in crate::client) struct KnownTools(Mutex<ToolTable>);

#[derive(Default)]
struct ToolTable {
    by_name: HashMap<String, KnownTool>,
    /// Total size of the output schemas.
    bytes: usize,
    /// Number of lists, or pages, read so far.
    lists: u64,
    /// The last list that left no schemas of earlier ones to forget, so that none are searched for.
    full: u64,
}

struct KnownTool {
    /// The mirrored parameters.
    headers: Vec<HeaderParameter>,
    output: Option<Arc<ResultSchema>>,
    support: Option<TaskSupport>,
    /// The number of the latest list that has it.
    list: u64,
}

/// The facts to read from a list.
#[derive(Clone, Copy)]
pub(in crate::client) struct ToolFacts<'f> {
    /// The server that has a tool, for the log.
    pub(in crate::client) server_of: &'f dyn Fn(&str) -> Option<String>,
    pub(in crate::client) headers: bool,
    pub(in crate::client) output: bool,
    pub(in crate::client) support: bool,
    pub(in crate::client) rules: SchemaRules,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedTool<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    input_schema: Option<&'a RawValue>,
    #[serde(borrow)]
    output_schema: Option<&'a RawValue>,
    #[serde(borrow)]
    execution: Option<&'a RawValue>,
}

impl KnownTools {
    /// Reads a list of tools, or a page of one, removing those with invalid annotations (H26-30,
    /// H26-31).
    pub(in crate::client) fn read_list(&self, result: RawJson, facts: ToolFacts<'_>) -> RawJson {
        let mentions = |member: &str| result.may_mention(member);
        let mut known = self.0.lock();
        // Most lists say nothing of this and need no parsing.
        let any = facts.support || (facts.output && mentions(OUTPUT_SCHEMA)) || (facts.headers && mentions(ANNOTATION));
        if !any && known.by_name.is_empty() {
            return result;
        }
        known.without_broken(&result, facts).unwrap_or(result)
    }

    /// The mirrored headers of a call: name and value, not encoded yet.
    pub(in crate::client) fn headers_of(
        &self,
        tool: &str,
        params: Option<&RawJson>,
    ) -> Result<Vec<(String, String)>, ClientError> {
        let known = self.0.lock();
        let mirrors = known.by_name.get(tool).filter(|known| !known.headers.is_empty());
        let Some(KnownTool { headers, .. }) = mirrors else { return Ok(Vec::new()) };
        let call = params.and_then(|params| CallParams::read(params).ok());
        let arguments: Value = call.and_then(|call| call.arguments?.parse().ok()).unwrap_or_default();
        let header = |parameter: &HeaderParameter| match parameter.text(&arguments) {
            Ok(text) => text.map(|text| Ok((parameter.name.clone(), text))),
            Err(problem) => Some(Err(ClientError::Invalid(format!("The arguments of {tool}: {problem}")))),
        };
        headers.iter().filter_map(header).collect()
    }

    pub(in crate::client) fn output_schema(&self, tool: &str) -> Option<Arc<ResultSchema>> {
        self.0.lock().by_name.get(tool)?.output.clone()
    }

    /// The task support of a tool on 2025-11-25, if it was listed.
    pub(in crate::client) fn task_support(&self, tool: &str) -> Option<TaskSupport> {
        self.0.lock().by_name.get(tool)?.support
    }
}

impl ToolTable {
    /// The list without the removed tools, otherwise exactly as written. `None` if nothing is
    /// removed.
    fn without_broken(&mut self, result: &RawJson, facts: ToolFacts<'_>) -> Option<RawJson> {
        let mut members: IndexMap<String, &RawValue> = result.parse().ok()?;
        let list = members.get_mut("tools")?;
        let mut tools: Vec<&RawValue> = serde_json::from_str(list.get()).ok()?;
        let before = tools.len();
        self.lists += 1;
        let mut read = HashSet::new();
        tools.retain(|tool| self.read_tool(tool, facts, &mut read));
        while self.by_name.len() > MAX_TOOLS && self.forget_oldest() {}
        if tools.len() == before {
            return None;
        }
        let kept = to_raw_value(&tools).ok()?;
        *list = &kept;
        RawJson::from_value(&members).ok()
    }

    /// Reads a tool. Returns `false` if its annotations are invalid. `read` has the names of the
    /// earlier tools of the list: one that follows under the same name is left out elsewhere.
    fn read_tool(&mut self, tool: &RawValue, facts: ToolFacts<'_>, read: &mut HashSet<String>) -> bool {
        // A malformed tool is refused when the list is parsed.
        let Ok(tool) = serde_json::from_str::<ListedTool<'_>>(tool.get()) else { return true };
        if read.contains(&*tool.name) {
            return true;
        }
        if let Some(schema) = self.by_name.remove(&*tool.name).and_then(|known| known.output) {
            self.bytes -= schema.listed_bytes();
        }
        let is_annotated = |schema: &&RawValue| [ANNOTATION, "\\u"].iter().any(|part| schema.get().contains(part));
        let annotated = tool.input_schema.filter(|_| facts.headers).filter(is_annotated);
        let schema: Value = annotated.and_then(|schema| serde_json::from_str(schema.get()).ok()).unwrap_or_default();
        let headers = match header_parameters(&schema) {
            Ok(headers) => headers,
            Err(problem) => {
                let (server, name, problem) = (
                    (facts.server_of)(&tool.name),
                    line(&tool.name, MAX_LENGTH),
                    line(&problem.to_string(), MAX_LENGTH),
                );
                tracing::warn!(target: "trunkline::client::tools", server, tool = name, error = problem, "left out a tool with an invalid x-mcp-header");
                return false;
            }
        };
        let has_room = |text: &&RawValue| self.make_room(text.get().len());
        let output = tool.output_schema.filter(|_| facts.output).filter(has_room).map(|text| {
            self.bytes += text.get().len();
            Arc::new(ResultSchema::of_tool((facts.server_of)(&tool.name), &tool.name, text.to_owned(), facts.rules))
        });
        let support = facts.support.then(|| {
            let execution = tool.execution.and_then(|execution| serde_json::from_str::<Value>(execution.get()).ok());
            let execution = execution.unwrap_or_default();
            let given = execution.get("taskSupport").and_then(Value::as_str).unwrap_or_default();
            TaskSupport::ALL.into_iter().find(|support| support.as_str() == given).unwrap_or_default()
        });
        read.insert(tool.name.clone().into_owned());
        if !headers.is_empty() || output.is_some() || support.is_some() {
            self.by_name.insert(tool.name.into_owned(), KnownTool { headers, output, support, list: self.lists });
        }
        true
    }

    /// Forgets schemas of earlier lists until there is room for another one. Returns `false` if
    /// there is none.
    fn make_room(&mut self, bytes: usize) -> bool {
        while self.bytes + bytes > MAX_BYTES {
            if bytes > MAX_BYTES || self.full == self.lists {
                return false;
            }
            match self.oldest(|tool| tool.output.is_some()) {
                Some(oldest) => {
                    for tool in self.by_name.values_mut().filter(|tool| tool.list == oldest) {
                        self.bytes -= tool.output.take().map_or(0, |schema| schema.listed_bytes());
                    }
                }
                None => self.full = self.lists,
            }
        }
        true
    }

    /// Forgets the tools that have not been listed for the longest time. Returns `false` if all are
    /// in the current list.
    fn forget_oldest(&mut self) -> bool {
        let Some(oldest) = self.oldest(|_| true) else { return false };
        for (_, tool) in self.by_name.extract_if(|_, tool| tool.list == oldest) {
            self.bytes -= tool.output.map_or(0, |schema| schema.listed_bytes());
        }
        true
    }

    /// The number of the oldest list with such tools that were not listed since, other than the
    /// current one.
    fn oldest(&self, is_such: impl Fn(&KnownTool) -> bool) -> Option<u64> {
        let earlier = self.by_name.values().filter(|tool| tool.list < self.lists && is_such(tool));
        earlier.map(|tool| tool.list).min()
    }
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use super::*;
    use crate::{client::link::ClientId, protocol::Revision, tests::kept_log::KeptLog, transport::TokioRuntime};
    use serde_json::json;
    use std::time::{Duration, Instant};

    const HEADERS: fn() -> ToolFacts<'static> = || of(true, false);
    const OUTPUT: fn() -> ToolFacts<'static> = || of(false, true);

    fn of(headers: bool, output: bool) -> ToolFacts<'static> {
        ToolFacts {
            server_of: &|_| Some("odd".to_owned()),
            headers,
            output,
            support: false,
            rules: SchemaRules::of(Some(Revision::LATEST)),
        }
    }

    fn raw(value: &Value) -> RawJson {
        RawJson::from_value(value).unwrap()
    }

    fn listed(known: &KnownTools, tools: &Value) {
        known.read_list(raw(&json!({"tools": tools})), OUTPUT());
    }

    async fn answer(known: &KnownTools, tool: &str, result: Value) -> Result<RawJson, ClientError> {
        let result = raw(&result);
        let Some(schema) = known.output_schema(tool) else { return Ok(result) };
        let deadline = Instant::now() + Duration::from_secs(30);
        schema.checked_until(deadline, TokioRuntime::current(), ClientId::next(), result).await
    }

    #[tokio::test]
    async fn tool_14_results_match_the_output_schema_of_the_newest_list() {
        let known = KnownTools::default();
        let high = json!({"type": "object", "properties": {"high": {"type": "number"}}, "required": ["high"]});
        listed(&known, &json!([{"name": "forecast", "outputSchema": high}, {"name": "echo"}]));
        let content = |content: Value| json!({"content": [], "structuredContent": content});
        assert!(answer(&known, "forecast", content(json!({"high": 21}))).await.is_ok());
        assert!(answer(&known, "forecast", json!({"content": [], "isError": true})).await.is_ok());
        assert!(answer(&known, "forecast", json!({"task": {"taskId": "t"}})).await.is_ok());
        assert!(answer(&known, "echo", json!({"content": []})).await.is_ok());
        for (result, problem) in
            [(content(json!({"high": "hot"})), "high"), (json!({"content": []}), "no structuredContent")]
        {
            let error = answer(&known, "forecast", result).await.unwrap_err().to_string();
            assert!(error.contains("\"forecast\"") && error.contains(problem), "{error}");
        }
        listed(&known, &json!([{"name": "forecast"}]));
        assert!(answer(&known, "forecast", json!({"content": []})).await.is_ok());
        assert_eq!(known.0.lock().bytes, 0);
    }

    #[tokio::test]
    async fn tool_14_a_schema_that_cannot_be_used_is_logged_and_checks_nothing() {
        let known = KnownTools::default();
        listed(&known, &json!([{"name": "odd", "outputSchema": {"type": 5}}]));
        let log = KeptLog::default();
        let guard = tracing::subscriber::set_default(log.clone());
        assert!(answer(&known, "odd", json!({"content": []})).await.is_ok());
        assert!(answer(&known, "odd", json!({"content": []})).await.is_ok());
        drop(guard);
        let texts = log.take();
        assert!(texts.len() == 1 && texts[0].contains("the tool \"odd\""), "{texts:?}");
    }

    #[tokio::test]
    async fn sch_04_and_09_a_schema_that_cannot_be_followed_is_an_error_that_names_the_tool() {
        for (schema, named) in [
            (json!({"$schema": "urn:unknown", "type": "object"}), "dialect \"urn:unknown\""),
            (json!({"type": "object", "properties": {"a": {"$ref": "https://a.example/x"}}}), "https://a.example/x"),
        ] {
            let known = KnownTools::default();
            listed(&known, &json!([{"name": "odd", "outputSchema": schema}]));
            assert!(answer(&known, "odd", json!({"content": [], "isError": true})).await.is_ok());
            let result = json!({"content": [], "structuredContent": {"a": 1}});
            let error = answer(&known, "odd", result).await.unwrap_err().to_string();
            assert!(error.contains("\"odd\" cannot be checked") && error.contains(named), "{error}");
        }
    }

    /// A fault of the description must not cost the result of a tool that has run.
    #[tokio::test]
    async fn sch_04_and_09_only_what_a_revision_forbids_is_an_error() {
        let dialect = json!({"$schema": "urn:unknown", "type": "object"});
        let of = |reference: &str| json!({"type": "object", "properties": {"a": {"$ref": reference}}});
        let (external, local) = (of("https://a.example/x"), of("#/$defs/missing"));
        for (revision, schema, is_refused) in [
            (Revision::LATEST, &dialect, true),
            (Revision::V2025_11_25, &dialect, true),
            (Revision::V2025_06_18, &dialect, false),
            (Revision::LATEST, &external, true),
            (Revision::V2025_11_25, &external, false),
            (Revision::LATEST, &local, false),
            (Revision::V2025_06_18, &local, false),
        ] {
            let known = KnownTools::default();
            let facts = ToolFacts { rules: SchemaRules::of(Some(revision)), ..OUTPUT() };
            known.read_list(raw(&json!({"tools": [{"name": "odd", "outputSchema": schema}]})), facts);
            let result = json!({"content": [], "structuredContent": {"a": 1}});
            assert_eq!(answer(&known, "odd", result).await.is_err(), is_refused, "{revision} {schema}");
        }
    }

    #[test]
    fn schemas_are_kept_up_to_a_number_of_bytes() {
        let known = KnownTools::default();
        let large = json!({"description": "x".repeat(MAX_BYTES / 2)});
        listed(&known, &json!([{"name": "a", "outputSchema": large}, {"name": "b", "outputSchema": large}]));
        assert_eq!(known.0.lock().by_name.len(), 1);
    }

    #[test]
    fn tool_14_the_newest_list_has_room_for_its_schemas() {
        let known = KnownTools::default();
        let large = json!({"description": "x".repeat(MAX_BYTES / 3)});
        let names = ["a", "b", "c", "d", "e"];
        for name in names {
            listed(&known, &json!([{"name": name, "outputSchema": large}, {"name": "always", "outputSchema": {}}]));
            assert!(known.output_schema(name).is_some() && known.output_schema("always").is_some(), "{name}");
        }
        assert_eq!(names.map(|name| known.output_schema(name).is_some()), [false, false, false, true, true]);
        assert!((1..=MAX_BYTES).contains(&known.0.lock().bytes));
    }

    #[test]
    fn tools_that_are_no_longer_listed_are_forgotten() {
        let known = KnownTools::default();
        let facts = || ToolFacts { support: true, ..OUTPUT() };
        for list in 0..5 {
            let tools: Vec<_> = (0..MAX_TOOLS / 2).map(|number| json!({"name": format!("{list}-{number}")})).collect();
            known.read_list(raw(&json!({"tools": tools})), facts());
            assert!(known.task_support(&format!("{list}-0")).is_some());
        }
        assert!(known.task_support("0-0").is_none() && known.0.lock().by_name.len() <= MAX_TOOLS);
    }

    #[test]
    fn h26_31_a_tool_that_is_left_out_is_logged_with_the_reason() {
        let of = |name: &str, header: &str| json!({"name": name, "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": header}}}});
        let list = RawJson::from_value(&json!({"tools": [of("good", "A"), of("bad", "A B")]})).unwrap();
        let log = KeptLog::default();
        let read = tracing::subscriber::with_default(log.clone(), || KnownTools::default().read_list(list, HEADERS()));
        assert_eq!(read.parse::<Value>().unwrap()["tools"].as_array().unwrap().len(), 1);
        let texts = log.take();
        assert!(
            texts.len() == 1 && texts[0].contains("(server=odd, tool=bad)") && texts[0].contains("A B"),
            "{texts:?}"
        );
    }

    /// Also for numbers that no machine type can represent.
    #[test]
    fn h26_30_what_stays_of_a_list_stays_as_it_was_written() {
        let good = r#"{"name": "good", "inputSchema": {"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}, "_meta": {"n": 1e999}}"#;
        let plain = r#"{"name": "plain", "inputSchema": {"properties": {"a": {"maximum": 1.50}}}}"#;
        let bad = r#"{"name": "bad", "inputSchema": {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}, "execution": {"n": 1e999}}"#;
        let known = KnownTools::default();
        let list = |tools: &[&str]| {
            RawJson::from_text(format!(r#"{{"ttlMs":1e2,"tools":[{}],"_meta":{{"n":1e999}}}}"#, tools.join(",")).into())
                .unwrap()
        };
        assert_eq!(known.read_list(list(&[plain, bad, good]), HEADERS()), list(&[plain, good]));
        let whole = list(&[plain, good]);
        assert_eq!(known.read_list(whole.clone(), HEADERS()), whole);
        let call = RawJson::from_value(&json!({"name": "good", "arguments": {"a": "x"}})).unwrap();
        assert_eq!(known.headers_of("good", Some(&call)).unwrap(), [("A".to_owned(), "x".to_owned())]);
    }
}
