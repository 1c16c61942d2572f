//! The output schemas of tools, and the results that are checked against them (TOOL-14).

use super::{error::ClientError, reply::ReplyTo};
use crate::{
    protocol::{RawJson, envelope::Notification, schema::Schema},
    race,
    runtime::{Promise, Runtime},
    sync::Mutex,
    turns,
};
use memchr::memmem;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

/// Bytes of schemas that are kept. Results of the tools beyond are not checked.
const MAX_BYTES: usize = 16 << 20;

const MEMBER: &[u8] = b"outputSchema";

/// The output schemas of tools, from the most recent lists.
#[derive(Default)]
pub(super) struct OutputSchemas(Mutex<KnownSchemas>);

#[derive(Default)]
struct KnownSchemas {
    by_name: HashMap<String, Arc<ListedOutputSchema>>,
    bytes: usize,
}

struct ListedOutputSchema {
    tool: String,
    text: Box<RawValue>,
    /// Compiled for the first result; `None` if that cannot be.
    compiled: OnceLock<Option<Schema>>,
}

impl OutputSchemas {
    /// Reads a list of tools, or a page of one.
    pub(super) fn read_list(&self, result: &RawJson) {
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
        // Most lists have no output schema, and need no reading.
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

    /// The receiver of the result of a call: one that checks it first, if the tool has an output
    /// schema, which may take `most` from now on together with the call.
    pub(super) fn checking(
        &self,
        params: Option<&RawJson>,
        runtime: &Arc<dyn Runtime>,
        most: Duration,
        reply: Arc<dyn ReplyTo>,
    ) -> Arc<dyn ReplyTo> {
        #[derive(Deserialize)]
        struct CalledTool<'a> {
            #[serde(borrow)]
            name: Cow<'a, str>,
        }
        let known = self.0.lock();
        if known.by_name.is_empty() {
            return reply;
        }
        let called = params.and_then(|params| params.parse::<CalledTool<'_>>().ok());
        match called.and_then(|called| known.by_name.get(&*called.name)) {
            Some(schema) => Arc::new(CheckedReply {
                schema: Arc::clone(schema),
                runtime: Arc::clone(runtime),
                deadline: runtime.now() + most,
                reply,
            }),
            None => reply,
        }
    }
}

impl KnownSchemas {
    fn forget(&mut self, tool: &str) {
        if let Some(schema) = self.by_name.remove(tool) {
            self.bytes -= schema.text.get().len();
        }
    }

    fn keep(&mut self, tool: String, text: Box<RawValue>) {
        let bytes = self.bytes + text.get().len();
        if bytes <= MAX_BYTES {
            self.bytes = bytes;
            let schema = ListedOutputSchema { tool: tool.clone(), text, compiled: OnceLock::new() };
            self.by_name.insert(tool, Arc::new(schema));
        }
    }
}

impl ListedOutputSchema {
    /// Returns whether checking a result of so many bytes may take long, or has to compile first.
    fn is_costly(&self, bytes: usize) -> bool {
        match self.compiled.get() {
            Some(compiled) => compiled.as_ref().is_some_and(|schema| schema.is_costly(bytes)),
            None => self.text.get().contains("pattern"),
        }
    }

    /// The result, if it matches.
    fn checked(&self, result: RawJson) -> Result<RawJson, ClientError> {
        match self.check(&result) {
            Ok(()) => Ok(result),
            Err(problem) => Err(ClientError::InvalidResponse(format!(
                "the result of the tool {:?} does not match its output schema: {problem}",
                self.tool
            ))),
        }
    }

    fn check(&self, result: &RawJson) -> Result<(), String> {
        let Some(schema) = self.compiled.get_or_init(|| self.compile()) else { return Ok(()) };
        let result: Value = result.parse().map_err(|error| error.to_string())?;
        // A task that the server made of the call has its result later (2025-11-25).
        let is_task = result.get("content").is_none() && result["task"].is_object();
        if is_task || result["isError"] == true {
            return Ok(());
        }
        let content = result.get("structuredContent").ok_or("it has no structuredContent")?;
        schema.validate(content).map_err(|invalid| format!("structuredContent: {invalid}"))
    }

