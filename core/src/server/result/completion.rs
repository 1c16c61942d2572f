//! Results of completions.

use super::{rpc_error::error_of, writer::ResultWriter};
use crate::{
    protocol::{RawJson, Revision, RpcError, project},
    server::handlers::Outcome,
};
use serde_json::{Value, json};

/// More values than this are not sent (CMP-02).
const MAX_VALUES: usize = 100;

/// Converts the outcome of a completion (an array of strings, or an object with `values`) to a
/// result.
pub(in crate::server) fn render_completion(
    results: &ResultWriter,
    revision: Revision,
    outcome: Outcome,
) -> Result<RawJson, RpcError> {
    let raw = match outcome {
        Outcome::Value(raw) | Outcome::Content(raw) | Outcome::Object(raw) | Outcome::Result(raw) => raw,
        other => return Err(error_of(results, "a completion", other)),
    };
    let fault = || {
        let problem = "it returned neither strings nor an object with values";
        error_of(results, "a completion", Outcome::Internal(problem.into()))
    };
    let given: Value = raw.parse().map_err(|_| RpcError::internal())?;
    let (given, meta) = match given {
        Value::Array(values) => (json!({"values": values}), None),
        Value::Object(mut members) => {
            let meta = members.shift_remove("_meta");
            (members.shift_remove("completion").unwrap_or(Value::Object(members)), meta)
        }
        _ => return Err(fault()),
    };
    let Some(values) = given.get("values").and_then(Value::as_array) else { return Err(fault()) };
    if !values.iter().all(Value::is_string) {
        return Err(fault());
    }
    let total = given.get("total").and_then(Value::as_u64).unwrap_or(values.len() as u64);
    let first = &values[..values.len().min(MAX_VALUES)];
    let more = given.get("hasMore").and_then(Value::as_bool).unwrap_or(total > first.len() as u64);
    let mut result =
        json!({"completion": {"values": first, "total": total, "hasMore": more || first.len() < values.len()}});
    if let Some(meta) = meta {
        result["_meta"] = meta;
    }
    project::project_complete_result(&mut result, revision);
    Ok(results.seal_object(result, revision))
}
