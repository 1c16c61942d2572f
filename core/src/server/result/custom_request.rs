//! Results of custom requests.

use super::{rpc_error::error_of, writer::ResultWriter};
use crate::{
    protocol::{RawJson, Revision, RpcError},
    server::handlers::Outcome,
};
use indexmap::IndexMap;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Converts the outcome of a handler to a result: the object that it returned, or an empty one for
/// `null`. Values are passed on exactly as written.
pub(in crate::server) fn render_object(
    results: &ResultWriter,
    what: &str,
    revision: Revision,
    outcome: Outcome,
) -> Result<RawJson, RpcError> {
    let fault = |problem: String| error_of(results, what, Outcome::Internal(problem));
    let raw = match outcome {
        Outcome::Value(raw) | Outcome::Object(raw) | Outcome::Result(raw) => raw,
        Outcome::Text(_) | Outcome::Content(_) => return Err(fault("a result must be an object, not content".into())),
        other => return Err(error_of(results, what, other)),
    };
    let text = raw.as_bytes().trim_ascii();
    if text == b"null" {
        return Ok(results.seal(b"{".to_vec(), revision));
    }
    let Some(open) = text.strip_suffix(b"}").filter(|text| text.starts_with(b"{")) else {
        let given = String::from_utf8_lossy(text);
        return Err(fault(format!("a result must be an object, such as {{\"value\": …}}, not {given:.60}")));
    };
    let unread = |error: serde_json::Error| fault(format!("its result cannot be read: {error}"));
    let members: IndexMap<Cow<'_, str>, &RawValue> = raw.parse().map_err(unread)?;
    if ["_meta", "resultType"].iter().any(|name| members.contains_key(*name)) {
        return Ok(results.seal_object(raw.parse().map_err(unread)?, revision));
    }
    Ok(results.seal(open.trim_ascii_end().to_vec(), revision))
}
