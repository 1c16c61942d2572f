//! Replaces compiled schemas if the feature `schema-validation` is disabled.

use super::{Invalid, SchemaAuthor, SchemaError};
use serde_json::Value;

/// A JSON Schema that is ignored: the feature `schema-validation` is disabled, and every value is
/// valid.
#[derive(Debug)]
pub struct Schema(());

impl Schema {
    /// Accepts any schema.
    ///
    /// # Errors
    ///
    /// Never, as the feature `schema-validation` is disabled.
    pub fn compile(_: &Value) -> Result<Self, SchemaError> {
        Ok(Self(()))
    }

    /// Accepts any schema.
    ///
    /// # Errors
    ///
    /// Never, as the feature `schema-validation` is disabled.
    pub fn compile_of_peer(schema: &Value) -> Result<Self, SchemaError> {
        Self::compile(schema)
    }

    /// Accepts any schema.
    ///
    /// # Errors
    ///
    /// Never, as the feature `schema-validation` is disabled.
    pub fn compile_promptly(_: SchemaAuthor, schema: &Value) -> Result<Self, SchemaError> {
        Self::compile(schema)
    }

    /// Always `false`, as nothing is compiled.
    pub fn is_costly_to_compile(_: &Value) -> bool {
        false
    }

    /// Always `false`, as nothing is checked.
    pub fn is_costly(&self, _: usize) -> bool {
        false
    }

    /// Always empty, as nothing is compiled.
    pub fn unchecked_patterns(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Accepts any value.
    ///
    /// # Errors
    ///
    /// Never, as the feature `schema-validation` is disabled.
    pub fn validate(&self, _: &Value) -> Result<(), Invalid> {
        Ok(())
    }
}
