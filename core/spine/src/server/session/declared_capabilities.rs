//! The capabilities that a server declares.

use crate::{
    protocol::{Era, Revision, RevisionFeature, extension, project},
    server::{
        registry::{ListSet, Offers, RemoteDescription, Snapshot},
        server_options::ServerOptions,
    },
};
use serde_json::{Value, json};

/// The client that capabilities are declared to.
#[derive(Clone, Copy)]
pub(in crate::server) struct DeclaredFor {
    pub(in crate::server) revision: Revision,
    /// True if it has a session.
    pub(in crate::server) comes_back: bool,
}

impl DeclaredFor {
    /// The capabilities to declare to this client: only those that currently have anything behind
    /// them. `remote` is set if this server is shown as another one.
    pub(super) fn capabilities(
        self,
        options: &ServerOptions,
        snapshot: &Snapshot,
        remote: Option<&RemoteDescription>,
    ) -> Value {
        let mut declared = own_capabilities(options, snapshot, self);
        if let Some(remote) = remote {
            show_remote(&mut declared, &remote.capabilities, snapshot.own_offers());
        }
        project::project_server_capabilities(&mut declared, self.revision);
        declared
    }
}

fn own_capabilities(
    options: &ServerOptions,
    snapshot: &Snapshot,
    DeclaredFor { revision, comes_back }: DeclaredFor,
) -> Value {
    let (offered, offers) = (snapshot.offered(), snapshot.offers());
    let mut declared = json!({});
    // Without a session, nothing that a client sets (such as a log level) persists, and there is no
    // channel for change notifications.
    let notifies = comes_back || revision.era() == Era::Modern;
    if notifies {
        declared["logging"] = json!({});
    }
    let list = || if notifies { json!({"listChanged": true}) } else { json!({}) };
    if offered.has(ListSet::TOOLS) {
        declared["tools"] = list();
    }
    if offered.has(ListSet::RESOURCES) {
        declared["resources"] = list();
        if notifies {
            declared["resources"]["subscribe"] = true.into();
        }
    }
    if offered.has(ListSet::PROMPTS) {
        declared["prompts"] = list();
    }
    if offers.completions {
        declared["completions"] = json!({});
    }
    if offers.tasks {
        // EXT-05: registering a tool that may run as a task opts in, in the form of the revision
        // (TKX-48).
        if comes_back {
            // TSK-34: without a session, a client could neither retrieve a task nor be told apart
            // from others.
            declared["tasks"] = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
        }
        if revision.supports(RevisionFeature::TasksExtension) {
            declared["extensions"][extension::TASKS.id] = json!({});
        }
    }
    if offers.skills && revision.supports(RevisionFeature::SkillsExtension) {
        declared["extensions"][extension::SKILLS.id] = json!({"directoryRead": true});
    }
    for (name, settings) in &options.extensions {
        declared["extensions"][name.as_str()] = settings.clone();
    }
    if !options.experimental.is_empty() {
        declared["experimental"] = options.experimental.clone().into();
    }
    declared
}

/// Declares what a remote server declares, and what this one has besides.
fn show_remote(declared: &mut Value, remote: &Value, own: Offers) {
    const LISTS: [(&str, ListSet); 3] =
        [("tools", ListSet::TOOLS), ("resources", ListSet::RESOURCES), ("prompts", ListSet::PROMPTS)];
    let Some(members) = declared.as_object_mut() else { return };
    if remote.get("logging").is_none() && own.lists == ListSet::NONE {
        members.shift_remove("logging");
    }
    if remote.get("completions").is_none() && !own.completions {
        members.shift_remove("completions");
    }
    for (name, _) in LISTS.into_iter().filter(|(_, list)| !own.lists.has(*list)) {
        match (remote.get(name), members.get_mut(name).and_then(Value::as_object_mut)) {
            (None, _) => drop(members.shift_remove(name)),
            (Some(theirs), Some(ours)) => ours.retain(|flag, _| theirs[flag] == true),
            (Some(_), None) => {}
        }
    }
    for group in ["extensions", "experimental"] {
        for (name, settings) in remote.get(group).and_then(Value::as_object).into_iter().flatten() {
            let is_shown = match declared[group].get(name) {
                // Tasks are declared in the form of the client's revision.
                None => name != extension::TASKS.id && name != extension::SKILLS.id,
                Some(_) => name == extension::SKILLS.id && !own.skills,
            };
            if is_shown {
                declared[group][name.as_str()] = settings.clone();
            }
        }
    }
}
