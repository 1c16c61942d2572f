//! Completions declared by a prompt or a resource template.

use super::register_error::RegisterError;
use crate::server::handlers::Handler;
use std::{collections::BTreeMap, sync::Arc};

/// Completion handlers by argument or variable name.
pub(super) type Completers = BTreeMap<String, Arc<dyn Handler>>;

/// CMP-03: returns an error for a completion of an argument that does not exist.
pub(super) fn check_completers(what: &str, completers: &Completers, arguments: &[&str]) -> Result<(), RegisterError> {
    match completers.keys().find(|argument| !arguments.contains(&argument.as_str())) {
        None => Ok(()),
        Some(unknown) => Err(RegisterError(format!("{what}: complete: {}", unknown_argument(unknown, arguments)))),
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
            self.completers.insert(argument.into(), ::std::sync::Arc::new(handler));
            self
        }
    };
}

pub(super) use complete_setter;
