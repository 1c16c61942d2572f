//! The scopes of the feature that a request names.

use super::{Category, CompletionTarget, Snapshot};
use crate::protocol::{
    RawJson,
    method::{Method, Target},
};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

impl Snapshot {
    /// Returns the scopes required by the feature that a request calls or reads.
    pub(in crate::server) fn scopes_of_request(&self, method: &str, params: Option<&RawJson>) -> Vec<String> {
        #[derive(Deserialize)]
        struct Named<'a> {
            #[serde(borrow)]
            name: Option<Cow<'a, str>>,
            #[serde(borrow)]
            uri: Option<Cow<'a, str>>,
            #[serde(rename = "ref")]
            reference: Option<Value>,
        }
        if let Some(handler) = self.request_handler(method) {
            return handler.access.scopes.clone();
        }
        let Some(target) = Method::target(method) else { return Vec::new() };
        let lists: &[Category] = match target {
            Target::Tool => &[Category::Tools],
            Target::Prompt => &[Category::Prompts],
            Target::Resource => &[Category::Resources, Category::ResourceTemplates],
            Target::Completion => &[Category::Prompts, Category::ResourceTemplates],
            // Subscriptions and tasks belong to the caller and require no scopes.
            Target::Subscription | Target::Task => &[],
        };
        if !lists.iter().any(|list| self.is_personal(*list)) {
            return Vec::new();
        }
        // A request without a name is refused when it is served.
        let Some(named) = params.and_then(|params| params.parse::<Named<'_>>().ok()) else {
            return Vec::new();
        };
        let of_reference = |reference| match CompletionTarget::read(reference).ok()? {
            CompletionTarget::Prompt(name) => self.prompt(&name).map(|prompt| prompt.options.access.scopes.clone()),
            CompletionTarget::Resource(uri) => {
                self.templates.get(&uri).map(|template| template.read.options.access.scopes.clone())
            }
        };
        let scopes = match (target, &named.name, &named.uri, &named.reference) {
            (Target::Tool, Some(name), ..) => self.tool(name).map(|tool| tool.options.access.scopes.clone()),
            (Target::Prompt, Some(name), ..) => self.prompt(name).map(|prompt| prompt.options.access.scopes.clone()),
            (Target::Completion, .., Some(reference)) => of_reference(reference),
            (Target::Resource, _, Some(uri), _) => self.readable(uri).map(|read| read.options.access.scopes.clone()),
            _ => None,
        };
        scopes.unwrap_or_default()
    }
}
