//! Results made by middleware or a remote server.

use super::active_request::ActiveRequest;
use crate::{
    composition::rewriting::{self, ObjectMembers},
    protocol::{RawJson, RevisionFeature, method, project},
    server::result::{CacheHints, as_written},
};
use serde_json::{Map, Value, json, value::RawValue};

impl ActiveRequest {
    /// Projects a full result to the revision and adds the name of this server. Unknown members are
    /// kept, and those that the revision has as they are stay as they were written: a `Value`
    /// rounds long integers.
    ///
    /// # Errors
    /// If it cannot be parsed.
    pub(super) fn pass(&self, result: &RawJson) -> serde_json::Result<RawJson> {
        let (mut members, revision) = (result.parse::<ObjectMembers>()?, self.info.revision);
        // A number of any length is kept, but no `Value` can hold it: what has one is projected as
        // if it were empty.
        let empty = |member: &RawValue| if member.get().starts_with('{') { json!({}) } else { Value::Null };
        let given: Map<String, Value> = members
            .iter()
            .map(|(name, member)| (name.clone(), serde_json::from_str(member.get()).unwrap_or_else(|_| empty(member))))
            .collect();
        let mut projected = Value::Object(given.clone());
        project::project_result(self.method, &mut projected, revision);
        let projected = projected.as_object().cloned().unwrap_or_default();
        for (_, changed) in members.iter().filter(|(name, _)| projected.get(*name) != given.get(*name)) {
            serde_json::from_str::<Value>(changed.get())?;
        }
        members.retain(|name, _| projected.contains_key(name));
        for (name, member) in projected.iter().filter(|(name, member)| given.get(*name) != Some(*member)) {
            match members.get_mut(name).zip(given.get(name)) {
                Some((written, given)) => *written = as_written(written, given, member),
                None => rewriting::set(&mut members, name, member),
            }
        }
        if self.row.cacheable && revision.supports(RevisionFeature::CacheHints) {
            // The hints of the server are those of its lists. Contents can differ between callers,
            // and a server of the legacy era never said that they may be kept.
            let unknown = CacheHints::default();
            let is_read = matches!(self.method, method::RESOURCES_READ | method::SKILLS_GET);
            complete_hints(&mut members, if is_read { &unknown } else { &self.results().cache });
        }
        Ok(self.results().seal_members(members, revision))
    }
}

/// CCH-01, CCH-14: complete results of these methods have caching hints, wherever they come from.
fn complete_hints(members: &mut ObjectMembers, hints: &CacheHints) {
    if rewriting::text(members, "resultType").is_some_and(|kind| kind != "complete") {
        return;
    }
    if !members.contains_key("ttlMs") {
        rewriting::set(members, "ttlMs", &hints.ttl_ms());
    }
    if !members.contains_key("cacheScope") {
        rewriting::set(members, "cacheScope", &hints.scope.as_str());
    }
}
