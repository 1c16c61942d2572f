//! `prompts/get`, up to the handler.

use super::{
    Server,
    catalog::{Category, Changes, RegisteredPrompt, RegisteredProvider},
    handler::Handler,
    outcome::{self, Outcome},
    serving::{Prepared, Serving, Target},
};
use crate::{
    engine::Scope,
    protocol::{RawJson, RpcError},
};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use std::{borrow::Cow, sync::Arc};

pub(super) fn get(serving: &Serving, params: Option<&RawJson>) -> Result<Prepared, RpcError> {
    #[derive(Deserialize)]
    struct GetParams<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
        #[serde(borrow)]
        arguments: Option<&'a RawValue>,
    }
    if !serving.snapshot.offered().has(Changes::PROMPTS) {
        return Err(RpcError::method_not_found(serving.method));
    }
    let raw = params.ok_or_else(|| RpcError::invalid_params("prompts/get needs the parameter name"))?;
    let params: GetParams<'_> =
        raw.parse().map_err(|error| RpcError::invalid_params(format!("prompts/get: {error}")))?;
    let Some(prompt) = serving.snapshot.prompts.get(&params.name) else {
        return match serving.snapshot.providers(Category::Prompts).next() {
            Some(provider) => provided(provider, raw, &params.name),
            None => Err(RpcError::unknown_prompt(&params.name)),
        };
    };
    let arguments = params.arguments.map_or_else(RawJson::empty_object, |text| RawJson::slice_of(raw.buffer(), text));
    let given: Map<String, Value> = arguments
        .parse()
        .map_err(|_| RpcError::invalid_params(format!("Prompt {}: arguments must be an object", params.name)))?;
    if let Some(problem) = prompt.problem(&given) {
        return Err(RpcError::invalid_params(format!("Prompt {}: {problem}", params.name)));
    }
    Ok(Prepared::Run(Arc::new(Filling { prompt: Arc::clone(prompt) }), arguments))
}

fn provided(provider: &Arc<RegisteredProvider>, raw: &RawJson, name: &str) -> Result<Prepared, RpcError> {
    let params: Value = raw.parse().map_err(|_| RpcError::internal())?;
    let input = RawJson::from_value(&json!({"get": params})).map_err(|_| RpcError::internal())?;
    let target = ProvidedPrompt { name: name.to_owned(), provider: Arc::clone(provider) };
    Ok(Prepared::Run(Arc::new(target), input))
}

/// A prompt that is being filled in.
struct Filling {
    prompt: Arc<RegisteredPrompt>,
}

impl Target for Filling {
    fn name(&self) -> &str {
        &self.prompt.name
    }

    fn handler(&self) -> &Arc<dyn Handler> {
        &self.prompt.handler
    }

    fn render(&self, server: &Server, scope: &Scope, outcome: Outcome) -> Result<RawJson, RpcError> {
        outcome::render_prompt(server, self.name(), self.prompt.description(), scope.revision, outcome)
    }
}

/// A prompt that only a provider may know.
struct ProvidedPrompt {
    name: String,
    provider: Arc<RegisteredProvider>,
}

impl Target for ProvidedPrompt {
    fn name(&self) -> &str {
        &self.name
    }

    fn handler(&self) -> &Arc<dyn Handler> {
        &self.provider.handler
    }

    fn render(&self, server: &Server, scope: &Scope, outcome: Outcome) -> Result<RawJson, RpcError> {
        if outcome.is_null() {
            return Err(RpcError::unknown_prompt(&self.name));
        }
        outcome::render_prompt(server, &self.name, None, scope.revision, outcome)
    }
}
