//! Compiled schemas.

use super::{
    Invalid, SchemaError,
    bounds::{self, Limits, ValidationCost},
    explain::explain,
    patterns::{Patterns, TOO_LONG},
};
use jsonschema::Validator;
use serde_json::Value;

/// A compiled JSON Schema. Compiling usually takes microseconds; do it once.
pub struct Schema {
    validator: Box<Validator>,
    patterns: Patterns,
    bounds: ValidationCost,
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// If the dialect is unknown, a reference cannot be resolved, the schema is invalid in its
    /// dialect, or it is too complex to be safe.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        Self::compile_within(&Limits::USUAL, schema)
    }

    /// Compiles a schema that takes at most a few milliseconds to compile, and to validate with.
    ///
    /// # Errors
    ///
    /// As for [`Self::compile`], with lower limits.
    pub fn compile_promptly(schema: &Value) -> Result<Self, SchemaError> {
        Self::compile_within(&Limits::PROMPT, schema)
    }

    fn compile_within(limits: &'static Limits, schema: &Value) -> Result<Self, SchemaError> {
        let bounds = ValidationCost::check(limits, schema)?;
        let patterns = Patterns::of(limits, schema)?;
        let validator = Box::new(patterns.build(schema)?);
        Ok(Self { validator, patterns, bounds })
    }

    /// Returns whether compiling a schema may take so long that it should not block other work.
    pub fn is_costly_to_compile(schema: &Value) -> bool {
        bounds::is_costly_to_compile(schema)
    }

    /// Returns whether validating a value of this size may take so long that it should not block
    /// other work.
    pub fn is_costly(&self, bytes: usize) -> bool {
        self.bounds.is_costly(bytes) || self.patterns.are_costly(bytes)
    }

    /// Validates a value.
    ///
    /// # Errors
    ///
    /// If the value does not match; the error names the first few locations.
    pub fn validate(&self, value: &Value) -> Result<(), Invalid> {
        self.bounds.check_value(value)?;
        let by_names = self.patterns.for_names_of(value)?;
        let validator = by_names.as_ref().unwrap_or(&self.validator);
        let is_valid = validator.is_valid(value);
        if self.patterns.are_given_up() {
            Err(Invalid::one(TOO_LONG))
        } else if is_valid {
            Ok(())
        } else {
            Err(explain(validator, self.patterns.schema(), &self.bounds, value))
        }
    }
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schema").field("draft", &self.validator.draft()).finish_non_exhaustive()
    }
}
