//! `completion/complete`, up to the handler.

use super::mounted;
use crate::{
    engine::RequestInfo,
    protocol::{RawJson, RpcError},
    server::{
        handlers::{Handler, Outcome},
        registry::{Category, CompletionTarget},
        request::{RequestContext, ResultMapper, Routed},
        result::{ResultWriter, render_completion},
    },
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

#[derive(Deserialize)]
struct ReceivedParams {
    #[serde(rename = "ref")]
    reference: Value,
    argument: Argument,
    context: Option<ReceivedContext>,
}

#[derive(Deserialize)]
struct Argument {
    name: String,
    value: String,
}

#[derive(Deserialize)]
struct ReceivedContext {
    arguments: Option<Map<String, Value>>,
}

pub(super) fn complete(context: &RequestContext, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    // CMP-03: a server without completions says so.
    if !context.snapshot.offers().completions {
        return Err(RpcError::method_not_found(context.method));
    }
    let wrong = |problem: &dyn std::fmt::Display| RpcError::invalid_params(format!("completion/complete: {problem}"));
    let raw = params.ok_or_else(|| wrong(&"the parameters ref and argument are missing"))?;
    let params: ReceivedParams = raw.read().map_err(|problem| wrong(&problem))?;
    let reference = CompletionTarget::read(&params.reference).map_err(|problem| wrong(&problem))?;
    let known = params.context.and_then(|context| context.arguments);
    if known.iter().flatten().any(|(_, value)| !value.is_string()) {
        return Err(wrong(&"context.arguments must hold strings"));
    }
    let name = &params.argument.name;
    match context.snapshot.completion(&reference, name) {
        Some(handler) => {
            let mut input =
                json!({"ref": params.reference, "argument": {"name": name, "value": params.argument.value}});
            if let Some(known) = known {
                input["context"] = json!({"arguments": known});
            }
            let input = RawJson::from_value(&input).map_err(|_| RpcError::internal())?;
            Ok(Routed::Run(Arc::new(Completing { handler: Arc::clone(handler), argument: name.clone() }), input))
        }
        None => {
            if let Some(routed) = of_mount(context, &reference, raw) {
                return routed;
            }
            check_reference(context, &reference, name)?;
            // An argument that exists and that nobody completes has no suggestions.
            let nothing = json!({"completion": {"values": [], "total": 0, "hasMore": false}});
            Ok(Routed::Answer(context.results().seal_object(nothing, context.info.revision)))
        }
    }
}

/// The way of a completion for something that a mounted server with completions may have.
fn of_mount(
    context: &RequestContext,
    reference: &CompletionTarget,
    params: &RawJson,
) -> Option<Result<Routed, RpcError>> {
    let snapshot = &context.snapshot;
    let (registered, found, member) = match reference {
        CompletionTarget::Prompt(name) => {
            (snapshot.has(Category::Prompts, name), snapshot.mount_of_name(Category::Prompts, name)?, "name")
        }
        CompletionTarget::Resource(uri) => {
            let registered = snapshot.has(Category::ResourceTemplates, uri) || snapshot.has(Category::Resources, uri);
            (registered, snapshot.mount_of_uri(uri)?, "uri")
        }
    };
    let (mount, own) = found;
    let sent = !registered && mount.offers().completions;
    sent.then(|| mounted::completion(mount, params, member, &own))
}

/// CMP-03: what does not exist cannot be completed.
fn check_reference(context: &RequestContext, reference: &CompletionTarget, argument: &str) -> Result<(), RpcError> {
    let snapshot = &context.snapshot;
    let (known, has_argument, provided) = match reference {
        CompletionTarget::Prompt(name) => {
            let prompt = snapshot.prompts.get(name);
            let has = prompt.is_some_and(|prompt| prompt.has_argument(argument));
            (prompt.is_some(), has, snapshot.providers(Category::Prompts).next().is_some())
        }
        CompletionTarget::Resource(uri) => {
            let template = snapshot.templates.get(uri);
            let has = template.is_some_and(|template| template.template.variables().contains(&argument));
            let known = template.is_some() || snapshot.resources.get(uri).is_some();
            (known, has, snapshot.providers(Category::ResourceTemplates).next().is_some())
        }
    };
    let text = match reference {
        CompletionTarget::Prompt(name) => format!("prompt {name}"),
        CompletionTarget::Resource(uri) => format!("resource template {uri}"),
    };
    // One whose arguments nobody completes, or a server without completions, has no suggestions.
    let elsewhere = match reference {
        CompletionTarget::Prompt(name) => snapshot.mount_of_name(Category::Prompts, name).is_some(),
        CompletionTarget::Resource(uri) => snapshot.mount_of_uri(uri).is_some(),
    };
    if has_argument || (!known && (provided || elsewhere)) {
        return Ok(());
    }
    let problem = if known { format!("the {text} has no argument {argument}") } else { format!("unknown {text}") };
    Err(RpcError::invalid_params(format!("completion/complete: {problem}")))
}

/// An argument that is being completed.
struct Completing {
    handler: Arc<dyn Handler>,
    argument: String,
}

impl ResultMapper for Completing {
    fn name(&self) -> &str {
        &self.argument
    }

    fn handler(&self) -> &Arc<dyn Handler> {
        &self.handler
    }

    fn render(&self, results: &ResultWriter, info: &RequestInfo, outcome: Outcome) -> Result<RawJson, RpcError> {
        render_completion(results, info.revision, outcome)
    }
}
