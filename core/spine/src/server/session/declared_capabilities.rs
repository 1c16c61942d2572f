//! The capabilities that a server declares.

use crate::{
    protocol::{Era, Revision, RevisionFeature, extension, project},
    server::{
        registry::{ListSet, Snapshot},
        server_options::ServerOptions,
    },
};
use serde_json::{Value, json};

/// The capabilities to declare to a client of this revision: only those that currently have
/// anything behind them. `comes_back` tells whether the client has a session.
pub(super) fn capabilities(
    options: &ServerOptions,
    snapshot: &Snapshot,
    revision: Revision,
    comes_back: bool,
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
    project::project_server_capabilities(&mut declared, revision);
    declared
}
