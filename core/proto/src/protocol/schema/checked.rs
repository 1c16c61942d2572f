//! Compiled schemas.

use super::{
    Invalid, SchemaAuthor, SchemaError,
    bounds::{self, Limits, ValidationCost},
    explain::explain,
    pattern::Budget,
    patterns::Patterns,
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
    /// Compiles a schema of this program.
    ///
    /// # Errors
    ///
    /// If the dialect is unknown, a reference cannot be resolved, the schema is invalid in its
    /// dialect, or it is too complex to be safe.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        Self::compile_within(&Limits::DEFAULT, SchemaAuthor::Own, schema)
    }

    /// Compiles a schema that a peer sent.
    ///
    /// # Errors
    ///
    /// As for [`Self::compile`].
    pub fn compile_of_peer(schema: &Value) -> Result<Self, SchemaError> {
        Self::compile_within(&Limits::DEFAULT, SchemaAuthor::Peer, schema)
    }

    /// Compiles a schema that takes at most a few milliseconds to compile, and to validate with.
    ///
    /// # Errors
    ///
    /// As for [`Self::compile`], with lower limits.
    pub fn compile_promptly(author: SchemaAuthor, schema: &Value) -> Result<Self, SchemaError> {
        Self::compile_within(&Limits::PROMPT, author, schema)
    }

    fn compile_within(limits: &Limits, author: SchemaAuthor, schema: &Value) -> Result<Self, SchemaError> {
        let bounds = ValidationCost::check(limits, schema)?;
        let patterns = Patterns::of(limits, author, schema)?;
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

    /// The patterns of a peer that are not checked.
    pub fn unchecked_patterns(&self) -> Vec<&str> {
        self.patterns.unchecked().collect()
    }

    /// Validates a value.
    ///
    /// # Errors
    ///
    /// If the value does not match; the error names the first few locations.
    pub fn validate(&self, value: &Value) -> Result<(), Invalid> {
        self.bounds.check_value(value)?;
        self.patterns.check_names(value)?;
        self.patterns.renew_budget();
        let is_valid = self.patterns.is_valid(&self.validator, value);
        let given_up = |problem: String| Invalid::one(&problem);
        if let Some(problem) = Budget::problem() {
            return Err(given_up(problem));
        }
        if is_valid {
            return Ok(());
        }
        self.patterns.renew_budget();
        let explained = explain(&self.validator, self.patterns.schema(), &self.bounds, value);
        Err(Budget::problem().map_or(explained, given_up))
    }
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schema").field("draft", &self.validator.draft()).finish_non_exhaustive()
    }
}
