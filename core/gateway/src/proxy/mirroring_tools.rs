//! The tools of a remote server that mirror parameters in HTTP headers, which the proxy compares
//! with the arguments as the server itself would.

use serde_json::Value;
use std::{collections::HashMap, sync::Arc};
use trunkline_core::{
    extension::{ListedSchema, sync::Mutex},
    protocol::RawJson,
};

const ANNOTATION: &str = "x-mcp-header";

/// The tools of the latest list; `None` before the first.
#[derive(Default)]
pub(super) struct MirroringTools(Mutex<Option<HashMap<String, Arc<ListedSchema>>>>);

impl MirroringTools {
    /// Reads a list of tools.
    pub(super) fn note(&self, list: &RawJson) {
        let mut found = HashMap::new();
        // Most lists have none, and need no parsing.
        if list.may_mention(ANNOTATION) {
            let list: Value = list.parse().unwrap_or_default();
            for tool in list["tools"].as_array().into_iter().flatten() {
                let (Some(name), Some(schema)) = (tool["name"].as_str(), tool.get("inputSchema")) else { continue };
                let listed = ListedSchema::new(schema.clone());
                if !listed.mirrored().is_empty() {
                    found.insert(name.to_owned(), Arc::new(listed));
                }
            }
        }
        *self.0.lock() = Some(found);
    }

    /// Returns whether there was a list.
    pub(super) fn are_known(&self) -> bool {
        self.0.lock().is_some()
    }

    /// The schema of a tool, if it mirrors parameters.
    pub(super) fn find(&self, tool: &str) -> Option<Arc<ListedSchema>> {
        self.0.lock().as_ref()?.get(tool).cloned()
    }
}
