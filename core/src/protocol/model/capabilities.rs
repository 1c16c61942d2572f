//! What a peer can do.

use super::JsonObject;
use serde_json::Value;

json_object! {
    /// What a client can do for a server.
    pub struct ClientCapabilities {
        /// It answers questions to its user.
        optional elicitation: ElicitationCapability = "elicitation",
        /// It runs prompts on its model.
        optional sampling: SamplingCapability = "sampling",
        /// It tells its roots.
        optional roots: ListChangedCapability = "roots",
        /// Tasks of 2025-11-25.
        optional tasks: Value = "tasks",
        /// Extensions by identifier, each with its settings.
        optional extensions: JsonObject = "extensions",
        /// Capabilities outside the specification.
        optional experimental: JsonObject = "experimental",
    }
}

json_object! {
    /// What a server can do.
    pub struct ServerCapabilities {
        /// It offers tools.
        optional tools: ListChangedCapability = "tools",
        /// It offers resources.
        optional resources: ResourcesCapability = "resources",
        /// It offers prompts.
        optional prompts: ListChangedCapability = "prompts",
        /// It completes arguments.
        optional completions: JsonObject = "completions",
        /// It sends log messages.
        optional logging: JsonObject = "logging",
        /// Tasks of 2025-11-25.
        optional tasks: Value = "tasks",
        /// Extensions by identifier, each with its settings.
        optional extensions: JsonObject = "extensions",
        /// Capabilities outside the specification.
        optional experimental: JsonObject = "experimental",
    }
}

json_object! {
    /// A capability whose list can change.
    pub struct ListChangedCapability {
        /// Changes are notified.
        flag list_changed = "listChanged",
    }
}

json_object! {
    /// The capability to offer resources.
    pub struct ResourcesCapability {
        /// Changes of the list are notified.
        flag list_changed = "listChanged",
        /// Updates of one resource can be subscribed to.
        flag subscribe = "subscribe",
    }
}

json_object! {
    /// The capability to ask the user.
    pub struct ElicitationCapability {
        /// By a form; an empty capability means this one.
        optional form: JsonObject = "form",
        /// By opening a URL.
        optional url: JsonObject = "url",
    }
}

json_object! {
    /// The capability to run prompts.
    pub struct SamplingCapability {
        /// Context of other servers can be included.
        optional context: JsonObject = "context",
        /// The model may use tools.
        optional tools: JsonObject = "tools",
    }
}
