//! Prompts and their registration.

use super::{
    access_options::{AccessOptions, definition_setters},
    completers::{Completers, check_completers, complete_setter, unknown_argument},
    descriptor_members,
    list::{Descriptor, listed},
    register_error::RegisterError,
};
use crate::{
    protocol::{
        RawJson,
        model::{Prompt, PromptArgument},
        project,
        schema::{TextMember, TextReader},
    },
    server::handlers::Handler,
};
use serde_json::{Map, Value};
use std::sync::Arc;

trunkline_proto::options! {
    /// Options of a prompt, in addition to its descriptor.
    #[derive(Debug, Clone)]
    pub struct PromptOptions {
        ;
        /// Access and time limit.
        access: AccessOptions,
    }
}

/// A prompt to register: its descriptor (the Prompt of the newest revision of the specification)
/// and its handler.
#[must_use = "a prompt does nothing until it is added to a server"]
pub struct PromptDefinition {
    pub(in crate::server) descriptor: Value,
    pub(in crate::server) options: PromptOptions,
    arguments_schema: Option<Value>,
    completers: Completers,
    pub(in crate::server) handler: Arc<dyn Handler>,
}

impl PromptDefinition {
    /// Creates a prompt from its descriptor, a Prompt object with `name`. The handler receives the
    /// arguments object.
    pub fn new(descriptor: Value, handler: impl Handler) -> Self {
        let (options, completers) = (PromptOptions::default(), Completers::default());
        Self { descriptor, options, arguments_schema: None, completers, handler: Arc::new(handler) }
    }

    /// Sets the JSON Schema of the arguments. Clients send strings; the handler receives numbers
    /// and booleans where the schema has them. Arguments that do not match are refused with -32602.
    /// Registering the prompt fails if the schema has a type that no string can be parsed into,
    /// such as an array.
    pub fn arguments_schema(mut self, schema: Value) -> Self {
        self.arguments_schema = Some(schema);
        self
    }

    definition_setters!(self, PromptOptions, self.options.access);
    complete_setter!();

    pub(in crate::server) fn compile(self) -> Result<RegisteredPrompt, RegisterError> {
        let Self { descriptor, options, arguments_schema, completers, handler } = self;
        let name = match descriptor.get("name").and_then(Value::as_str) {
            Some("") | None => return Err(RegisterError("A prompt needs the string member name".into())),
            Some(name) => name.to_owned(),
        };
        let prompt = descriptor_members::read::<Prompt, PromptOptions>("Prompt", &name, &descriptor, &options.access)?;
        let arguments = prompt.arguments.unwrap_or_default();
        for (position, argument) in arguments.iter().enumerate() {
            if arguments[..position].iter().any(|other| other.name == argument.name) {
                return Err(RegisterError(format!("Prompt {name}: the argument {} is defined twice", argument.name)));
            }
        }
        let names: Vec<_> = arguments.iter().map(|argument| argument.name.as_str()).collect();
        check_completers(&format!("Prompt {name}"), &completers, &names)?;
        let given: Vec<_> = names.iter().map(|name| TextMember { name, is_list: false }).collect();
        let reader = arguments_schema.map(|schema| TextReader::compile(schema, &given)).transpose();
        let reader = reader.map_err(|problem| RegisterError(format!("Prompt {name}: {problem}")))?;
        let descriptor = Descriptor::new(descriptor, project::project_prompt);
        Ok(RegisteredPrompt { name, descriptor, options, arguments, reader, completers, handler })
    }
}

/// A registered prompt.
pub(crate) struct RegisteredPrompt {
    pub(in crate::server) name: String,
    descriptor: Descriptor,
    arguments: Vec<PromptArgument>,
    /// Parses the arguments for the handler.
    reader: Option<TextReader>,
    pub(in crate::server) options: PromptOptions,
    pub(super) completers: Completers,
    pub(in crate::server) handler: Arc<dyn Handler>,
}

impl RegisteredPrompt {
    pub(in crate::server) fn definition(&self) -> PromptDefinition {
        let (descriptor, options) = (self.descriptor.value().clone(), self.options.clone());
        let arguments_schema = self.reader.as_ref().map(|reader| reader.schema().clone());
        let (completers, handler) = (self.completers.clone(), Arc::clone(&self.handler));
        PromptDefinition { descriptor, options, arguments_schema, completers, handler }
    }

    /// Returns the input of the handler, or why the arguments are invalid (PRM-05).
    pub(in crate::server) fn input(&self, arguments: RawJson) -> Result<RawJson, String> {
        let given: Map<String, Value> = arguments.parse().map_err(|_| "arguments must be an object".to_owned())?;
        self.check(&given)?;
        let Some(reader) = &self.reader else { return Ok(arguments) };
        let read = reader.read(given).map_err(|problem| problem.to_string())?;
        RawJson::from_value(&read).map_err(|problem| problem.to_string())
    }

    fn check(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        let missing =
            self.arguments.iter().find(|argument| argument.required && !arguments.contains_key(&argument.name));
        if let Some(argument) = missing {
            return Err(format!("the argument {} is missing", argument.name));
        }
        for (name, value) in arguments {
            if !self.has_argument(name) {
                return Err(unknown_argument(name, &self.argument_names()));
            }
            if !value.is_string() {
                return Err(format!("the argument {name} must be a string"));
            }
        }
        Ok(())
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

listed!(RegisteredPrompt, "A prompt", name, options.access);
