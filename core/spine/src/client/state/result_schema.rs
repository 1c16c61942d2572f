//! Schemas for the results of calls: output schemas of tools (TOOL-14), and schemas that a host
//! expects.

use crate::{
    client::{ClientError, ClientId},
    counts::Holder,
    engine::{RequestTimeout, later},
    printable::{MAX_LENGTH, line},
    protocol::{
        RawJson, Revision, RevisionFeature,
        schema::{Schema, SchemaError},
    },
    race,
    runtime::{Promise, Runtime},
    turns,
};
use serde_json::{Value, value::RawValue};
use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

/// A schema up to this size without patterns compiles in about a millisecond.
const MAX_CHEAP_BYTES: usize = 32 << 10;

/// The schema of structured content.
#[doc(hidden)]
#[derive(Debug)]
pub struct ResultSchema {
    /// The server of a tool, for the log.
    server: Option<String>,
    /// How errors name the result and the schema.
    names: (String, &'static str),
    /// The schema as listed; `null` if it was compiled immediately.
    text: Box<RawValue>,
    /// `None` if it is invalid, so nothing is validated. An error if it cannot be followed: its
    /// dialect is unknown (SCH-04), or a reference leads out of it (SCH-09).
    compiled: OnceLock<Option<Result<Schema, SchemaError>>>,
    rules: SchemaRules,
}

/// A revision's rules for schemas that cannot be followed; otherwise they are like any other
/// invalid schema.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, Default)]
pub struct SchemaRules {
    /// SCH-04: an unknown dialect is an error.
    dialects: bool,
    /// SCH-09: a reference that leaves the schema is an error.
    references: bool,
}

impl SchemaRules {
    pub(in crate::client) fn of(revision: Option<Revision>) -> Self {
        let supports = |feature| revision.is_some_and(|revision| revision.supports(feature));
        Self {
            dialects: supports(RevisionFeature::SchemaDialects),
            references: supports(RevisionFeature::SchemaReferences),
        }
    }

    fn refuse(self, error: &SchemaError) -> bool {
        match error {
            SchemaError::UnknownDialect(_) => self.dialects,
            SchemaError::UnresolvedReference(reference) => self.references && !reference.starts_with('#'),
            _ => false,
        }
    }
}

impl ResultSchema {
    /// A schema that a host expects the results of a method to match.
    ///
    /// # Errors
    /// If the schema is invalid.
    pub fn expected(method: &str, schema: &Value) -> Result<Arc<Self>, SchemaError> {
        let names = (format!("the result of {method}"), "the expected schema");
        let compiled = OnceLock::from(Some(Ok(Schema::compile(schema)?)));
        Ok(Arc::new(Self {
            server: None,
            names,
            text: RawValue::NULL.to_owned(),
            compiled,
            rules: SchemaRules::default(),
        }))
    }

    /// The output schema of a tool, compiled with the first result.
    pub(in crate::client) fn of_tool(
        server: Option<String>,
        tool: &str,
        text: Box<RawValue>,
        rules: SchemaRules,
    ) -> Self {
        let names = (format!("the result of the tool {tool:?}"), "its output schema");
        Self { server, names, text, compiled: OnceLock::new(), rules }
    }

    pub(in crate::client) fn listed_bytes(&self) -> usize {
        self.text.get().len()
    }

    /// Returns whether validating a result may take long, or has to compile the schema first.
    pub(in crate::client) fn is_costly(&self, result: &RawJson) -> bool {
        match self.compiled.get() {
            Some(Some(Ok(schema))) => schema.is_costly(result.as_bytes().len()),
            Some(_) => false,
            None => self.listed_bytes() > MAX_CHEAP_BYTES || self.text.get().contains("attern"),
        }
    }

    /// Returns the result if it matches. A costly validation is queued, with a deadline.
    pub(in crate::client) async fn checked_until(
        self: Arc<Self>,
        deadline: Instant,
        runtime: Arc<dyn Runtime>,
        client: ClientId,
        result: RawJson,
    ) -> Result<RawJson, ClientError> {
        if !self.is_costly(&result) {
            return self.checked(result);
        }
        let (promise, (name, schema)) = (Arc::new(Promise::default()), self.names.clone());
        let checked = Arc::clone(&promise);
        turns::take(&runtime, Holder::Client(client.0), move |turn| {
            let turn = turn.map_err(|crowded| ClientError::Busy(crowded.to_string()));
            checked.keep(turn.and_then(|()| self.checked(result)));
        });
        race::until(&*runtime, deadline, promise.kept()).await.unwrap_or_else(|| {
            Err(ClientError::Timeout(format!("{name} could not be checked against {schema} in time")))
        })
    }

    /// Returns the result if it matches.
    pub(in crate::client) fn checked(&self, result: RawJson) -> Result<RawJson, ClientError> {
        let (name, schema) = &self.names;
        let invalid = |(how, problem)| ClientError::InvalidResponse(format!("{name} {how} {schema}: {problem}"));
        self.check(&result).map_err(invalid)?;
        Ok(result)
    }

    fn check(&self, result: &RawJson) -> Result<(), (&'static str, String)> {
        let Some(schema) = self.compiled.get_or_init(|| self.compile()) else { return Ok(()) };
        let mismatch = |problem| ("does not match", problem);
        let result: Value = result.parse().map_err(|error| mismatch(error.to_string()))?;
        // If the server created a task, the result follows later (2025-11-25).
        let is_task = result.get("content").is_none() && result["task"].is_object();
        if is_task || result["isError"] == true {
            return Ok(());
        }
        let schema = schema.as_ref().map_err(|error| ("cannot be checked against", error.to_string()))?;
        let missing = || mismatch("it has no structuredContent".to_owned());
        let content = result.get("structuredContent").ok_or_else(missing)?;
        schema.validate(content).map_err(|invalid| mismatch(format!("structuredContent: {invalid}")))
    }

