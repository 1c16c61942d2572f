//! The tools that a proxy offers.

use std::sync::Arc;
use trunkline_core::{
    extension::composition::{
        names,
        rewriting::{self, ObjectMembers},
    },
    protocol::{RawJson, RpcError, wildcard},
};

/// Chooses among the tools of a remote server. Cheap to clone.
#[derive(Clone)]
pub(super) struct ToolFilter {
    patterns: Arc<Patterns>,
    /// The prefix of the server in its group, which the patterns include; empty without a group.
    prefix: Arc<str>,
}

struct Patterns {
    allow: Vec<String>,
    deny: Vec<String>,
}

impl ToolFilter {
    /// The filter of a proxy; `None` if it offers all tools.
    pub(super) fn new(allow: Vec<String>, deny: Vec<String>) -> Option<Self> {
        let is_any = !allow.is_empty() || !deny.is_empty();
        is_any.then(|| Self { patterns: Arc::new(Patterns { allow, deny }), prefix: "".into() })
    }

    /// The filter for one server of a group.
    pub(super) fn of_member(&self, prefix: &str) -> Self {
        Self { patterns: Arc::clone(&self.patterns), prefix: prefix.into() }
    }

    /// Returns whether a tool is offered. A pattern may match its name in the group, which may be
    /// shortened, or its full name behind the prefix.
    pub(super) fn offers(&self, tool: &str) -> bool {
        let names = [names::public(&self.prefix, tool), names::nested(&self.prefix, tool)];
        let is_match = |pattern: &String| names.iter().any(|name| wildcard::matches(pattern, name));
        let is_any = |patterns: &[String]| patterns.iter().any(is_match);
        let Patterns { allow, deny } = &*self.patterns;
        (allow.is_empty() || is_any(allow)) && !is_any(deny)
    }

    /// Refuses a call of a tool that is not offered, as if the server did not have it.
    pub(super) fn check(&self, params: &RawJson) -> Result<(), RpcError> {
        let params: ObjectMembers = params.parse().unwrap_or_default();
        match rewriting::text(&params, "name") {
            Some(tool) if self.offers(&tool) => Ok(()),
            Some(tool) => Err(RpcError::invalid_params(format!("Unknown tool: {tool}"))),
            None => Err(RpcError::invalid_params("The params have no name of a tool")),
        }
    }

    /// Leaves out of a list what is not offered.
    ///
    /// # Errors
    /// If it is no list of tools.
    pub(super) fn apply(&self, list: &RawJson) -> Result<RawJson, RpcError> {
        let applied = || -> Option<RawJson> {
            let mut list: ObjectMembers = list.parse().ok()?;
            rewriting::in_member(&mut list, "tools", |tools: &mut Vec<ObjectMembers>| {
                tools.retain(|tool| rewriting::text(tool, "name").is_some_and(|name| self.offers(&name)));
                Some(())
            })?;
            RawJson::from_value(&list).ok()
        };
        applied().ok_or_else(RpcError::internal)
    }
}
