//! Routes `tools/call` to a handler.

use super::{
    access, mount_routes,
    provided::{self, ProvidedFeature},
};
use crate::{
    engine::RequestInfo,
    protocol::{RawJson, RpcError, call_params::CallParams},
    server::{
        handlers::{Handler, Outcome, lacking},
        registry::{Category, ListSet, RegisteredTool, ToolTasks},
        request::{ActiveRequest, Mode, NextStep, ResultMapper, Routed, Target, mode},
        result::{ToolRenderer, invalid_arguments},
    },
};
use serde_json::Value;
use std::{fmt, sync::Arc};

/// `tools/call`
pub(super) fn call(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    let snapshot = &context.snapshot;
    context.check_offered(snapshot.offered().has(ListSet::TOOLS))?;
    let raw = params.ok_or_else(|| RpcError::invalid_params("tools/call needs the parameter name"))?;
    let params = CallParams::read(raw).map_err(|problem| RpcError::invalid_params(format!("tools/call: {problem}")))?;
    let arguments = params.arguments.map_or_else(RawJson::empty_object, |value| value.in_buffer(raw.buffer()));
    let Some(tool) = snapshot.tools.get(&params.name) else {
        if let Some(routed) = mount_routes::by_name(snapshot, Category::Tools, &params.name, raw) {
            return routed;
        }
        let provided = ProvidedFeature::route(context, Category::Tools, &params.name, raw)?;
        let listed = snapshot.listed_tool(&context.info.principal(), &params.name);
        let Some(listed) = listed else { return Ok(provided) };
        let name = params.name.into_owned();
        return context.when_checked(listed.is_costly(&name, arguments.as_bytes().len()), move |context| {
            let arguments = read_arguments(&name, &arguments)?;
            match listed.problem(&name, &arguments) {
                Some(problem) => refuse(context, &name, &problem),
                None => Ok(provided),
            }
        });
    };
    let call = ToolCall { tool: Arc::clone(tool), params: raw.clone(), arguments };
    access::decide(context, &tool.options.access, &tool.name, move |context, is_visible| match is_visible {
        true => call.admit(context),
        false => Err(provided::unknown(Category::Tools, &call.tool.name, context.info.revision)),
    })
}

/// A call of a registered tool that the caller can see.
#[derive(Clone)]
struct ToolCall {
    tool: Arc<RegisteredTool>,
    /// The params of the request.
    params: RawJson,
    arguments: RawJson,
}

impl ToolCall {
    /// Checks the caller, then the arguments.
    fn admit(self, context: &ActiveRequest) -> Result<Routed, RpcError> {
        access::check_scopes(context, "tool", &self.tool.name, &self.tool.options.access.scopes)?;
        check_capabilities(&self.tool, &context.info)?;
        let is_costly = self.tool.input.is_costly(self.arguments.as_bytes().len());
        context.when_checked(is_costly, move |context| self.check(context))
    }

    /// Validates the arguments and calls the tool.
    fn check(self, context: &ActiveRequest) -> Result<Routed, RpcError> {
        let value = read_arguments(&self.tool.name, &self.arguments)?;
        let problem = match self.tool.input.validate(&value) {
            Ok(()) => return self.begin(context),
            Err(problem) => problem.to_string(),
        };
        let Some(explainer) = self.tool.explainer.clone() else { return refuse(context, &self.tool.name, &problem) };
        let arguments = self.arguments.clone();
        Ok(Routed::Run(Arc::new(ExplainedTool { call: self, explainer, problem }), arguments))
    }

    /// Starts a call with accepted arguments.
    fn begin(self, context: &ActiveRequest) -> Result<Routed, RpcError> {
        let Self { tool, params, arguments } = self;
        let tasks = ToolTasks { support: tool.task_support, defers: tool.options.defer_task };
        let mode = mode(context, &tool.name, tasks, &params)?;
        Ok(match mode {
            Mode::Call => Routed::Run(tool, arguments),
            Mode::Task(ttl) => Routed::RunAsTask(tool, arguments, ttl),
        })
    }
}

/// Refuses a call with invalid arguments.
fn refuse(context: &ActiveRequest, tool: &str, problem: &dyn fmt::Display) -> Result<Routed, RpcError> {
    let (results, revision) = (context.results(), context.info.revision);
    let renderer = ToolRenderer { results, revision, name: tool, output: None };
    renderer.refuse(&invalid_arguments(tool, problem)).map(Routed::Answer)
}

fn read_arguments(tool: &str, arguments: &RawJson) -> Result<Value, RpcError> {
    arguments.read().map_err(|problem| RpcError::invalid_params(invalid_arguments(tool, &problem)))
}

/// DISC-15: the client must declare every capability that the tool requires.
fn check_capabilities(tool: &RegisteredTool, info: &RequestInfo) -> Result<(), RpcError> {
    let Some(required) = &tool.options.requires else { return Ok(()) };
    let declared: Value = info.client_capabilities.parse().unwrap_or_default();
    if covers(&declared, required) {
        return Ok(());
    }
    let mut error = lacking(info, required.clone());
    error.message = format!("The tool {}: {}", tool.name, error.message);
    Err(error)
}

/// Returns whether `declared` contains every member of `required`, at every depth.
fn covers(declared: &Value, required: &Value) -> bool {
    match required.as_object() {
        Some(members) => {
            members.iter().all(|(name, inner)| declared.get(name).is_some_and(|found| covers(found, inner)))
        }
        None => true,
    }
}

impl ResultMapper for RegisteredTool {
    fn target(&self) -> Target<'_> {
        Target { handler: &self.handler, name: Some(&self.name), timeout: self.options.access.timeout }
    }

    fn restarts_task(&self) -> bool {
        self.options.restart_task
    }

    fn is_costly(&self, outcome: &Outcome) -> bool {
        let (Outcome::Object(given) | Outcome::Value(given) | Outcome::Content(given) | Outcome::Result(given)) =
            outcome
        else {
            return false;
        };
        self.output.as_ref().is_some_and(|output| output.schema.is_costly(given.as_bytes().len()))
    }

    fn render(&self, context: &ActiveRequest, outcome: Outcome) -> Result<RawJson, RpcError> {
        let (results, revision) = (context.results(), context.info.revision);
        ToolRenderer { results, revision, name: &self.name, output: self.output.as_ref() }.render(outcome)
    }
}

/// Runs the explainer of a tool whose input schema refused the arguments. Its decision is final.
struct ExplainedTool {
    call: ToolCall,
    explainer: Arc<dyn Handler>,
    /// The error message of the schema.
    problem: String,
}

impl ResultMapper for ExplainedTool {
    fn target(&self) -> Target<'_> {
        Target { handler: &self.explainer, name: Some(&self.call.tool.name), timeout: None }
    }

    fn render(&self, context: &ActiveRequest, outcome: Outcome) -> Result<RawJson, RpcError> {
        let refusal = match outcome {
            Outcome::InvalidArguments(problem) => problem,
            _ => self.problem.clone(),
        };
        let (results, revision, name) = (context.results(), context.info.revision, &*self.call.tool.name);
        ToolRenderer { results, revision, name, output: None }.render(Outcome::InvalidArguments(refusal))
    }

    fn next(&self, context: &ActiveRequest, _: &RawJson, outcome: &Outcome) -> Option<NextStep> {
        let accepted = matches!(outcome, Outcome::Value(verdict) if verdict.as_bytes() == b"true");
        accepted.then(|| self.call.clone().begin(context))
    }
}

#[cfg(test)]
mod tests;
