//! Subscriptions of a client, in one form for all revisions.

use super::Task;

json_object! {
    /// The changes to subscribe to; at least one is required.
    pub struct SubscriptionFilter {
        /// URIs of resources whose contents may change.
        optional resources: Vec<String> = "resources",
        /// Changes of the list of tools.
        flag tools = "tools",
        /// Changes of the list of prompts.
        flag prompts = "prompts",
        /// Changes of the lists of resources and resource templates.
        flag resource_list = "resourceList",
        /// Ids of tasks (2025-11-25, and the tasks extension of 2026-07-28).
        optional tasks: Vec<String> = "tasks",
    }

    /// A change at the server, as a subscription reports it.
    pub struct Change {
        /// Kind of change.
        required kind: ChangeKind = "kind",
        /// URI of the resource (`resource`); may be below the subscribed one.
        optional uri: String = "uri",
        /// Current state of the task (`task`).
        optional task: Task = "task",
    }
}

crate::setters!(SubscriptionFilter {
    [into] with_resources resources: Option<Vec<String>>,
    [] with_tools tools: bool,
    [] with_prompts prompts: bool,
    [] with_resource_list resource_list: bool,
    [into] with_tasks tasks: Option<Vec<String>>,
});

impl SubscriptionFilter {
    /// Returns the URIs of resources.
    pub fn resources(&self) -> &[String] {
        self.resources.as_deref().unwrap_or_default()
    }

    /// Returns the ids of tasks.
    pub fn tasks(&self) -> &[String] {
        self.tasks.as_deref().unwrap_or_default()
    }

    /// Returns `true` if the filter selects nothing.
    pub fn is_empty(&self) -> bool {
        !(self.tools || self.prompts || self.resource_list) && self.resources().is_empty() && self.tasks().is_empty()
    }
}

impl From<&str> for SubscriptionFilter {
    /// Subscribes to one resource.
    fn from(uri: &str) -> Self {
        [uri].into()
    }
}

impl<T: Into<String>, const N: usize> From<[T; N]> for SubscriptionFilter {
    /// Subscribes to resources by their URIs.
    fn from(uris: [T; N]) -> Self {
        uris.into_iter().map(Into::into).collect::<Vec<String>>().into()
    }
}

impl From<Vec<String>> for SubscriptionFilter {
    /// Subscribes to resources by their URIs.
    fn from(uris: Vec<String>) -> Self {
        Self::default().with_resources(uris)
    }
}

crate::json_names! {
    /// Kind of change.
    pub enum ChangeKind, by default Missed {
        /// The contents of a resource.
        Resource = "resource",
        /// The list of resources or resource templates.
        ResourceList = "resourceList",
        /// The list of tools.
        Tools = "tools",
        /// The list of prompts.
        Prompts = "prompts",
        /// A task.
        Task = "task",
        /// Possibly anything in the subscription: changes may have been missed, because the stream
        /// from the server was lost and reopened, or because changes arrived faster than the
        /// program read them.
        Missed = "missed",
    }
}

impl From<ChangeKind> for Change {
    fn from(kind: ChangeKind) -> Self {
        Self { kind, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn filters_and_changes_round_trip() {
        let wire = json!({"resources": ["a:1"], "tools": true, "tasks": ["t"]});
        let filter: SubscriptionFilter = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(filter, SubscriptionFilter::from("a:1").with_tools(true).with_tasks(vec!["t".to_owned()]));
        assert_eq!(serde_json::to_value(&filter).unwrap(), wire);
        assert!(!filter.is_empty() && SubscriptionFilter::default().is_empty());
        assert!(SubscriptionFilter::from(Vec::new()).is_empty());
        let change = Change { uri: Some("a:1".into()), ..ChangeKind::Resource.into() };
        assert_eq!(serde_json::to_value(change).unwrap(), json!({"kind": "resource", "uri": "a:1"}));
    }
}
