//! The list methods: pages of what is registered, then pages of the providers.

use super::{
    Server,
    catalog::{Category, Page, RegisteredProvider, list_members},
    handler::Handler,
    outcome::{self, Outcome},
    serving::{Prepared, Serving, Target},
};
use crate::{
    engine::Scope,
    protocol::{RawJson, Revision, RpcError, project},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Where a page begins. Cursors are opaque to clients and say the same to every instance of this server (PAG-05).
#[derive(Debug, PartialEq)]
pub(super) enum Position {
    /// After the registered thing of that number.
    Registered(u64),
    /// In the list of the provider at that position, where its own cursor says; `None`: at its start.
    Provider(usize, Option<String>),
}

/// Answers a list method.
pub(super) fn list(serving: &Serving, category: Category, params: Option<&RawJson>) -> Result<Prepared, RpcError> {
    let snapshot = &serving.snapshot;
    if !snapshot.offered().has(category.change()) {
        return Err(RpcError::method_not_found(serving.method));
    }
    let position = read_position(serving.method, category.member(), params)?;
    match position {
        Position::Provider(index, cursor) => ask_provider(serving, category, index, cursor),
        Position::Registered(after) => {
            let (size, revision) = (serving.server().options().page_size, serving.scope.revision);
            let page = match category {
                Category::Tools => snapshot.tools.page(after, size, revision),
                Category::Resources => snapshot.resources.page(after, size, revision),
                Category::ResourceTemplates => snapshot.templates.page(after, size, revision),
                Category::Prompts => snapshot.prompts.page(after, size, revision),
            };
            let provided = snapshot.providers(category).next().is_some();
            if provided && after == 0 && page.items.is_empty() {
                return ask_provider(serving, category, 0, None);
            }
            let next = next_of(category, &page, provided);
            Ok(Prepared::Answer(result(serving.server(), category, &page.items, next.as_deref(), revision)))
        }
    }
}

fn next_of(category: Category, page: &Page, provided: bool) -> Option<String> {
    let position = match page.next {
        Some(last) => Position::Registered(last),
        None if provided => Position::Provider(0, None),
        None => return None,
    };
    Some(cursor(category.member(), &position))
}

fn result(server: &Server, category: Category, items: &[u8], next: Option<&str>, revision: Revision) -> RawJson {
    let hints = server.options().cache.members();
    server.seal(list_members(category.member(), items, next, &hints, revision), revision)
}

/// Where the page that a list request asks for begins.
pub(super) fn read_position(method: &str, member: &str, params: Option<&RawJson>) -> Result<Position, RpcError> {
    #[derive(Deserialize, Default)]
    struct ListParams {
        cursor: Option<String>,
    }
    let params: ListParams = match params {
        Some(params) => params.parse().map_err(|error| RpcError::invalid_params(format!("{method}: {error}")))?,
        None => ListParams::default(),
    };
    match &params.cursor {
        Some(cursor) => parse_cursor(member, cursor).ok_or_else(|| unknown_cursor(cursor)),
        None => Ok(Position::Registered(0)),
    }
}

fn unknown_cursor(cursor: &str) -> RpcError {
    RpcError::invalid_params(format!("Unknown cursor: {cursor:?}"))
}

/// A cursor names the last thing of its page by registration number, so that it stays right when things come and go.
pub(super) fn cursor(member: &str, position: &Position) -> String {
    match position {
        Position::Registered(after) => format!("{member}-{after:x}"),
        Position::Provider(index, None) => format!("{member}~{index}"),
        Position::Provider(index, Some(theirs)) => format!("{member}~{index}~{theirs}"),
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
            Some((index, theirs)) => Position::Provider(index.parse().ok()?, Some(theirs.to_owned())),
            None => Position::Provider(rest.parse().ok()?, None),
        }
    };
    // Other spellings of the same position were not made here.
    (cursor(member, &position) == text).then_some(position)
}

fn ask_provider(
    serving: &Serving,
    category: Category,
    index: usize,
    cursor: Option<String>,
) -> Result<Prepared, RpcError> {
    let providers: Vec<_> = serving.snapshot.providers(category).collect();
    let Some(provider) = providers.get(index) else {
        return Err(RpcError::invalid_params("The list that this cursor belongs to is no longer there"));
    };
    let body = match cursor {
        Some(cursor) => json!({"list": {"cursor": cursor}}),
        None => json!({"list": {}}),
    };
    let input = RawJson::from_value(&body).map_err(|_| RpcError::internal())?;
    let last = index + 1 >= providers.len();
    let target = ProvidedPage { category, index, last, method: serving.method, provider: Arc::clone(provider) };
    Ok(Prepared::Run(Arc::new(target), input))
}

/// What a provider is called with for a thing that is not registered.
pub(super) fn get_body(params: &RawJson) -> Result<RawJson, RpcError> {
    RawJson::from_value(&json!({"get": params})).map_err(|_| RpcError::internal())
}

/// A page that a provider makes.
struct ProvidedPage {
    category: Category,
    index: usize,
    last: bool,
    method: &'static str,
    provider: Arc<RegisteredProvider>,
}

impl Target for ProvidedPage {
    fn name(&self) -> &str {
        self.method
    }

    fn handler(&self) -> &Arc<dyn Handler> {
        &self.provider.handler
    }

    fn render(&self, server: &Server, scope: &Scope, outcome: Outcome) -> Result<RawJson, RpcError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Provided {
            items: Vec<Value>,
            next_cursor: Option<String>,
        }
        let raw = match outcome {
            Outcome::Value(raw) | Outcome::Object(raw) | Outcome::Result(raw) => raw,
            other => return Err(outcome::error_of(server, "a list provider", other)),
        };
        let wrong = |problem: String| {
            let text = format!("a list provider of {} gave {problem}", self.category.member());
            outcome::error_of(server, "a list provider", Outcome::Internal(text))
        };
        let mut provided: Provided = raw.parse().map_err(|error| wrong(format!("no list: {error}")))?;
        for item in &mut provided.items {
            if !item.is_object() {
                return Err(wrong(format!("an item that is no object: {item}")));
            }
            self.category.project(item, scope.revision);
        }
        let items: Vec<String> = provided.items.iter().map(Value::to_string).collect();
        let next = match provided.next_cursor {
            Some(theirs) => Some(Position::Provider(self.index, Some(theirs))),
            None if self.last => None,
            None => Some(Position::Provider(self.index + 1, None)),
        };
        let next = next.map(|position| cursor(self.category.member(), &position));
        Ok(result(server, self.category, items.join(",").as_bytes(), next.as_deref(), scope.revision))
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
mod tests {
    use super::*;

    #[test]
    fn pag_05_only_cursors_that_were_made_here_are_read() {
        for position in [
            Position::Registered(1),
            Position::Registered(255),
            Position::Provider(0, None),
            Position::Provider(2, Some("a~b~".into())),
            Position::Provider(0, Some(String::new())),
        ] {
            let text = cursor("tools", &position);
            assert_eq!(parse_cursor("tools", &text), Some(position));
            assert_eq!(parse_cursor("prompts", &text), None);
        }
        for bad in [
            "",
            "tools",
            "tools-",
            "tools-0",
            "tools-01",
            "tools-FF",
            "tools-+1",
            "tools~",
            "tools~x",
            "tools~01",
            "resources-1",
        ] {
            assert_eq!(parse_cursor("tools", bad), None, "{bad}");
        }
    }
}
