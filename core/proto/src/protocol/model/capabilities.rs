//! The capabilities of clients and servers.

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
