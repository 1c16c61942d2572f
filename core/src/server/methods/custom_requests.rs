//! Routes custom requests to their handlers.

use super::access;
use crate::{
    protocol::{RawJson, RpcError},
    server::{
        handlers::Outcome,
        registry::RegisteredRequestHandler,
        request::{ActiveRequest, ResultMapper, Routed, Target},
        result::render_object,
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

    fn render(&self, context: &ActiveRequest, outcome: Outcome) -> Result<RawJson, RpcError> {
        render_object(context.results(), context.method, context.info.revision, outcome)
    }
}

#[cfg(test)]
mod tests;
