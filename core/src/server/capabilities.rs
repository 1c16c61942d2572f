//! Capabilities: what a server declares, and whether a client declared what something needs.

use super::{
    Server,
    catalog::{Changes, Snapshot},
    serving::Serving,
};
use crate::protocol::{Era, Feature, Revision, RpcError, extension, project};
use serde_json::{Value, json};

impl Server {
    /// What is declared now to a client of this revision: what answers, and nothing else. `comes_back`: the client has a session.
    pub(super) fn capabilities(&self, snapshot: &Snapshot, revision: Revision, comes_back: bool) -> Value {
        let offered = snapshot.offered();
        let mut declared = json!({});
        // Without a session nothing that a client sets, a log level say, lives on, and there is nowhere to tell it of changes.
        let tells = comes_back || revision.era() == Era::Modern;
        if tells {
            declared["logging"] = json!({});
        }
        let list = || if tells { json!({"listChanged": true}) } else { json!({}) };
        if offered.has(Changes::TOOLS) {
            declared["tools"] = list();
        }
        if offered.has(Changes::RESOURCES) {
            declared["resources"] = list();
            if tells {
                declared["resources"]["subscribe"] = true.into();
            }
        }
        if offered.has(Changes::PROMPTS) {
            declared["prompts"] = list();
        }
        if snapshot.completes {
            declared["completions"] = json!({});
        }
        if snapshot.has_tasks {
            // EXT-05: whoever registers a tool that may run as a task opts in, in the form of the revision (TKX-48).
            if comes_back {
                // TSK-34: without a session nobody could come back for a task, or be told apart from others.
                declared["tasks"] = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
            }
            if revision.supports(Feature::TasksExtension) {
                declared["extensions"][extension::TASKS.id] = json!({});
            }
        }
        if snapshot.has_skills && revision.supports(Feature::SkillsExtension) {
            declared["extensions"][extension::SKILLS.id] = json!({"directoryRead": true});
        }
        for (name, settings) in &self.options().extensions {
            declared["extensions"][name.as_str()] = settings.clone();
        }
        if !self.options().experimental.is_empty() {
            declared["experimental"] = self.options().experimental.clone().into();
        }
        project::project_server_capabilities(&mut declared, revision);
        declared
    }
}

impl Serving {
    /// Refuses what sets something for later, where nothing lives on: a server without sessions, up to 2025-11-25.
    pub(super) fn check_session(&self) -> Result<(), RpcError> {
        if self.connection.is_stateless() { Err(RpcError::method_not_found(self.method)) } else { Ok(()) }
    }
}

impl Snapshot {
    /// The lists that are declared. A server that offers nothing yet is one of tools that come later.
    pub(super) fn offered(&self) -> Changes {
        if self.offered == Changes::NONE { Changes::TOOLS } else { self.offered }
    }
}

/// Whether every member of `required` is declared, at every depth.
pub(super) fn covers(declared: &Value, required: &Value) -> bool {
    match required.as_object() {
        Some(members) => {
            members.iter().all(|(name, inner)| declared.get(name).is_some_and(|found| covers(found, inner)))
        }
        None => true,
    }
}
