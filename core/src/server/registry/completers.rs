//! The completions that a prompt or a resource template declares beside its arguments.

use super::register_error::RegisterError;
use crate::server::handlers::Handler;
use std::{collections::BTreeMap, sync::Arc};

/// The handlers that suggest values, by the arguments or variables that they complete.
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

    /// CMP-03: names the argument that is not there.
    pub(super) fn check(&self, what: &str, arguments: &[&str]) -> Result<(), RegisterError> {
        match self.0.keys().find(|argument| !arguments.contains(&argument.as_str())) {
            None => Ok(()),
            Some(unknown) => Err(RegisterError(format!("{what}: complete: {}", unknown_argument(unknown, arguments)))),
        }
    }
}

/// The words for an argument that is not among those that there are.
pub(super) fn unknown_argument(argument: &str, known: &[&str]) -> String {
    let known = if known.is_empty() {
        "there are no arguments".to_owned()
    } else {
        format!("the arguments are {}", known.join(", "))
    };
    format!("there is no argument {argument}; {known}")
}

/// The setter that the definitions of prompts and resource templates have.
macro_rules! complete_setter {
    () => {
        /// Suggests values for one of its arguments or variables; one that is not there is refused
        /// when it is registered. Calls of the handler get what those of a
        /// [`crate::server::CompletionDefinition`] get.
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
