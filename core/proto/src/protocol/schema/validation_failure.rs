//! Validation failures, and shortened values.

use serde_json::Value;
use std::fmt;

/// Why a value does not match its schema. Displays as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    pub(super) failures: Vec<SchemaFailure>,
    pub(super) more: bool,
}

/// One location where a value does not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFailure {
    /// JSON pointer to the part of the value; empty for the whole value.
    pub path: String,
    /// The problem there.
    pub text: String,
}

impl Invalid {
    /// The first failures; never empty.
    pub fn failures(&self) -> &[SchemaFailure] {
        &self.failures
    }

    #[cfg(feature = "schema-validation")]
    pub(super) fn one(text: &str) -> Self {
        Self { failures: vec![SchemaFailure { path: String::new(), text: text.to_owned() }], more: false }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failures: Vec<_> = self.failures.iter().map(ToString::to_string).collect();
        write!(f, "{}{}", failures.join("; "), if self.more { "; and more" } else { "" })
    }
}

impl fmt::Display for SchemaFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.text)
    }
}

impl std::error::Error for Invalid {}

/// A value, shortened to a few characters.
pub(super) fn brief(value: &Value) -> String {
    match value {
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) if text.chars().nth(40).is_some() => {
            let start: String = text.chars().take(40).collect();
            format!("{}…", Value::String(start))
        }
        scalar => scalar.to_string(),
    }
}
