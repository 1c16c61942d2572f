//! Completions declared by a prompt or a resource template.

use super::register_error::RegisterError;
use crate::server::handlers::Handler;
use std::{collections::BTreeMap, sync::Arc};

/// Completion handlers by argument or variable name.
#[derive(Clone, Default)]
pub(super) struct Completers(BTreeMap<String, Arc<dyn Handler>>);

impl Completers {
    pub(super) fn add(&mut self, argument: String, handler: impl Handler) {
        self.0.insert(argument, Arc::new(handler));
    }

    pub(super) fn get(&self, argument: &str) -> Option<&Arc<dyn Handler>> {
        self.0.get(argument)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// CMP-03: returns an error for a completion of an argument that does not exist.
    pub(super) fn check(&self, what: &str, arguments: &[&str]) -> Result<(), RegisterError> {
        match self.0.keys().find(|argument| !arguments.contains(&argument.as_str())) {
            None => Ok(()),
            Some(unknown) => Err(RegisterError(format!("{what}: complete: {}", unknown_argument(unknown, arguments)))),
        }
    }
}

/// The error message for an unknown argument.
pub(super) fn unknown_argument(argument: &str, known: &[&str]) -> String {
    let known = if known.is_empty() {
        "there are no arguments".to_owned()
    } else {
        format!("the arguments are {}", known.join(", "))
    };
    format!("there is no argument {argument}; {known}")
}

/// The `complete` setter of the definitions of prompts and resource templates.
macro_rules! complete_setter {
    () => {
        /// Suggests values for one of its arguments or variables. Registering the definition fails
        /// if the argument does not exist. The handler receives the same input as that of a
        /// [`crate::server::CompletionDefinition`].
        pub fn complete(
            mut self,
            argument: impl Into<String>,
            handler: impl $crate::server::handlers::Handler,
        ) -> Self {
            self.completers.add(argument.into(), handler);
            self
        }
    };
}

pub(super) use complete_setter;
