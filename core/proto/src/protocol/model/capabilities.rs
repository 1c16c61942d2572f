//! How clients and servers describe themselves: names, versions and capabilities.

use super::JsonObject;
use serde_json::Value;

json_object! {
    /// The capabilities of a client.
    pub struct ClientCapabilities {
        /// Elicitation: the client can ask its user.
        optional elicitation: ElicitationCapability = "elicitation" since V2025_06_18,
        /// Sampling: the client can run prompts on its model.
        optional sampling: SamplingCapability = "sampling",
        /// Roots: the client can list them.
        optional roots: ListChangedCapability = "roots",
        /// Tasks (2025-11-25).
        optional tasks: Value = "tasks" since V2025_11_25 until V2025_11_25,
        /// Extensions by identifier, each with its settings.
        optional extensions: JsonObject = "extensions",
        /// Capabilities outside the specification.
        optional experimental: JsonObject = "experimental",
    }

    /// The capabilities of a server.
    pub struct ServerCapabilities {
        /// Tools.
        optional tools: ListChangedCapability = "tools",
        /// Resources.
        optional resources: ResourcesCapability = "resources",
        /// Prompts.
        optional prompts: ListChangedCapability = "prompts",
        /// Completion of arguments.
        optional completions: JsonObject = "completions" since V2025_03_26,
        /// Log messages.
        optional logging: JsonObject = "logging",
        /// Tasks (2025-11-25).
        optional tasks: Value = "tasks" since V2025_11_25 until V2025_11_25,
        /// Extensions by identifier, each with its settings.
        optional extensions: JsonObject = "extensions",
        /// Capabilities outside the specification.
        optional experimental: JsonObject = "experimental",
    }

    /// A capability whose list can change.
    pub struct ListChangedCapability {
        /// True if the server sends notifications of changes.
        flag list_changed = "listChanged",
    }

    /// The capability to serve resources.
    pub struct ResourcesCapability {
        /// True if the server sends notifications of changes to the list.
        flag list_changed = "listChanged",
        /// True if clients can subscribe to updates of a resource.
        flag subscribe = "subscribe",
    }

    /// The capability to ask the user.
    pub struct ElicitationCapability {
        /// Forms. An empty capability also means forms.
        optional form: JsonObject = "form" since V2025_11_25,
        /// URLs to open.
        optional url: JsonObject = "url" since V2025_11_25,
    }

    /// The capability to run prompts.
    pub struct SamplingCapability {
        /// True if context of other servers can be included.
        optional context: JsonObject = "context" since V2025_11_25,
        /// True if the model may use tools.
        optional tools: JsonObject = "tools" since V2025_11_25,
    }
}

impl From<ClientCapabilities> for Value {
    fn from(capabilities: ClientCapabilities) -> Self {
        serde_json::to_value(capabilities).unwrap_or_default()
    }
}

json_object! {
    /// The name and version of a client or server.
    pub struct Implementation {
        /// Name, for programs.
        required name: String = "name",
        /// Display name.
        optional title: String = "title" since V2025_06_18,
        /// Version, in the implementation's own format.
        required version: String = "version",
        /// Human-readable description of the implementation.
        optional description: String = "description" since V2025_11_25,
        /// URL of a page about the implementation.
        optional website_url: String = "websiteUrl" since V2025_11_25,
        /// Icons for a user interface.
        optional icons: Vec<Icon> = "icons" since V2025_11_25,
    }

    /// An icon for user interfaces.
    pub struct Icon {
        /// `https:` or `data:` URI of the icon.
        required src: String = "src",
        /// MIME type, if the URI does not imply it.
        optional mime_type: String = "mimeType",
        /// Sizes such as `48x48`, or `any`.
        optional sizes: Vec<String> = "sizes",
        /// Background that the icon is designed for.
        optional theme: String = "theme" in ["light", "dark"],
    }
}

impl Implementation {
    /// Creates an implementation with a name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }
}

impl Icon {
    /// Creates an icon for a URI.
    pub fn new(src: impl Into<String>) -> Self {
        Self { src: src.into(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::JsonObject;
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_fields_are_kept_and_empty_ones_are_not_written() {
        let wire = json!({"name": "n", "version": "1", "icons": [{"src": "data:,", "x": 1}], "vendor": {"a": null}});
        let read: Implementation = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(read.extra, JsonObject::from_iter([("vendor".to_owned(), json!({"a": null}))]));
        assert_eq!(serde_json::to_value(&read).unwrap(), wire);
        assert_eq!(serde_json::to_value(Implementation::new("n", "1")).unwrap(), json!({"name": "n", "version": "1"}));
    }

    #[test]
    fn errors_name_the_field() {
        let missing = serde_json::from_value::<Implementation>(json!({"name": "n"})).unwrap_err();
        assert!(missing.to_string().contains("`version`"), "{missing}");
        let wrong = serde_json::from_value::<Implementation>(json!({"name": 1, "version": "1"})).unwrap_err();
        assert!(wrong.to_string().contains("`name`"), "{wrong}");
        assert!(serde_json::from_value::<Implementation>(json!([])).is_err());
    }
}
