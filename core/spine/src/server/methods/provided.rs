//! Features that are not registered and that providers may have.

use crate::{
    protocol::{RawJson, Revision, RpcError},
    server::{
        handlers::Outcome,
        registry::{Category, RegisteredProvider, Snapshot},
        request::{ActiveRequest, NextStep, ResultMapper, Routed, Target},
        result::{CacheHints, ReadOf, ToolRenderer, render_prompt, render_read},
    },
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Asks one provider after the other for a tool, resource or prompt.
pub(super) struct ProvidedFeature {
    category: Category,
    /// The name or URI.
    name: String,
    /// The index of the provider.
    index: usize,
    provider: Arc<RegisteredProvider>,
}

impl ProvidedFeature {
    /// Routes a request to the first provider.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn route(
        context: &ActiveRequest,
        category: Category,
        name: &str,
        params: &RawJson,
    ) -> Result<Routed, RpcError> {
        let first = Self::at(0, category, name, &context.snapshot);
        let first = first.ok_or_else(|| unknown(category, name, context.info.revision))?;
        Ok(Routed::Run(Arc::new(first), RawJson::object(&BTreeMap::from([("get", params)]))))
    }

    fn at(index: usize, category: Category, name: &str, snapshot: &Snapshot) -> Option<Self> {
        let provider = Arc::clone(snapshot.providers(category).nth(index)?);
        Some(Self { category, name: name.to_owned(), index, provider })
    }
}

/// The error if no provider has the feature.
pub(super) fn unknown(category: Category, name: &str, revision: Revision) -> RpcError {
    match category {
        Category::Tools => RpcError::invalid_params(format!("Unknown tool: {name}")),
        Category::Prompts => RpcError::unknown_prompt(name),
        Category::Resources | Category::ResourceTemplates => RpcError::resource_not_found(name, revision),
    }
}

impl ResultMapper for ProvidedFeature {
    fn target(&self) -> Target<'_> {
        Target { handler: &self.provider.handler, name: Some(&self.name), timeout: None }
    }

    fn render(&self, context: &ActiveRequest, outcome: Outcome) -> Result<RawJson, RpcError> {
        let (results, name, revision) = (context.results(), &*self.name, context.info.revision);
        if outcome.is_null() {
            return Err(unknown(self.category, name, revision));
        }
        match self.category {
            Category::Tools => ToolRenderer { results, revision, name, output: None }.render(outcome),
            Category::Prompts => render_prompt(results, name, None, revision, outcome),
            Category::Resources | Category::ResourceTemplates => {
                let read = ReadOf { uri: name, mime_type: None, cache: &CacheHints::default() };
                render_read(results, &read, revision, outcome)
            }
        }
    }

    fn next(&self, context: &ActiveRequest, input: &RawJson, outcome: &Outcome) -> Option<NextStep> {
        let next = || Self::at(self.index + 1, self.category, &self.name, &context.snapshot);
        let next = outcome.is_null().then(next)??;
        Some(Ok(Routed::Run(Arc::new(next), input.clone())))
    }
}
