//! Results made by middleware or a remote server.

use super::{cache_hints::CacheHints, tool::ToolRenderer, writer::ResultWriter};
use crate::{
    protocol::{RawJson, Revision, RevisionFeature, RpcError, method, project},
    server::handlers::Outcome,
};
use serde_json::Value;

/// Projects a full result to a revision and adds the name of this server. Unknown members are kept.
///
/// # Errors
/// If it cannot be parsed.
pub(in crate::server) fn pass_result(
    results: &ResultWriter,
    method: &str,
    cacheable: bool,
    revision: Revision,
    result: &RawJson,
) -> serde_json::Result<RawJson> {
    let mut result = result.parse()?;
    project::project_result(method, &mut result, revision);
    if cacheable && revision.supports(RevisionFeature::CacheHints) {
        // The hints of the server are those of its lists. Contents can differ between callers, and
        // a server of the legacy era never said that they may be kept.
        let unknown = CacheHints::default();
        let is_read = matches!(method, method::RESOURCES_READ | method::SKILLS_GET);
        complete_hints(&mut result, if is_read { &unknown } else { results.cache() });
    }
    Ok(results.seal_object(result, revision))
}

/// Converts the result of a remote server for a client of this one. Structured content is passed on
/// exactly as written.
pub(in crate::server) fn render_remote(
    results: &ResultWriter,
    method: &str,
    cacheable: bool,
    revision: Revision,
    result: RawJson,
) -> Result<RawJson, RpcError> {
    if method == method::TOOLS_CALL {
        // The remote server is responsible for its output schema.
        return ToolRenderer { results, revision, name: "", output: None }.render(Outcome::Result(result));
    }
    pass_result(results, method, cacheable, revision, &result).map_err(|error| {
        tracing::error!(target: "trunkline::server::handlers", method, %error, "the result of a remote server cannot be read");
        RpcError::internal()
    })
}

/// CCH-01, CCH-14: complete results of these methods have caching hints, wherever they come from.
fn complete_hints(result: &mut Value, hints: &CacheHints) {
    let Some(members) = result.as_object_mut() else { return };
    if members.get("resultType").is_none_or(|kind| kind == "complete") {
        members.entry("ttlMs").or_insert_with(|| hints.ttl_ms().into());
        members.entry("cacheScope").or_insert_with(|| hints.scope.as_str().into());
    }
}