    fn compile(&self) -> Option<Schema> {
        let schema: Value = serde_json::from_str(self.text.get()).ok()?;
        Schema::compile(&schema)
            .map_err(|error| {
                let tool = &self.tool;
                tracing::warn!(target: "trunkline::client::tools", tool, %error, "results of a tool are not checked, for its output schema is invalid");
            })
            .ok()
    }
}

/// A receiver of a result that matches an output schema, or of an error.
struct CheckedReply {
    schema: Arc<ListedOutputSchema>,
    runtime: Arc<dyn Runtime>,
    deadline: Instant,
    reply: Arc<dyn ReplyTo>,
}

impl ReplyTo for CheckedReply {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        let result = match outcome {
            Ok(result) if self.schema.is_costly(result.as_bytes().len()) => result,
            outcome => return self.reply.answered(outcome.and_then(|result| self.schema.checked(result))),
        };
        let (schema, reply, runtime) = (Arc::clone(&self.schema), Arc::clone(&self.reply), Arc::clone(&self.runtime));
        let (promise, deadline) = (Arc::new(Promise::default()), self.deadline);
        let (checking, checked) = (Arc::clone(&schema), Arc::clone(&promise));
        turns::take(&self.runtime, move || checked.keep(checking.checked(result)));
        self.runtime.spawn(Box::pin(async move {
            let checked = race::until(&*runtime, deadline, promise.kept()).await;
            reply.answered(checked.unwrap_or_else(|| {
                Err(ClientError::Timeout(format!(
                    "the result of the tool {:?} could not be checked against its output schema in time",
                    schema.tool
                )))
            }));
        }));
    }

    fn progress(&self, params: RawJson) {
        self.reply.progress(params);
    }

    fn notification(&self, notification: Notification) {
        self.reply.notification(notification);
    }

    fn task_created(&self, result: RawJson) {
        self.reply.task_created(result);
    }

    fn input_required(&self, result: RawJson) {
        self.reply.input_required(result);
    }
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use super::*;
    use crate::{client::reply::Waiter, kept_log::KeptLog, transport::TokioRuntime};
    use serde_json::json;

    fn raw(value: &Value) -> RawJson {
        RawJson::from_value(value).unwrap()
    }

    fn listed(schemas: &OutputSchemas, tools: &Value) {
        schemas.read_list(&raw(&json!({"tools": tools})));
    }

    async fn answer(schemas: &OutputSchemas, tool: &str, result: Value) -> Result<RawJson, ClientError> {
        let waiter = Arc::new(Waiter::new(None));
        let runtime: Arc<dyn Runtime> = TokioRuntime::current();
        let most = Duration::from_secs(30);
        schemas.checking(Some(&raw(&json!({"name": tool}))), &runtime, most, waiter.clone()).answered(Ok(raw(&result)));
        waiter.outcome().await
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
    async fn sch_10_a_hostile_pattern_ends_with_the_deadline_of_the_call() {
        let schemas = OutputSchemas::default();
        let hostile = json!({"type": "object", "properties": {"x": {"pattern": r"(?=(a+))\1b"}}});
        listed(&schemas, &json!([{"name": "t", "outputSchema": hostile}]));
        let waiter = Arc::new(Waiter::new(None));
        let (params, most) = (raw(&json!({"name": "t"})), Duration::from_millis(50));
        let reply = schemas.checking(Some(&params), &TokioRuntime::current(), most, waiter.clone());
        let result = json!({"content": [], "structuredContent": {"x": "a".repeat(30_000)}});
        let started = Instant::now();
        reply.answered(Ok(raw(&result)));
        assert!(started.elapsed() < Duration::from_millis(50), "checked on the thread of the runtime");
        let error = waiter.outcome().await.unwrap_err();
        assert!(matches!(error, ClientError::Timeout(_) | ClientError::InvalidResponse(_)), "{error}");
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
        assert!(texts.len() == 1 && texts[0].contains("tool=odd"), "{texts:?}");
    }

    #[test]
    fn schemas_are_kept_up_to_a_number_of_bytes() {
        let schemas = OutputSchemas::default();
        let large = json!({"description": "x".repeat(MAX_BYTES / 2)});
        listed(&schemas, &json!([{"name": "a", "outputSchema": large}, {"name": "b", "outputSchema": large}]));
        assert_eq!(schemas.0.lock().by_name.len(), 1);
    }
}
