//! Prompts: how they are registered, and what is known of them then.

use super::{
    access::{Access, access_setters},
    completers::{Completers, complete_setter},
    error::RegisterError,
    list::{Descriptor, Listed},
    members::{self, check_members},
};
use crate::{
    protocol::{
        model::{Prompt, PromptArgument},
        project,
    },
    server::handlers::Handler,
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A prompt to register: its descriptor (the specification's Prompt of the newest revision) and its
/// handler.
#[must_use = "a prompt does nothing until it is added to a server"]
pub struct PromptDefinition {
    descriptor: Value,
    access: Access,
    completers: Completers,
    handler: Arc<dyn Handler>,
}

impl PromptDefinition {
    /// A prompt from its descriptor, a Prompt object with `name`. Calls of the handler get the
    /// arguments object.
    pub fn new(descriptor: Value, handler: impl Handler) -> Self {
        let (access, completers) = (Access::default(), Completers::default());
        Self { descriptor, access, completers, handler: Arc::new(handler) }
    }

    /// Adds or replaces a member of the descriptor, such as `title`.
    pub fn with(mut self, member: &str, value: Value) -> Self {
        self.descriptor[member] = value;
        self
    }

    access_setters!();
    complete_setter!();

    pub(in crate::server) fn compile(self) -> Result<RegisteredPrompt, RegisterError> {
        let Self { descriptor, access, completers, handler } = self;
        let name = match descriptor.get("name").and_then(Value::as_str) {
            Some("") | None => return Err(RegisterError("A prompt needs the string member name".into())),
            Some(name) => name.to_owned(),
        };
        let prompt: Prompt =
            members::read(&descriptor).map_err(|fault| RegisterError(format!("Prompt {name}: {fault}")))?;
        check_members::<Prompt>("prompt", &name, &descriptor)?;
        let arguments = prompt.arguments.unwrap_or_default();
        for (position, argument) in arguments.iter().enumerate() {
            if arguments[..position].iter().any(|other| other.name == argument.name) {
                return Err(RegisterError(format!("Prompt {name}: the argument {} is there twice", argument.name)));
            }
        }
        access.check().map_err(|problem| RegisterError(format!("Prompt {name}: {problem}")))?;
        let names: Vec<_> = arguments.iter().map(|argument| argument.name.as_str()).collect();
        completers.check(&format!("Prompt {name}"), &names)?;
        let descriptor = Descriptor::new(descriptor, project::project_prompt);
        Ok(RegisteredPrompt { name, descriptor, arguments, access, completers, handler })
    }
}

/// A prompt that is offered.
pub(crate) struct RegisteredPrompt {
    pub(in crate::server) name: String,
    descriptor: Descriptor,
    arguments: Vec<PromptArgument>,
    pub(in crate::server) access: Access,
    pub(super) completers: Completers,
    pub(in crate::server) handler: Arc<dyn Handler>,
}

impl RegisteredPrompt {
    pub(in crate::server) fn definition(&self) -> PromptDefinition {
        let (descriptor, access) = (self.descriptor.value().clone(), self.access.clone());
        let completers = self.completers.clone();
        PromptDefinition { descriptor, access, completers, handler: Arc::clone(&self.handler) }
    }

    /// The problem of invalid arguments (PRM-05).
    pub(in crate::server) fn problem(&self, arguments: &Map<String, Value>) -> Option<String> {
        let missing =
            self.arguments.iter().find(|argument| argument.required && !arguments.contains_key(&argument.name));
        if let Some(argument) = missing {
            return Some(format!("the argument {} is missing", argument.name));
        }
        for (name, value) in arguments {
            if !self.has_argument(name) {
                let known: Vec<_> = self.arguments.iter().map(|argument| argument.name.as_str()).collect();
                let known =
                    if known.is_empty() { "it takes none".into() } else { format!("there are {}", known.join(", ")) };
                return Some(format!("there is no argument {name}; {known}"));
            }
            if !value.is_string() {
                return Some(format!("the argument {name} must be a string"));
            }
        }
        None
    }

    pub(in crate::server) fn argument_names(&self) -> Vec<&str> {
        self.arguments.iter().map(|argument| argument.name.as_str()).collect()
    }

    pub(in crate::server) fn has_argument(&self, name: &str) -> bool {
        self.arguments.iter().any(|argument| argument.name == name)
    }

    pub(in crate::server) fn description(&self) -> Option<&str> {
        self.descriptor.value().get("description").and_then(Value::as_str)
    }
}

impl Listed for RegisteredPrompt {
    const MEMBER: &'static str = "prompts";
    const NOUN: &'static str = "A prompt";

    fn key(&self) -> &str {
        &self.name
    }

    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn access(&self) -> &Access {
        &self.access
    }
}
