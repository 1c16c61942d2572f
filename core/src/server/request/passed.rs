//! Results made by middleware or a remote server.

use super::active_request::ActiveRequest;
use crate::{
    protocol::{RawJson, RevisionFeature, method, project},
    server::result::CacheHints,
};
use serde_json::Value;

impl ActiveRequest {
    /// Projects a full result to the revision and adds the name of this server. Unknown members are
    /// kept.
    ///
    /// # Errors
    /// If it cannot be parsed.
    pub(super) fn pass(&self, result: &RawJson) -> serde_json::Result<RawJson> {
        let (mut result, revision) = (result.parse()?, self.info.revision);
        project::project_result(self.method, &mut result, revision);
        if self.row.cacheable && revision.supports(RevisionFeature::CacheHints) {
            // The hints of the server are those of its lists. Contents can differ between callers,
            // and a server of the legacy era never said that they may be kept.
            let unknown = CacheHints::default();
            let is_read = matches!(self.method, method::RESOURCES_READ | method::SKILLS_GET);
            complete_hints(&mut result, if is_read { &unknown } else { &self.results().cache });
        }
        Ok(self.results().seal_object(result, revision))
    }
}

/// CCH-01, CCH-14: complete results of these methods have caching hints, wherever they come from.
fn complete_hints(result: &mut Value, hints: &CacheHints) {
    let Some(members) = result.as_object_mut() else { return };
    if members.get("resultType").is_none_or(|kind| kind == "complete") {
        members.entry("ttlMs").or_insert_with(|| hints.ttl_ms().into());
        members.entry("cacheScope").or_insert_with(|| hints.scope.as_str().into());
    }
}
