//! Protocol extensions that add their own methods or metadata.

use serde_json::{Value, json};

/// An extension, as declared in `capabilities.extensions`.
#[derive(Debug, PartialEq, Eq)]
pub struct Extension {
    /// Its identifier.
    pub id: &'static str,
    /// `true` if a client must declare it before using the extension's methods; skills need no
    /// declaration.
    pub client_declares: bool,
}

/// Long-running work that clients poll for (SEP-2663).
pub static TASKS: Extension = Extension { id: "io.modelcontextprotocol/tasks", client_declares: true };
/// Agent skills served as resources (SEP-2640).
pub static SKILLS: Extension = Extension { id: "io.modelcontextprotocol/skills", client_declares: false };
/// MCP Apps: user interfaces served as `ui://` resources (SEP-1865).
pub static APPS: Extension = Extension { id: "io.modelcontextprotocol/ui", client_declares: true };

/// Checks the id of an extension: a prefix of labels separated by dots, a slash, and a name (the
/// rules of `_meta` keys).
///
/// # Errors
/// If the id is malformed.
pub fn check_id(id: &str) -> Result<(), String> {
    let (prefix, name) = id.rsplit_once('/').unwrap_or(("", id));
    let between = |text: &str, first: fn(&u8) -> bool| {
        text.as_bytes().first().is_some_and(first) && text.as_bytes().last().is_some_and(u8::is_ascii_alphanumeric)
    };
    let is_label = |label: &str| {
        between(label, u8::is_ascii_alphabetic)
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_name = between(name, u8::is_ascii_alphanumeric)
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if prefix.split('.').all(is_label) && is_name {
        return Ok(());
    }
    Err(format!("{id:?} is not a valid extension id; use one like \"com.example/name\""))
}

impl Extension {
    /// Returns whether the capabilities of a client or server declare this extension. Its settings
    /// must be an object.
    pub fn is_in(&self, capabilities: &Value) -> bool {
        self.settings(capabilities).is_some()
    }

    /// The settings with which capabilities declare this extension.
    pub fn settings<'a>(&self, capabilities: &'a Value) -> Option<&'a Value> {
        capabilities.get("extensions")?.get(self.id).filter(|settings| settings.is_object())
    }

    /// The capabilities that a client lacks if it doesn't declare this extension, in the form of
    /// `data.requiredCapabilities`.
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
    fn ext_02_ids_have_a_prefix_and_a_name() {
        for good in [TASKS.id, SKILLS.id, APPS.id, "com.example/x", "example/a-b_c.d1", "a1.b-2/3"] {
            assert_eq!(check_id(good), Ok(()));
        }
        for bad in [
            "tasks",
            "",
            "/x",
            "com.example/",
            "com..example/x",
            "1com/x",
            "com-/x",
            "com.ex ample/x",
            "a/b/c d",
            "a/-b",
        ] {
            assert!(check_id(bad).unwrap_err().contains("com.example/name"), "{bad}");
        }
    }

    #[test]
    fn tkx_26_what_is_required_is_a_declaration() {
        assert!(TASKS.is_in(&TASKS.required()));
    }
}