    fn compile(&self) -> Option<Result<Schema, SchemaError>> {
        let schema: Value = serde_json::from_str(self.text.get()).ok()?;
        let compiled = Schema::compile_of_peer(&schema);
        let (server, name) = (self.server.as_deref(), line(&self.names.0, MAX_LENGTH));
        match &compiled {
            Err(error) if !self.rules.refuse(error) => {
                tracing::warn!(target: "trunkline::client::tools", server, %error, "{name} is not validated: its output schema is invalid");
                return None;
            }
            Ok(schema) if !schema.unchecked_patterns().is_empty() => {
                let patterns = schema.unchecked_patterns();
                tracing::warn!(target: "trunkline::client::tools", server, ?patterns, "{name} is not checked for patterns of its output schema that use look-around or back-references");
            }
            _ => {}
        }
        Some(compiled)
    }
}

/// Validates the result of one request.
#[derive(Clone)]
pub(in crate::client) struct ResultCheck {
    pub(in crate::client) schema: Arc<ResultSchema>,
    timeout: Duration,
    deadline: Instant,
}

impl ResultCheck {
    /// The validation for a request that is being sent. A costly validation has the same timeouts
    /// as the request.
    pub(in crate::client) fn new(schema: Arc<ResultSchema>, timeout: RequestTimeout, now: Instant) -> Self {
        Self { schema, timeout: timeout.timeout, deadline: later(now, timeout.max) }
    }

    /// Returns the result if it matches. A costly check runs in its turn.
    pub(in crate::client) async fn checked_in_turn(
        self,
        runtime: Arc<dyn Runtime>,
        client: ClientId,
        result: RawJson,
    ) -> Result<RawJson, ClientError> {
        let deadline = later(runtime.now(), self.timeout).min(self.deadline);
        self.schema.checked_until(deadline, runtime, client, result).await
    }
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use super::*;
    use crate::transport::TokioRuntime;
    use serde_json::json;

    fn raw(value: &Value) -> RawJson {
        RawJson::from_value(value).unwrap()
    }

    #[test]
    fn content_fits_or_is_refused_unless_the_tool_failed() {
        let expected = ResultSchema::expected("tools/call", &json!({"type": "object", "required": ["high"]})).unwrap();
        let check = |result: Value| expected.checked(raw(&result));
        assert!(check(json!({"content": [], "structuredContent": {"high": 1}})).is_ok());
        assert!(check(json!({"content": [], "isError": true})).is_ok());
        for (result, problem) in [
            (json!({"content": [], "structuredContent": {"low": 1}}), "high"),
            (json!({"content": []}), "no structuredContent"),
        ] {
            let error = check(result).unwrap_err().to_string();
            assert!(error.contains("the result of tools/call does not match") && error.contains(problem), "{error}");
        }
        assert!(ResultSchema::expected("tools/call", &json!({"type": 5})).is_err());
    }

    #[tokio::test]
    async fn sch_10_a_hostile_pattern_ends_with_the_deadline_of_the_call() {
        // Each letter may begin the last thousand, so each takes a step in a thousand states.
        let hostile = json!({"type": "object", "properties": {"x": {"pattern": "^[ab]*a[ab]{1000}c$"}}});
        let text = serde_json::value::to_raw_value(&hostile).unwrap();
        let listed = Arc::new(ResultSchema::of_tool(None, "t", text, SchemaRules::default()));
        for schema in [listed, ResultSchema::expected("tools/call", &hostile).unwrap()] {
            let timeout = RequestTimeout { timeout: Duration::from_millis(50), max: Duration::from_secs(60) };
            let check = ResultCheck::new(schema, timeout, Instant::now());
            let result = raw(&json!({"content": [], "structuredContent": {"x": "a".repeat(30_000)}}));
            assert!(check.schema.is_costly(&result), "checked on the thread of the runtime");
            let error = check.checked_in_turn(TokioRuntime::current(), ClientId::next(), result).await.unwrap_err();
            assert!(matches!(error, ClientError::Timeout(_) | ClientError::InvalidResponse(_)), "{error}");
        }
    }

    #[test]
    fn sch_10_patterns_of_a_server_that_backtrack_are_not_checked() {
        let properties = json!({"x": {"pattern": r"(?=(a+))\1b"}, "n": {"type": "integer"}});
        let schema = json!({"type": "object", "properties": properties});
        let text = serde_json::value::to_raw_value(&schema).unwrap();
        let listed = ResultSchema::of_tool(None, "t", text, SchemaRules::default());
        let expected = ResultSchema::expected("tools/call", &schema).unwrap();
        let refused = |schema: &ResultSchema, x: &str, n: Value| {
            schema.checked(raw(&json!({"content": [], "structuredContent": {"x": x, "n": n}}))).is_err()
        };
        for long in ["b".to_owned(), "a".repeat(30_000)] {
            assert!(!refused(&listed, &long, json!(1)) && refused(&listed, &long, json!("1")));
            assert!(refused(&expected, &long, json!(1)), "the host's own schema is checked");
        }
        assert!(!refused(&expected, "aab", json!(1)));
    }
}
