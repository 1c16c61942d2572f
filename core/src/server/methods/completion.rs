//! Routes `completion/complete` to a handler.

use super::{access, mount_routes};
use crate::{
    protocol::{RawJson, RpcError, project},
    server::{
        handlers::{Handler, Outcome},
        registry::{AccessOptions, Category, CompletionTarget},
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
    if context.snapshot.completion(&reference, &name).is_none()
        && let Some(routed) = of_mount(context, &reference, raw)
    {
        return routed;
    }
    let target = CompletedFeature::of(context, &reference, &name);
    let Some(target) = target else { return Err(unknown(&reference)) };
    let (access, key) = (target.access.clone(), reference.noun_and_key().1.to_owned());
    let mut input = json!({"ref": params.reference, "argument": {"name": name, "value": params.argument.value}});
    if let Some(known) = known {
        input["context"] = json!({"arguments": known});
    }
    access::decide(context, &access, &key, move |context, is_visible| {
        if !is_visible {
            return Err(unknown(&reference));
        }
        let (noun, key) = reference.noun_and_key();
        access::check_scopes(context, noun, key, &target.access.scopes)?;
        match context.snapshot.completion(&reference, &name) {
            Some(handler) => {
                let completing = Completing { handler: Arc::clone(handler), argument: name };
                Ok(Routed::Run(Arc::new(completing), RawJson::object(&input)))
            }
            None if target.has_argument => {
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

/// The prompt or template whose argument is completed.
struct CompletedFeature {
    access: AccessOptions,
    /// Also `true` if only a provider or a mounted server can know.
    has_argument: bool,
}

impl CompletedFeature {
    /// CMP-03: returns `None` if the prompt or template does not exist.
    fn of(context: &ActiveRequest, reference: &CompletionTarget, argument: &str) -> Option<Self> {
        let snapshot = &context.snapshot;
        let (registered, category) = match reference {
            CompletionTarget::Prompt(name) => {
                let prompt = snapshot.prompts.get(name);
                (prompt.map(|prompt| (&prompt.options.access, prompt.has_argument(argument))), Category::Prompts)
            }
            CompletionTarget::Resource(uri) => {
                let template = snapshot.templates.get(uri);
                let template = template
                    .map(|template| (&template.read.options.access, template.template.variables().contains(&argument)));
                let resource = || snapshot.resources.get(uri).map(|resource| (&resource.read.options.access, false));
                (template.or_else(resource), Category::ResourceTemplates)
            }
        };
        match registered {
            Some((access, has_argument)) => Some(Self { access: access.clone(), has_argument }),
            // A provider or a mounted server may have it; without a completer, there are no
            // suggestions.
            None => {
                let is_mounted = match reference {
                    CompletionTarget::Prompt(name) => snapshot.mount_of_name(Category::Prompts, name).is_some(),
                    CompletionTarget::Resource(uri) => snapshot.mount_of_uri(uri).is_some(),
                };
                let may_be = is_mounted || snapshot.providers(category).next().is_some();
                may_be.then(|| Self { access: AccessOptions::default(), has_argument: true })
            }
        }
    }
}

/// Routes a completion to a mounted server with completions, if it may have the prompt or template.
fn of_mount(
    context: &ActiveRequest,
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
    sent.then(|| mount_routes::completion(mount, params, member, &own))
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
