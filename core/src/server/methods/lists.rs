//! The list methods: pages of what is registered, then pages of the providers.

use crate::{
    engine::RequestInfo,
    protocol::{RawJson, Revision, RpcError, project},
    server::{
        handlers::{Handler, Outcome},
        registry::{Category, RegisteredProvider, list_members},
        request::{RequestContext, ResultMapper, Routed},
        result::{ResultWriter, error_of},
    },
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Where a page begins. Cursors are opaque to clients and say the same to every instance of this
/// server (PAG-05).
#[derive(Debug, PartialEq)]
pub(super) enum Position {
    /// After the registered feature of that number.
    Registered(u64),
    /// In the list of the provider of that number, where its own cursor says; `None`: at its start.
    Provider(u64, Option<String>),
}

/// `tools/list`
pub(super) fn tools(context: &RequestContext, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    list(context, Category::Tools, params)
}

/// `resources/list`
pub(super) fn resources(context: &RequestContext, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    list(context, Category::Resources, params)
}

/// `resources/templates/list`
pub(super) fn resource_templates(context: &RequestContext, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    list(context, Category::ResourceTemplates, params)
}

/// `prompts/list`
pub(super) fn prompts(context: &RequestContext, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    list(context, Category::Prompts, params)
}

/// Answers a list method.
fn list(context: &RequestContext, category: Category, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    let snapshot = &context.snapshot;
    if !snapshot.offered().has(category.change()) {
        return Err(RpcError::method_not_found(context.method));
    }
    let position = read_position(context.method, category.member(), params)?;
    match position {
        Position::Provider(number, cursor) => ask_provider(context, category, number, cursor),
        Position::Registered(after) => {
            let (size, revision) = (context.server().options().page_size, context.info.revision);
            let page = match category {
                Category::Tools => snapshot.tools.page(after, size, revision),
                Category::Resources => snapshot.resources.page(after, size, revision),
                Category::ResourceTemplates => snapshot.templates.page(after, size, revision),
                Category::Prompts => snapshot.prompts.page(after, size, revision),
            };
            let provider = snapshot.providers(category).next().map(|provider| provider.number);
            if let (Some(number), 0, true) = (provider, after, page.items.is_empty()) {
                return ask_provider(context, category, number, None);
            }
            let next = page.next.map(Position::Registered).or(provider.map(|number| Position::Provider(number, None)));
            let next = next.map(|position| cursor(category.member(), &position));
            Ok(Routed::Answer(result(context.results(), category, &page.items, next.as_deref(), revision)))
        }
    }
}

fn result(results: &ResultWriter, category: Category, items: &[u8], next: Option<&str>, revision: Revision) -> RawJson {
    let hints = results.cache().members();
    results.seal(list_members(category.member(), items, next, &hints, revision), revision)
}

/// Where the page that a list request asks for begins.
pub(super) fn read_position(method: &str, member: &str, params: Option<&RawJson>) -> Result<Position, RpcError> {
    #[derive(Deserialize, Default)]
    struct ListParams {
        cursor: Option<String>,
    }
    let params: ListParams = match params {
        Some(params) => params.read().map_err(|problem| RpcError::invalid_params(format!("{method}: {problem}")))?,
        None => ListParams::default(),
    };
    match &params.cursor {
        Some(cursor) => parse_cursor(member, cursor).ok_or_else(RpcError::invalid_cursor),
        None => Ok(Position::Registered(0)),
    }
}

/// A cursor names the last feature of its page by registration number, so that it stays right when
/// things come and go.
pub(super) fn cursor(member: &str, position: &Position) -> String {
    match position {
        Position::Registered(after) => format!("{member}-{after:x}"),
        Position::Provider(number, None) => format!("{member}~{number}"),
        Position::Provider(number, Some(theirs)) => format!("{member}~{number}~{theirs}"),
    }
}

/// Reads a cursor back. `None`: it is not one of ours.
fn parse_cursor(member: &str, text: &str) -> Option<Position> {
    let rest = text.strip_prefix(member)?;
    let position = if let Some(digits) = rest.strip_prefix('-') {
        Position::Registered(u64::from_str_radix(digits, 16).ok().filter(|number| *number > 0)?)
    } else {
        let rest = rest.strip_prefix('~')?;
        match rest.split_once('~') {
            Some((number, theirs)) => Position::Provider(number.parse().ok()?, Some(theirs.to_owned())),
            None => Position::Provider(rest.parse().ok()?, None),
        }
    };
    // Other spellings of the same position were not made here.
    (cursor(member, &position) == text).then_some(position)
}

fn ask_provider(
    context: &RequestContext,
    category: Category,
    number: u64,
    cursor: Option<String>,
) -> Result<Routed, RpcError> {
    let mut providers = context.snapshot.providers(category).skip_while(|provider| provider.number != number);
    // The provider that the cursor belongs to may be gone.
    let provider = providers.next().ok_or_else(RpcError::invalid_cursor)?;
    let following = providers.next().map(|provider| provider.number);
    let body = match cursor {
        Some(cursor) => json!({"list": {"cursor": cursor}}),
        None => json!({"list": {}}),
    };
    let input = RawJson::from_value(&body).map_err(|_| RpcError::internal())?;
    let mapper = ProvidedPage { category, following, method: context.method, provider: Arc::clone(provider) };
    Ok(Routed::Run(Arc::new(mapper), input))
}

/// The arguments of a provider for a feature that is not registered.
pub(super) fn get_body(params: &RawJson) -> Result<RawJson, RpcError> {
    RawJson::from_value(&json!({"get": params})).map_err(|_| RpcError::internal())
}

/// A page that a provider makes.
struct ProvidedPage {
    category: Category,
    /// The provider whose list comes next.
    following: Option<u64>,
    method: &'static str,
    provider: Arc<RegisteredProvider>,
}

impl ResultMapper for ProvidedPage {
    fn name(&self) -> &str {
        self.method
    }

    fn handler(&self) -> &Arc<dyn Handler> {
        &self.provider.handler
    }

    fn render(&self, results: &ResultWriter, info: &RequestInfo, outcome: Outcome) -> Result<RawJson, RpcError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Provided {
            items: Vec<Value>,
            next_cursor: Option<String>,
        }
        let raw = match outcome {
            Outcome::Value(raw) | Outcome::Object(raw) | Outcome::Result(raw) => raw,
            other => return Err(error_of(results, "a list provider", other)),
        };
        let wrong = |problem: String| {
            let text = format!("a list provider of {} gave {problem}", self.category.member());
            error_of(results, "a list provider", Outcome::Internal(text))
        };
        let mut provided: Provided = raw.parse().map_err(|error| wrong(format!("no list: {error}")))?;
        for item in &mut provided.items {
            if !item.is_object() {
                return Err(wrong(format!("an item that is not an object: {item}")));
            }
            self.category.project(item, info.revision);
        }
        let items: Vec<String> = provided.items.iter().map(Value::to_string).collect();
        let next = match provided.next_cursor {
            Some(theirs) => Some(Position::Provider(self.provider.number, Some(theirs))),
            None => self.following.map(|number| Position::Provider(number, None)),
        };
        let next = next.map(|position| cursor(self.category.member(), &position));
        Ok(result(results, self.category, items.join(",").as_bytes(), next.as_deref(), info.revision))
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
