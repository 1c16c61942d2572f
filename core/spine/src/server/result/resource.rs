//! Results of reading resources.

use super::{
    cache_hints::CacheHints,
    rpc_error::{error_of, lossy, unreadable},
    writer::ResultWriter,
};
use crate::{
    protocol::{RawJson, Revision, RevisionFeature, RpcError, model::ReadResourceResult, project},
    server::handlers::Outcome,
};
use serde_json::{Map, Value, json};

/// The resource that is being read.
pub(in crate::server) struct ReadOf<'a> {
    pub(in crate::server) uri: &'a str,
    pub(in crate::server) mime_type: Option<&'a str>,
    pub(in crate::server) cache: &'a CacheHints,
}

/// Converts the outcome of a read to a result.
pub(in crate::server) fn render_read(
    results: &ResultWriter,
    of: &ReadOf<'_>,
    revision: Revision,
    outcome: Outcome,
) -> Result<RawJson, RpcError> {
    let text = |text: String, fallback: &str| json!({"contents": [{"uri": of.uri, "mimeType": of.mime_type.unwrap_or(fallback), "text": text}]});
    let unread = |error| error_of(results, &format!("the resource {}", of.uri), unreadable(error));
    let written = match &outcome {
        Outcome::Result(raw) => Some(raw.clone()),
        _ => None,
    };
    let mut result = match outcome {
        Outcome::Text(content) => text(content, "text/plain"),
        // As for a provider: a handler without contents for this URI returns `null`.
        Outcome::Value(raw) if raw.as_bytes() == b"null" => {
            return Err(RpcError::resource_not_found(of.uri, revision));
        }
        Outcome::Object(raw) | Outcome::Value(raw) => text(lossy(&raw), "application/json"),
        Outcome::Content(raw) => match raw.parse().map_err(unread)? {
            Value::Array(contents) => json!({"contents": contents}),
            one => json!({"contents": [one]}),
        },
        Outcome::Result(raw) => {
            let result = raw.parse().map_err(unread)?;
            results.unknown.note::<ReadResourceResult>(of.uri, &result);
            result
        }
        Outcome::NotFound => return Err(RpcError::resource_not_found(of.uri, revision)),
        other => return Err(error_of(results, &format!("the resource {}", of.uri), other)),
    };
    let fault =
        |problem: &str| error_of(results, &format!("the resource {}", of.uri), Outcome::Internal(problem.into()));
    let Some(contents) = result.get_mut("contents").and_then(Value::as_array_mut) else {
        return Err(fault("its result has no array `contents`"));
    };
    // RES-08: a missing resource is an error, and contents are never empty otherwise.
    if contents.is_empty() {
        return Err(fault("it returned no contents"));
    }
    for content in contents.iter_mut() {
        let Some(members) = content.as_object_mut() else { return Err(fault("its contents must be objects")) };
        complete(members, of);
        if members.contains_key("text") == members.contains_key("blob") {
            return Err(fault("each of its contents needs either text or blob"));
        }
    }
    project::project_read_result(&mut result, revision);
    if revision.supports(RevisionFeature::CacheHints) {
        let members = result.as_object_mut().ok_or_else(RpcError::internal)?;
        members.entry("ttlMs").or_insert_with(|| of.cache.ttl_ms().into());
        members.entry("cacheScope").or_insert_with(|| of.cache.scope.as_str().into());
    }
    Ok(results.seal_result(result, written.as_ref(), revision))
}

/// Fills in the members that a handler may omit.
fn complete(content: &mut Map<String, Value>, of: &ReadOf<'_>) {
    // An empty URI is treated as missing, because no resource has it.
    if content.get("uri").is_none_or(|uri| uri == "") {
        content.insert("uri".into(), of.uri.into());
    }
    if let Some(mime_type) = of.mime_type {
        content.entry("mimeType").or_insert_with(|| mime_type.into());
    }
}
