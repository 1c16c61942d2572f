//! Routes custom requests to their handlers.

use super::access;
use crate::{
    protocol::{RawJson, RpcError},
    server::{
        handlers::Outcome,
        registry::RegisteredRequestHandler,
        request::{ActiveRequest, ResultMapper, Routed, Target},
        result::error_of,
    },
};
use indexmap::IndexMap;
use serde_json::{Value, value::RawValue};
use std::{borrow::Cow, sync::Arc};

pub(super) fn serve(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    let unknown = |context: &ActiveRequest| RpcError::method_not_found(context.method);
    let handler = Arc::clone(context.snapshot.request_handler(context.method).ok_or_else(|| unknown(context))?);
    let input = without_meta(context.method, params)?;
    let access = handler.access.clone();
    access::decide(context, &access, context.method, move |context, is_visible| {
        if !is_visible {
            return Err(unknown(context));
        }
        access::check_scopes(context, "method", context.method, &handler.access.scopes)?;
        let is_costly = handler.params.as_ref().is_some_and(|schema| schema.is_costly(input.as_bytes().len()));
        context.when_checked(is_costly, move |context| {
            if let Some(schema) = &handler.params {
                let given: Value = input.read().map_err(|problem| wrong(context.method, &problem))?;
                schema.validate(&given).map_err(|problem| wrong(context.method, &problem))?;
            }
            Ok(Routed::Run(handler, input))
        })
    })
}

fn wrong(method: &str, problem: &dyn std::fmt::Display) -> RpcError {
    RpcError::invalid_params(format!("{method}: {problem}"))
}

/// Removes `_meta` from the params. The other values keep their exact JSON text.
fn without_meta(method: &str, params: Option<&RawJson>) -> Result<RawJson, RpcError> {
    let Some(params) = params else { return Ok(RawJson::empty_object()) };
    let mut members: IndexMap<Cow<'_, str>, &RawValue> =
        params.read().map_err(|problem| wrong(method, &format_args!("the params must be an object: {problem}")))?;
    if members.shift_remove("_meta").is_none() {
        return Ok(params.clone());
    }
    let text = serde_json::to_vec(&members).map_err(|_| RpcError::internal())?;
    RawJson::from_text(text.into()).map_err(|_| RpcError::internal())
}

impl ResultMapper for RegisteredRequestHandler {
    fn target(&self) -> Target<'_> {
        Target { handler: &self.handler, name: None, timeout: self.access.timeout }
    }

    /// The result is the object that the handler returned, or an empty one for `null`. Values are
    /// passed on exactly as written.
    fn render(&self, context: &ActiveRequest, outcome: Outcome) -> Result<RawJson, RpcError> {
        let (results, revision) = (context.results(), context.info.revision);
        let fault = |problem: String| error_of(results, context.method, Outcome::Internal(problem));
        let raw = match outcome {
            Outcome::Value(raw) | Outcome::Object(raw) | Outcome::Result(raw) => raw,
            Outcome::Text(_) | Outcome::Content(_) => {
                return Err(fault("a result must be an object, not content".into()));
            }
            other => return Err(error_of(results, context.method, other)),
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
            return Ok(results.seal_members(raw.parse().map_err(unread)?, revision));
        }
        Ok(results.seal(open.trim_ascii_end().to_vec(), revision))
    }
}

#[cfg(test)]
mod tests;
