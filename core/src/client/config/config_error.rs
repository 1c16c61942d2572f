//! Locations in a configuration, and errors that name them.

use crate::client::ClientError;
use serde_json::{Map, Value};

/// An error in a configuration: the file, the location as a JSON pointer, and the problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {problem}")]
pub struct ConfigError {
    location: String,
    problem: String,
}

impl ConfigError {
    pub(crate) fn new(location: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { location: location.into(), problem: problem.into() }
    }
}

impl From<ConfigError> for ClientError {
    fn from(error: ConfigError) -> Self {
        Self::Invalid(error.to_string())
    }
}

/// A location in a configuration.
#[derive(Clone)]
pub(super) struct ConfigLocation {
    source: String,
    pointer: String,
}

impl ConfigLocation {
    pub(super) fn root(source: &str) -> Self {
        Self { source: source.to_owned(), pointer: String::new() }
    }

    pub(super) fn member(&self, name: &str) -> Self {
        // RFC 6901, section 3.
        let name = name.replace('~', "~0").replace('/', "~1");
        Self { source: self.source.clone(), pointer: format!("{}/{name}", self.pointer) }
    }

    pub(super) fn error(&self, problem: &str) -> ConfigError {
        let separator = if self.pointer.is_empty() { "" } else { " at " };
        ConfigError::new(format!("{}{separator}{}", self.source, self.pointer), problem)
    }

    pub(super) fn object<'a>(&self, value: &'a Value) -> Result<&'a Map<String, Value>, ConfigError> {
        value.as_object().ok_or_else(|| self.error(&format!("must be an object, not {}", kind(value))))
    }

    pub(super) fn text<'a>(&self, value: &'a Value) -> Result<&'a str, ConfigError> {
        value.as_str().ok_or_else(|| self.error(&format!("must be a string, not {}", kind(value))))
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
