//! The output schema of a tool.

use crate::protocol::schema::Schema;
use serde_json::Value;

/// A compiled output schema.
pub(in crate::server) struct CompiledOutputSchema {
    pub(in crate::server) schema: Schema,
    /// Whether the schema describes `{"result": value}` rather than the value.
    pub(in crate::server) wrap: bool,
    pub(in crate::server) takes_objects: bool,
}

impl CompiledOutputSchema {
    /// Why the schema refuses a value.
    pub(in crate::server) fn problem(&self, structured: &Value) -> Option<String> {
        self.schema.validate(structured).err().map(|problem| problem.to_string())
    }
}
