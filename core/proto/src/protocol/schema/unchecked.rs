//! Stands in for compiled schemas where the feature `schema-validation` is off.

use super::{Invalid, SchemaError};
use serde_json::Value;

/// A JSON Schema that is not read: the feature `schema-validation` is off, and every value passes.
#[derive(Debug)]
pub struct Schema(());

impl Schema {
    /// Takes any schema.
    ///
    /// # Errors
    ///
    /// None where the feature `schema-validation` is off.
    pub fn compile(_: &Value) -> Result<Self, SchemaError> {
        Ok(Self(()))
    }

    /// Takes any schema.
    ///
    /// # Errors
    ///
    /// None where the feature `schema-validation` is off.
    pub fn compile_promptly(schema: &Value) -> Result<Self, SchemaError> {
        Self::compile(schema)
    }

    /// Nothing is compiled.
    pub fn is_costly_to_compile(_: &Value) -> bool {
        false
    }

    /// Nothing is checked, so nothing is costly.
    pub fn is_costly(&self, _: usize) -> bool {
        false
    }

    /// Takes any value.
    ///
    /// # Errors
    ///
    /// None where the feature `schema-validation` is off.
    pub fn validate(&self, _: &Value) -> Result<(), Invalid> {
        Ok(())
    }
}
