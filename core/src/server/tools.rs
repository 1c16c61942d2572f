//! `tools/call`, up to the handler.

use super::{
    Server,
    capabilities::covers,
    catalog::{Category, Changes, RegisteredProvider, RegisteredTool, Snapshot},
    handler::Handler,
    input::lacking,
    lists,
    outcome::{self, Outcome, invalid_arguments},
    serving::{Prepared, Serving, Target},
    tasks,
};
use crate::{
    engine::Scope,
    protocol::{Feature, RawJson, RpcError},
};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use std::{borrow::Cow, sync::Arc};

/// What `tools/call` names.
#[derive(Deserialize)]
pub(super) struct CallParams<'a> {
    #[serde(borrow)]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

pub(super) fn call(serving: &Serving, params: Option<&RawJson>) -> Result<Prepared, RpcError> {
    let (server, scope, snapshot) = (serving.server(), &serving.scope, &serving.snapshot);
    if !snapshot.offered().has(Changes::TOOLS) {
        return Err(RpcError::method_not_found(serving.method));
    }
    let raw = params.ok_or_else(|| RpcError::invalid_params("tools/call needs the parameter name"))?;
    let params: CallParams<'_> =
        raw.read().map_err(|problem| RpcError::invalid_params(format!("tools/call: {problem}")))?;
    let Some(tool) = snapshot.tools.get(&params.name) else {
        let target = ProvidedTool::at(0, &params.name, snapshot).ok_or_else(|| unknown(&params.name))?;
        return Ok(Prepared::Run(Arc::new(target), lists::get_body(raw)?));
    };
    let arguments = params.arguments.map_or_else(RawJson::empty_object, |text| RawJson::slice_of(raw.buffer(), text));
    let value: Value =
        arguments.read().map_err(|problem| RpcError::invalid_params(invalid_arguments(&tool.name, &problem)))?;
    check_scopes(serving, tool)?;
    check_capabilities(tool, scope)?;
    match tool.input.validate(&value).map_err(|problem| invalid_arguments(&tool.name, &problem)) {
        Ok(()) => {
            let target = Arc::new(Calling(Arc::clone(tool)));
            Ok(match tasks::mode(serving, tool, raw)? {
                tasks::Mode::Call => Prepared::Run(target, arguments),
                tasks::Mode::Task(ttl) => Prepared::RunAsTask(target, arguments, ttl),
            })
        }
        Err(problem) if scope.revision.supports(Feature::InputErrorsAsResults) => {
            Ok(Prepared::Answer(outcome::tool_error(server, scope.revision, &problem)))
        }
        Err(problem) => Err(RpcError::invalid_params(problem)),
    }
}

/// AUS-10: the transport has checked the tool that the request names; middleware may have made another of it.
fn check_scopes(serving: &Serving, tool: &RegisteredTool) -> Result<(), RpcError> {
    if tool.scopes.is_empty() || serving.reply.grants(&tool.scopes) {
        return Ok(());
    }
    let text = format!("The tool {} needs the scopes {}", tool.name, tool.scopes.join(" "));
    Err(RpcError::invalid_request(text).with_data(json!({"error": "insufficient_scope"})))
}

/// DISC-15: what the tool needs of the client must be declared.
fn check_capabilities(tool: &RegisteredTool, scope: &Scope) -> Result<(), RpcError> {
    let Some(required) = &tool.requires else { return Ok(()) };
    let declared: Value = scope.client_capabilities.parse().unwrap_or_default();
    if covers(&declared, required) {
        return Ok(());
    }
    let mut error = lacking(scope, required.clone());
    error.message = format!("The tool {}: {}", tool.name, error.message);
    Err(error)
}

fn unknown(name: &str) -> RpcError {
    RpcError::invalid_params(format!("Unknown tool: {name}"))
}

/// A tool that is being called.
struct Calling(Arc<RegisteredTool>);

impl Target for Calling {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn handler(&self) -> &Arc<dyn Handler> {
        &self.0.handler
    }

    fn render(&self, server: &Server, scope: &Scope, outcome: Outcome) -> Result<RawJson, RpcError> {
        let tool = outcome::ToolOf { name: &self.0.name, output: self.0.output.as_ref() };
        outcome::render_tool(server, &tool, scope.revision, outcome)
    }
}

/// A tool that only a provider may know.
struct ProvidedTool {
    name: String,
    /// Which of the providers is asked.
    index: usize,
    provider: Arc<RegisteredProvider>,
}

impl ProvidedTool {
    fn at(index: usize, name: &str, snapshot: &Snapshot) -> Option<Self> {
        let provider = Arc::clone(snapshot.providers(Category::Tools).nth(index)?);
        Some(Self { name: name.to_owned(), index, provider })
    }
}

impl Target for ProvidedTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn handler(&self) -> &Arc<dyn Handler> {
        &self.provider.handler
    }

    fn render(&self, server: &Server, scope: &Scope, outcome: Outcome) -> Result<RawJson, RpcError> {
        if outcome.is_null() {
            return Err(unknown(&self.name));
        }
        outcome::render_tool(server, &outcome::ToolOf { name: &self.name, output: None }, scope.revision, outcome)
    }

    fn otherwise(&self, snapshot: &Snapshot) -> Option<Arc<dyn Target>> {
        Some(Arc::new(Self::at(self.index + 1, &self.name, snapshot)?))
    }
}

#[cfg(test)]
mod tests;
