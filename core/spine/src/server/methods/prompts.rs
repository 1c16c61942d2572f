//! Routes `prompts/get` to a handler.

use super::{access, mount_routes, provided::ProvidedFeature};
use crate::{
    protocol::{RawJson, RpcError, call_params::CallParams},
    server::{
        handlers::Outcome,
        registry::{Category, ListSet, RegisteredPrompt},
        request::{ActiveRequest, ResultMapper, Routed, Target},
        result::render_prompt,
    },
};
use std::sync::Arc;

pub(super) fn get(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    context.check_offered(context.snapshot.offered().has(ListSet::PROMPTS))?;
    let raw = params.ok_or_else(|| RpcError::invalid_params("prompts/get needs the parameter name"))?;
    let params =
        CallParams::read(raw).map_err(|problem| RpcError::invalid_params(format!("prompts/get: {problem}")))?;
    let Some(prompt) = context.snapshot.prompts.get(&params.name) else {
        if let Some(routed) = mount_routes::by_name(&context.snapshot, Category::Prompts, &params.name, raw) {
            return routed;
        }
        return ProvidedFeature::route(context, Category::Prompts, &params.name, raw);
    };
    let arguments = params.arguments.map_or_else(RawJson::empty_object, |value| value.in_buffer(raw.buffer()));
    let filled = Arc::clone(prompt);
    access::decide(context, &prompt.options.access, &prompt.name, move |context, is_visible| {
        if !is_visible {
            return Err(RpcError::unknown_prompt(&filled.name));
        }
        access::check_scopes(context, "prompt", &filled.name, &filled.options.access.scopes)?;
        let wrong = |problem| RpcError::invalid_params(format!("Prompt {}: {problem}", filled.name));
        let input = filled.input(arguments).map_err(wrong)?;
        Ok(Routed::Run(filled, input))
    })
}

impl ResultMapper for RegisteredPrompt {
    fn target(&self) -> Target<'_> {
        Target { handler: &self.handler, name: Some(&self.name), timeout: self.options.access.timeout }
    }

    fn render(&self, context: &ActiveRequest, outcome: Outcome) -> Result<RawJson, RpcError> {
        render_prompt(context.results(), &self.name, self.description(), context.info.revision, outcome)
    }
}
