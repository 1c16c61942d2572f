//! The input schemas of the tools that a provider has listed.

use crate::{
    protocol::schema::{self, Schema},
    sync::Mutex,
};
use serde_json::Value;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, OnceLock},
};

/// The input schemas of the tools that a provider has listed, by the caller that was given them:
/// what one principal may see is nobody else's.
#[derive(Default)]
pub(crate) struct ListedTools(Mutex<SchemasByCaller>);

#[derive(Default)]
struct SchemasByCaller {
    schemas: HashMap<ToolKey, Arc<ListedSchema>>,
    /// The oldest first.
    order: VecDeque<ToolKey>,
}

/// A principal and the name of a tool.
type ToolKey = (String, String);

/// A schema as it was listed, compiled with the first call.
pub(in crate::server) struct ListedSchema {
    given: Value,
    compiled: OnceLock<Option<Schema>>,
}

/// Most schemas that are remembered of one provider; the oldest goes first.
const MOST: usize = 4096;

impl ListedTools {
    /// Notes what a caller is given. One schema for many callers is kept for each of them.
    pub(in crate::server) fn note(&self, principal: &str, tools: &[Value]) {
        let mut known = self.0.lock();
        for tool in tools {
            let (Some(name), Some(schema)) = (tool["name"].as_str(), tool.get("inputSchema")) else { continue };
            let key = (principal.to_owned(), name.to_owned());
            if known.schemas.get(&key).is_some_and(|kept| kept.given == *schema) {
                continue;
            }
            let listed = ListedSchema { given: schema.clone(), compiled: OnceLock::new() };
            if known.schemas.insert(key.clone(), Arc::new(listed)).is_none() {
                known.order.push_back(key);
            }
            if known.order.len() > MOST
                && let Some(oldest) = known.order.pop_front()
            {
                known.schemas.remove(&oldest);
            }
        }
    }

    /// The schema that a caller was given last.
    pub(in crate::server) fn schema(&self, principal: &str, name: &str) -> Option<Arc<ListedSchema>> {
        self.0.lock().schemas.get(&(principal.to_owned(), name.to_owned())).cloned()
    }

    /// Forgets all of them: the lists are not as they were.
    pub(in crate::server) fn clear(&self) {
        *self.0.lock() = SchemasByCaller::default();
    }
}

impl ListedSchema {
    /// Returns whether checking so many bytes of arguments may take long.
    pub(in crate::server) fn is_costly(&self, name: &str, bytes: usize) -> bool {
        match self.compiled.get() {
            Some(compiled) => compiled.as_ref().is_some_and(|schema| schema.is_costly(bytes)),
            None => {
                Schema::is_costly_to_compile(&self.given) || {
                    self.compiled(name).is_some_and(|schema| schema.is_costly(bytes))
                }
            }
        }
    }

    /// The reason why the arguments do not fit; `None`: they do, or the schema is not one.
    pub(in crate::server) fn problem(&self, name: &str, arguments: &Value) -> Option<String> {
        self.compiled(name)?.validate(arguments).err().map(|problem| problem.to_string())
    }

    /// `None`: the schema is not one.
    fn compiled(&self, name: &str) -> Option<&Schema> {
        let compile = || match compile(&self.given) {
            Ok(schema) => Some(schema),
            Err(problem) => {
                tracing::warn!(
                    target: "trunkline::server::registry",
                    tool = name,
                    error = problem,
                    "a provider listed an invalid inputSchema; arguments are not validated"
                );
                None
            }
        };
        self.compiled.get_or_init(compile).as_ref()
    }
}

fn compile(given: &Value) -> Result<Schema, String> {
    schema::check_input_root(given).map_err(|problem| problem.to_string())?;
    Schema::compile(given).map_err(|problem| problem.to_string())
}
