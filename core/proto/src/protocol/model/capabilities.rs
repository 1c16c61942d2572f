//! The capabilities of clients and servers.

use super::JsonObject;
use serde_json::Value;

json_object! {
    /// The capabilities of a client.
    pub struct ClientCapabilities {
        /// Elicitation: the client can ask its user.
        optional elicitation: ElicitationCapability = "elicitation",
        /// It runs prompts on its model.
        optional sampling: SamplingCapability = "sampling",
        /// Roots: the client can list them.
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
    /// The capabilities of a server.
    pub struct ServerCapabilities {
        /// Tools.
        optional tools: ListChangedCapability = "tools",
        /// Resources.
        optional resources: ResourcesCapability = "resources",
        /// Prompts.
        optional prompts: ListChangedCapability = "prompts",
        /// Completion of arguments.
        optional completions: JsonObject = "completions",
        /// Log messages.
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
        /// Notifications of changes.
        flag list_changed = "listChanged",
    }
}

json_object! {
    /// The capability to offer resources.
    pub struct ResourcesCapability {
        /// Notifications of changes to the list.
        flag list_changed = "listChanged",
        /// Subscriptions to updates of one resource.
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
