//! Completions of prompt arguments and resource template variables.

use super::register_error::RegisterError;
use crate::server::handlers::Handler;
use serde_json::Value;
use std::sync::Arc;

/// The prompt or resource template that has the argument.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CompletionTarget {
    /// The prompt with that name (`ref/prompt`).
    Prompt(String),
    /// The resource or template with that URI (`ref/resource`).
    Resource(String),
}

impl CompletionTarget {
    /// Parses a PromptReference or a ResourceTemplateReference.
    ///
    /// # Errors
    /// Returns the name of a missing member.
    pub fn read(reference: &Value) -> Result<Self, &'static str> {
        let text = |member: &str| reference.get(member).and_then(Value::as_str).map(str::to_owned);
        match reference.get("type").and_then(Value::as_str) {
            Some("ref/prompt") => text("name").map(Self::Prompt).ok_or("ref needs the string member name"),
            Some("ref/resource") => text("uri").map(Self::Resource).ok_or("ref needs the string member uri"),
            _ => Err("ref.type must be ref/prompt or ref/resource"),
        }
    }

    /// The noun for error messages, and the name of the prompt or the URI.
    pub(in crate::server) fn noun_and_key(&self) -> (&'static str, &str) {
        match self {
            Self::Prompt(name) => ("prompt", name),
            Self::Resource(uri) => ("resource template", uri),
        }
    }
}

/// A completion to register. Its handler receives
/// `{"ref", "argument": {"name", "value"}, "context"?}`.
///
/// ```
/// use trunkline::{
///     protocol::RawJson,
///     server::{Call, CompletionDefinition, CompletionTarget, Outcome},
/// };
///
/// let weather = CompletionTarget::Prompt("weather".to_owned());
/// let cities = CompletionDefinition::new(weather, "city", |call: Call| {
///     let values = RawJson::from_text(r#"["Bern", "Berlin"]"#.into());
///     call.complete(values.map_or_else(|error| Outcome::Internal(error.to_string()), Outcome::Value));
/// });
/// ```
#[must_use = "a completion does nothing until it is added to a server"]
pub struct CompletionDefinition {
    pub(in crate::server) reference: CompletionTarget,
    pub(in crate::server) argument: String,
    pub(in crate::server) handler: Arc<dyn Handler>,
}

impl CompletionDefinition {
    /// Creates a completion for one argument of a prompt, or one variable of a resource template.
    pub fn new(reference: CompletionTarget, argument: impl Into<String>, handler: impl Handler) -> Self {
        Self { reference, argument: argument.into(), handler: Arc::new(handler) }
    }

    pub(in crate::server) fn taken(&self) -> RegisterError {
        let (Self { argument, .. }, (noun, key)) = (self, self.reference.noun_and_key());
        RegisterError(format!("A completion of the argument {argument} of the {noun} {key} is already registered"))
    }
}
