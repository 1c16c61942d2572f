//! The list methods. Registered features come first, then those of providers, then those of mounts.

use super::{
    access, merging,
    pages::{Position, page_result, read_position},
};
use crate::{
    protocol::{RawJson, Revision, RpcError, project},
    server::{
        handlers::Outcome,
        registry::{Category, ListedPage, RegisteredMount, RegisteredProvider, Snapshot},
        request::{ActiveRequest, ResultMapper, Routed, Target},
        result::error_of,
    },
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Serves a list method.
pub(super) fn list(context: &ActiveRequest, category: Category, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    let snapshot = &context.snapshot;
    context.check_offered(snapshot.offered().has(category.change()))?;
    let position = read_position(context.method, category.member(), params)?;
    match position {
        Position::Source(number, cursor) if snapshot.providers(category).any(|provider| provider.number == number) => {
            ask_provider(context, category, number, cursor)
        }
        Position::Source(number, cursor) => {
            let (mounts, from) = (mounts(snapshot, category), Some((number, cursor)));
            merging::route(category.member(), ListedPage::default(), mounts, from)
        }
        Position::Registered(after) => {
            let next = move |context: &ActiveRequest, page| registered(context, category, after, page);
            match category {
                Category::Tools => access::page(context, &snapshot.tools, after, next),
                Category::Resources => access::page(context, &snapshot.resources, after, next),
                Category::ResourceTemplates => access::page(context, &snapshot.templates, after, next),
                Category::Prompts => access::page(context, &snapshot.prompts, after, next),
            }
        }
    }
}

/// The mounts that have such a list, in registration order.
fn mounts(snapshot: &Snapshot, category: Category) -> impl Iterator<Item = Arc<RegisteredMount>> {
    snapshot.mounts.iter().filter(move |mount| mount.offers().lists.has(category.change())).cloned()
}

/// Returns a page of registered features, or the first page of a provider or of the mounts if there
/// are none.
fn registered(context: &ActiveRequest, category: Category, after: u64, page: ListedPage) -> Result<Routed, RpcError> {
    let snapshot = &context.snapshot;
    let provider = snapshot.providers(category).next().map(|provider| provider.number);
    if let (Some(number), 0, true) = (provider, after, page.items.is_empty()) {
        return ask_provider(context, category, number, None);
    }
    if page.next.is_none() && provider.is_none() && !snapshot.mounts.is_empty() {
        return merging::route(category.member(), page, mounts(snapshot, category), None);
    }
    let next = page.next.map(Position::Registered).or(provider.map(|number| Position::Source(number, None)));
    Ok(Routed::Answer(page_result(context, category.member(), &page.items, next, false)))
}

fn ask_provider(
    context: &ActiveRequest,
    category: Category,
    number: u64,
    cursor: Option<String>,
) -> Result<Routed, RpcError> {
    let mut providers = context.snapshot.providers(category).skip_while(|provider| provider.number != number);
    // The provider that the cursor refers to may have been removed.
    let provider = providers.next().ok_or_else(RpcError::invalid_cursor)?;
    let following = providers.next().map(|provider| provider.number);
    let following = following.or_else(|| mounts(&context.snapshot, category).next().map(|mount| mount.number));
    let input = match cursor {
        Some(cursor) => json!({"list": {"cursor": cursor}}),
        None => json!({"list": {}}),
    };
    let page = ProvidedPage { category, following, provider: Arc::clone(provider) };
    Ok(Routed::Run(Arc::new(page), RawJson::object(&input)))
}

/// A page from a provider.
struct ProvidedPage {
    category: Category,
    /// The provider or mount whose list follows.
    following: Option<u64>,
    provider: Arc<RegisteredProvider>,
}

impl ResultMapper for ProvidedPage {
    fn target(&self) -> Target<'_> {
        Target { handler: &self.provider.handler, name: None, timeout: None }
    }

    fn render(&self, context: &ActiveRequest, outcome: Outcome) -> Result<RawJson, RpcError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Provided {
            items: Vec<Value>,
            next_cursor: Option<String>,
        }
        let (results, info) = (context.results(), &context.info);
        let raw = match outcome {
            Outcome::Value(raw) | Outcome::Object(raw) | Outcome::Result(raw) => raw,
            other => return Err(error_of(results, "a list provider", other)),
        };
        let wrong = |problem: String| {
            let text = format!("a list provider of {} returned {problem}", self.category.member());
            error_of(results, "a list provider", Outcome::Internal(text))
        };
        let mut provided: Provided = raw.parse().map_err(|error| wrong(format!("an invalid list: {error}")))?;
        if self.category == Category::Tools {
            self.provider.listed.note(&info.principal(), &provided.items);
        }
        for item in &mut provided.items {
            if !item.is_object() {
                return Err(wrong(format!("an item that is not an object: {item}")));
            }
            self.category.project(item, info.revision);
        }
        let items: Vec<String> = provided.items.iter().map(Value::to_string).collect();
        let next = match provided.next_cursor {
            Some(theirs) => Some(Position::Source(self.provider.number, Some(theirs))),
            None => self.following.map(|number| Position::Source(number, None)),
        };
        Ok(page_result(context, self.category.member(), items.join(",").as_bytes(), next, false))
    }
}

impl Category {
    fn project(self, item: &mut Value, revision: Revision) {
        match self {
            Self::Tools => project::project_tool(item, revision),
            Self::Resources => project::project_resource(item, revision),
            Self::ResourceTemplates => project::project_resource_template(item, revision),
            Self::Prompts => project::project_prompt(item, revision),
        }
    }
}

#[cfg(test)]
mod tests;
