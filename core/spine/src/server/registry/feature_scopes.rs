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
    /// Returns the scopes required by the feature that a request calls or reads, if there is one.
    pub(in crate::server) fn scopes_of_request(&self, method: &str, params: Option<&RawJson>) -> Option<Vec<String>> {
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
            return Some(handler.access.scopes.clone());
        }
        let target = Method::target(method)?;
        let lists: &[Category] = match target {
            Target::Tool => &[Category::Tools],
            Target::Prompt => &[Category::Prompts],
            Target::Resource => &[Category::Resources, Category::ResourceTemplates],
            Target::Completion => &[Category::Prompts, Category::ResourceTemplates],
            // Subscriptions and tasks belong to the caller and require no scopes.
            Target::Subscription | Target::Task => &[],
        };
        if !lists.iter().any(|list| self.is_personal(*list)) {
            return None;
        }
        // A request without a name is refused when it is served.
        let Named { name, uri, reference } = params?.parse().ok()?;
        Some(match target {
            Target::Tool => self.tool(&name?)?.options.access.scopes.clone(),
            Target::Prompt => self.prompt(&name?)?.options.access.scopes.clone(),
            Target::Resource => self.readable(&uri?)?.options.access.scopes.clone(),
            Target::Completion => match CompletionTarget::read(&reference?).ok()? {
                CompletionTarget::Prompt(name) => self.prompt(&name)?.options.access.scopes.clone(),
                CompletionTarget::Resource(uri) => self.templates.get(&uri)?.read.options.access.scopes.clone(),
            },
            Target::Subscription | Target::Task => return None,
        })
    }
}
