//! The input schemas of tools listed by a provider or a remote server.

use crate::{
    protocol::schema::{self, HeaderParameter, Schema},
    sync::Mutex,
};
use serde_json::Value;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, OnceLock},
};

/// The input schemas of tools listed by a provider. They are kept per principal, because a provider
/// may list different tools to each.
#[derive(Default)]
pub(crate) struct ListedTools(Mutex<SchemasByCaller>);

#[derive(Default)]
struct SchemasByCaller {
    schemas: HashMap<ToolKey, Arc<ListedSchema>>,
    /// Keys from oldest to newest.
    order: VecDeque<ToolKey>,
}

/// A principal and the name of a tool.
type ToolKey = (String, String);

/// A listed schema, compiled on the first call.
pub struct ListedSchema {
    given: Value,
    compiled: OnceLock<Option<Schema>>,
    mirrored: OnceLock<Vec<HeaderParameter>>,
}

/// Each provider keeps this many. The oldest is evicted first.
const MAX_SCHEMAS: usize = 4096;

impl ListedTools {
    /// Records the tools listed to a principal. A schema listed to many principals is stored for
    /// each of them.
    pub(in crate::server) fn note(&self, principal: &str, tools: &[Value]) {
        let mut known = self.0.lock();
        for tool in tools {
            let (Some(name), Some(schema)) = (tool["name"].as_str(), tool.get("inputSchema")) else { continue };
            let key = (principal.to_owned(), name.to_owned());
            if known.schemas.get(&key).is_some_and(|kept| kept.given == *schema) {
                continue;
            }
            if known.schemas.insert(key.clone(), Arc::new(ListedSchema::new(schema.clone()))).is_none() {
                known.order.push_back(key);
            }
            if known.order.len() > MAX_SCHEMAS
                && let Some(oldest) = known.order.pop_front()
            {
                known.schemas.remove(&oldest);
            }
        }
    }

    /// Returns the schema that was last listed to a principal.
    pub(in crate::server) fn schema(&self, principal: &str, name: &str) -> Option<Arc<ListedSchema>> {
        self.0.lock().schemas.get(&(principal.to_owned(), name.to_owned())).cloned()
    }

    /// Removes all schemas, after the provider's list has changed.
    pub(in crate::server) fn clear(&self) {
        *self.0.lock() = SchemasByCaller::default();
    }
}

impl ListedSchema {
    /// The input schema of a listed tool.
    pub fn new(given: Value) -> Self {
        Self { given, compiled: OnceLock::new(), mirrored: OnceLock::new() }
    }

    /// The parameters that are mirrored in HTTP headers. None if an annotation is invalid: clients
    /// leave such a tool out.
    pub fn mirrored(&self) -> &[HeaderParameter] {
        self.mirrored.get_or_init(|| schema::header_parameters(&self.given).unwrap_or_default())
    }

    /// Returns whether validating this many bytes of arguments may take long.
    pub(in crate::server) fn is_costly(&self, name: &str, bytes: usize) -> bool {
        self.compiled.get().is_none() && Schema::is_costly_to_compile(&self.given)
            || self.compiled(name).is_some_and(|schema| schema.is_costly(bytes))
    }

    /// Returns why the arguments are invalid; `None` if they are valid or the schema itself is
    /// invalid.
    pub(in crate::server) fn problem(&self, name: &str, arguments: &Value) -> Option<String> {
        self.compiled(name)?.validate(arguments).err().map(|problem| problem.to_string())
    }

    /// Returns `None` if the schema is invalid.
    fn compiled(&self, name: &str) -> Option<&Schema> {
        let warn = |problem: &String| {
            tracing::warn!(
                target: "trunkline::server::registry",
                tool = name,
                error = problem,
                "a tool was listed with an invalid inputSchema; arguments are not validated"
            );
        };
        let compile = || compile(&self.given).inspect_err(warn).ok();
        self.compiled.get_or_init(compile).as_ref()
    }
}

fn compile(given: &Value) -> Result<Schema, String> {
    schema::check_input_root(given).map_err(|problem| problem.to_string())?;
    Schema::compile(given).map_err(|problem| problem.to_string())
}
