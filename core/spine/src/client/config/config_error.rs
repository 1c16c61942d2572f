//! The values of a configuration, and errors that name their location.

use super::placeholders;
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

/// A value of a configuration, with its location.
pub(super) struct ConfigValue<'a> {
    pub(super) value: &'a Value,
    source: &'a str,
    pointer: String,
    /// Looks up the variables of placeholders.
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> ConfigValue<'a> {
    pub(super) fn root(value: &'a Value, source: &'a str, variable: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { value, source, pointer: String::new(), variable }
    }

    fn part(&self, name: &str, value: &'a Value) -> Self {
        // RFC 6901, section 3.
        let name = name.replace('~', "~0").replace('/', "~1");
        Self { value, pointer: format!("{}/{name}", self.pointer), ..*self }
    }

    /// A member of an object, even if it is `null`.
    pub(super) fn member(&self, name: &str) -> Option<Self> {
        self.value.get(name).map(|value| self.part(name, value))
    }

    /// A member of an object; `null` counts as missing.
    pub(super) fn given(&self, name: &str) -> Option<Self> {
        self.member(name).filter(|member| !member.value.is_null())
    }

    pub(super) fn error(&self, problem: &str) -> ConfigError {
        let separator = if self.pointer.is_empty() { "" } else { " at " };
        ConfigError::new(format!("{}{separator}{}", self.source, self.pointer), problem)
    }

    /// The error for a member.
    pub(super) fn error_in(&self, name: &str, problem: &str) -> ConfigError {
        self.part(name, self.value).error(problem)
    }

    fn is_not(&self, wanted: &str) -> ConfigError {
        let kind = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        self.error(&format!("must be {wanted}, not {kind}"))
    }

    pub(super) fn object(&self) -> Result<&'a Map<String, Value>, ConfigError> {
        self.value.as_object().ok_or_else(|| self.is_not("an object"))
    }

    /// The members of an object.
    pub(super) fn members(&self) -> Result<impl Iterator<Item = (&'a String, Self)>, ConfigError> {
        Ok(self.object()?.iter().map(|(name, value)| (name, self.part(name, value))))
    }

    pub(super) fn text(&self) -> Result<&'a str, ConfigError> {
        self.value.as_str().ok_or_else(|| self.is_not("a string"))
    }

    /// The string, with its placeholders replaced.
    pub(super) fn replaced(&self) -> Result<String, ConfigError> {
        placeholders::replace(self.text()?, self.variable).map_err(|problem| self.error(&problem))
    }

    /// The items of a list.
    pub(super) fn items(&self) -> Result<impl Iterator<Item = Self>, ConfigError> {
        let items = self.value.as_array().ok_or_else(|| self.error("must be a list of strings"))?;
        Ok(items.iter().enumerate().map(|(index, item)| self.part(&index.to_string(), item)))
    }

    /// The strings of a list, with their placeholders replaced.
    pub(super) fn texts(&self) -> Result<Vec<String>, ConfigError> {
        self.items()?.map(|item| item.replaced()).collect()
    }
}
