//! The extensions of the protocol that bring methods or metadata of their own.

use serde_json::{Value, json};

/// An extension, as both sides name it in `capabilities.extensions`.
#[derive(Debug, PartialEq, Eq)]
pub struct Extension {
    /// Its identifier.
    pub id: &'static str,
    /// Whether a client has to declare it before it may use the extension's methods (TKX-21); skills need no declaration (SKL-07).
    pub client_declares: bool,
}

/// Long-running work that is polled for (SEP-2663).
pub static TASKS: Extension = Extension { id: "io.modelcontextprotocol/tasks", client_declares: true };
/// Agent skills served as resources (SEP-2640).
pub static SKILLS: Extension = Extension { id: "io.modelcontextprotocol/skills", client_declares: false };
/// MCP Apps: user interfaces served as `ui://` resources (SEP-1865).
pub static APPS: Extension = Extension { id: "io.modelcontextprotocol/ui", client_declares: true };

impl Extension {
    /// Whether capabilities, of a client or of a server, declare this extension. Its settings must be an object (EXT-01).
    pub fn is_in(&self, capabilities: &Value) -> bool {
        self.settings(capabilities).is_some()
    }

    /// The settings with which capabilities declare this extension.
    pub fn settings<'a>(&self, capabilities: &'a Value) -> Option<&'a Value> {
        capabilities.get("extensions")?.get(self.id).filter(|settings| settings.is_object())
    }

    /// The capabilities that a client lacks if it does not declare this extension, as `data.requiredCapabilities` names them (TKX-26).
    pub fn required(&self) -> Value {
        json!({"extensions": {self.id: {}}})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ext_01_an_extension_is_declared_by_an_object_under_its_id() {
        let declared = json!({"extensions": {"io.modelcontextprotocol/tasks": {"a": 1}}});
        assert_eq!(TASKS.settings(&declared), Some(&json!({"a": 1})));
        assert!(!SKILLS.is_in(&declared));
        for other in [json!({}), json!({"extensions": {TASKS.id: true}}), json!({"tasks": {}}), json!(null)] {
            assert!(!TASKS.is_in(&other), "{other}");
        }
    }

    #[test]
    fn tkx_26_what_is_required_is_a_declaration() {
        assert!(TASKS.is_in(&TASKS.required()));
    }
}
