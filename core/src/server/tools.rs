//! `tools/list` and `tools/call`, up to the handler.

use super::{
    Server, mirrored,
    outcome::invalid_arguments,
    registry::{RegisteredTool, parse_cursor},
};
use crate::{
    engine::Scope,
    protocol::{Feature, RawJson, RpcError},
};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use std::{borrow::Cow, sync::Arc};

/// A call that may go to its handler, or the result that answers it already.
pub(super) enum Prepared {
    Run(Arc<RegisteredTool>, RawJson),
    Answer(RawJson),
}

pub(super) fn list(server: &Server, params: Option<&RawJson>, scope: &Scope) -> Result<RawJson, RpcError> {
    #[derive(Deserialize, Default)]
    struct ListParams {
        cursor: Option<String>,
    }
    let params: ListParams = read(params, "tools/list")?.unwrap_or_default();
    let after = match &params.cursor {
        Some(cursor) => {
            parse_cursor(cursor).ok_or_else(|| RpcError::invalid_params(format!("Unknown cursor: {cursor:?}")))?
        }
        None => 0,
    };
    let members = server.snapshot().page(after, server.options().page_size, scope.revision);
    Ok(server.seal(members, scope.revision))
}

pub(super) fn prepare(server: &Server, params: Option<&RawJson>, scope: &Scope) -> Result<Prepared, RpcError> {
    #[derive(Deserialize)]
    struct CallParams<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
        #[serde(borrow)]
        arguments: Option<&'a RawValue>,
    }
    let raw = params.ok_or_else(|| RpcError::invalid_params("tools/call needs the parameter name"))?;
    let params: CallParams<'_> =
        raw.parse().map_err(|error| RpcError::invalid_params(format!("tools/call: {error}")))?;
    let snapshot = server.snapshot();
    let tool = snapshot
        .tool(&params.name)
        .ok_or_else(|| RpcError::invalid_params(format!("Unknown tool: {}", params.name)))?;
    let arguments = params.arguments.map_or_else(RawJson::empty_object, |text| RawJson::slice_of(raw.buffer(), text));
    let value: Value = arguments.parse().map_err(|error| RpcError::invalid_params(invalid_arguments(tool, &error)))?;
    mirrored::check(tool, scope, &value)?;
    check_capabilities(tool, scope)?;
    match tool.input.validate(&value).map_err(|problem| invalid_arguments(tool, &problem)) {
        Ok(()) => Ok(Prepared::Run(Arc::clone(tool), arguments)),
        Err(problem) if scope.revision.supports(Feature::InputErrorsAsResults) => {
            let text = serde_json::to_string(&problem).map_err(|_| RpcError::internal())?;
            let members = format!(r#""content":[{{"type":"text","text":{text}}}],"isError":true"#);
            Ok(Prepared::Answer(server.seal(members.into_bytes(), scope.revision)))
        }
        Err(problem) => Err(RpcError::invalid_params(problem)),
    }
}

/// DISC-15: what the tool needs of the client must be declared.
fn check_capabilities(tool: &RegisteredTool, scope: &Scope) -> Result<(), RpcError> {
    let Some(required) = &tool.requires else { return Ok(()) };
    let declared: Value = scope.client_capabilities.parse().unwrap_or_default();
    if covers(&declared, required) {
        return Ok(());
    }
    if scope.revision.supports(Feature::ResultType) {
        return Err(RpcError::missing_client_capability(required.clone()));
    }
    let names: Vec<_> = required.as_object().into_iter().flat_map(|members| members.keys().cloned()).collect();
    Err(RpcError::invalid_request(format!(
        "The tool {} needs a client capability that was not declared: {}",
        tool.name,
        names.join(", ")
    )))
}

/// Whether every member of `required` is declared, at every depth.
fn covers(declared: &Value, required: &Value) -> bool {
    match required.as_object() {
        Some(members) => {
            members.iter().all(|(name, inner)| declared.get(name).is_some_and(|found| covers(found, inner)))
        }
        None => true,
    }
}

fn read<'a, P: Deserialize<'a>>(params: Option<&'a RawJson>, method: &str) -> Result<Option<P>, RpcError> {
    params
        .map(|params| params.parse().map_err(|error| RpcError::invalid_params(format!("{method}: {error}"))))
        .transpose()
}
