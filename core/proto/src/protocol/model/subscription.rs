//! Subscriptions of a client: one form for every revision.

use super::Task;

json_object! {
    /// The changes that a subscription is for. At least one of them is named.
    pub struct SubscriptionFilter {
        /// URIs of resources whose contents may change.
        optional resources: Vec<String> = "resources",
        /// The list of tools.
        flag tools = "tools",
        /// The list of prompts.
        flag prompts = "prompts",
        /// The list of resources, and that of resource templates.
        flag resource_list = "resourceList",
        /// Ids of tasks (2025-11-25, and the tasks extension of 2026-07-28).
        optional tasks: Vec<String> = "tasks",
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
    /// The URIs of resources.
    pub fn resources(&self) -> &[String] {
        self.resources.as_deref().unwrap_or_default()
    }

    /// The ids of tasks.
    pub fn tasks(&self) -> &[String] {
        self.tasks.as_deref().unwrap_or_default()
    }

    /// Returns `true` if it names nothing.
    pub fn is_empty(&self) -> bool {
        !(self.tools || self.prompts || self.resource_list) && self.resources().is_empty() && self.tasks().is_empty()
    }
}

impl From<&str> for SubscriptionFilter {
    /// One resource.
    fn from(uri: &str) -> Self {
        [uri].into()
    }
}

impl<T: Into<String>, const N: usize> From<[T; N]> for SubscriptionFilter {
    /// Resources by their URIs.
    fn from(uris: [T; N]) -> Self {
        uris.into_iter().map(Into::into).collect::<Vec<String>>().into()
    }
}

impl From<Vec<String>> for SubscriptionFilter {
    /// Resources by their URIs.
    fn from(uris: Vec<String>) -> Self {
        Self::default().with_resources(uris)
    }
}

json_object! {
    /// A change at the server, as a subscription gives it.
    pub struct Change {
        /// The thing that changed.
        required kind: ChangeKind = "kind",
        /// The URI of the resource (`resource`); it may lie below the one that was subscribed to.
        optional uri: String = "uri",
        /// The task as it is now (`task`).
        optional task: Task = "task",
    }
}

json_names! {
    /// The thing that changed.
    pub enum ChangeKind, by default Missed {
        /// The contents of a resource.
        Resource = "resource",
        /// The list of resources or of resource templates.
        ResourceList = "resourceList",
        /// The list of tools.
        Tools = "tools",
        /// The list of prompts.
        Prompts = "prompts",
        /// A task.
        Task = "task",
        /// Anything that the subscription is for: changes may have been missed, because the stream
        /// from the server was lost and opened again, or because more changed than the program
        /// took.
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
