//! Routes `completion/complete` to a handler.

use super::{access, mount_routes};
use crate::{
    protocol::{RawJson, RpcError, project},
    server::{
        handlers::{Handler, Outcome},
        registry::{AccessOptions, Category, CompletionTarget, Snapshot},
        request::{ActiveRequest, ResultMapper, Routed, Target},
        result::error_of,
    },
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// More values than this are not sent (CMP-02).
const MAX_VALUES: usize = 100;

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

pub(super) fn complete(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    // CMP-03: without completions, the server does not have the method.
    context.check_offered(context.snapshot.offers().completions)?;
    let wrong = |problem: &dyn std::fmt::Display| RpcError::invalid_params(format!("completion/complete: {problem}"));
    let raw = params.ok_or_else(|| wrong(&"the parameters ref and argument are missing"))?;
    let params: ReceivedParams = raw.read().map_err(|problem| wrong(&problem))?;
    let reference = CompletionTarget::read(&params.reference).map_err(|problem| wrong(&problem))?;
    let known = params.context.and_then(|context| context.arguments);
    if known.iter().flatten().any(|(_, value)| !value.is_string()) {
        return Err(wrong(&"context.arguments must contain strings"));
    }
    let name = params.argument.name;
    let registered = registered(&context.snapshot, &reference, &name);
    if registered.is_none()
        && let Some(routed) = elsewhere(&context.snapshot, &reference, &name, raw)?
    {
        return Ok(routed);
    }
    // A feature of a provider or a mounted server may have any argument.
    let (access, has_argument) =
        registered.map_or_else(|| (AccessOptions::default(), true), |(access, has)| (access.clone(), has));
    let (decided, key) = (access.clone(), reference.noun_and_key().1.to_owned());
    let mut input = json!({"ref": params.reference, "argument": {"name": name, "value": params.argument.value}});
    if let Some(known) = known {
        input["context"] = json!({"arguments": known});
    }
    access::decide(context, &decided, &key, move |context, is_visible| {
        if !is_visible {
            return Err(unknown(&reference));
        }
        let (noun, key) = reference.noun_and_key();
        access::check_scopes(context, noun, key, &access.scopes)?;
        match context.snapshot.completion(&reference, &name) {
            Some(handler) => {
                let completing = Completing { handler: Arc::clone(handler), argument: name };
                Ok(Routed::Run(Arc::new(completing), RawJson::object(&input)))
            }
            None if has_argument => {
                // The argument exists but has no completer.
                let nothing = json!({"completion": {"values": [], "total": 0, "hasMore": false}});
                Ok(Routed::Answer(context.results().seal_object(nothing, context.info.revision)))
            }
            None => {
                let problem = format!("completion/complete: the {noun} {key} has no argument {name}");
                Err(RpcError::invalid_params(problem))
            }
        }
    })
}

/// The access of the completed prompt or template, and whether it has the argument.
fn registered<'a>(
    snapshot: &'a Snapshot,
    reference: &CompletionTarget,
    argument: &str,
) -> Option<(&'a AccessOptions, bool)> {
    match reference {
        CompletionTarget::Prompt(name) => {
            let prompt = snapshot.prompts.get(name)?;
            Some((&prompt.options.access, prompt.has_argument(argument)))
        }
        CompletionTarget::Resource(uri) => {
            let template = snapshot.templates.get(uri);
            let template = template
                .map(|template| (&template.read.options.access, template.template.variables().contains(&argument)));
            template.or_else(|| Some((&snapshot.resources.get(uri)?.read.options.access, false)))
        }
    }
}

/// Routes the completion of a prompt or template that is not registered here to a mounted server
/// with completions. Returns `None` if a provider or a mounted server may have it.
///
/// # Errors
/// CMP-03: if the prompt or template does not exist.
fn elsewhere(
    snapshot: &Snapshot,
    reference: &CompletionTarget,
    argument: &str,
    params: &RawJson,
) -> Result<Option<Routed>, RpcError> {
    let (mount, category, member) = match reference {
        CompletionTarget::Prompt(name) => (snapshot.mount_of_name(Category::Prompts, name), Category::Prompts, "name"),
        CompletionTarget::Resource(uri) => (snapshot.mount_of_uri(uri), Category::ResourceTemplates, "uri"),
    };
    match mount {
        Some((mount, own)) if mount.offers().completions && snapshot.completion(reference, argument).is_none() => {
            mount_routes::completion(mount, params, member, &own).map(Some)
        }
        None if snapshot.providers(category).next().is_none() => Err(unknown(reference)),
        _ => Ok(None),
    }
}

fn unknown(reference: &CompletionTarget) -> RpcError {
    let (noun, key) = reference.noun_and_key();
    RpcError::invalid_params(format!("completion/complete: unknown {noun} {key}"))
}

/// Completes one argument.
struct Completing {
    handler: Arc<dyn Handler>,
    argument: String,
}

impl ResultMapper for Completing {
    fn target(&self) -> Target<'_> {
        Target { handler: &self.handler, name: Some(&self.argument), timeout: None }
    }

    /// The outcome is an array of strings, or an object with `values`.
    fn render(&self, context: &ActiveRequest, outcome: Outcome) -> Result<RawJson, RpcError> {
        let (results, revision) = (context.results(), context.info.revision);
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
}
