//! List pages and their cursors.

use crate::{
    protocol::{RawJson, RpcError},
    server::{
        registry::{Category, list_members},
        request::ActiveRequest,
        result::CacheScope,
    },
};
use serde::Deserialize;
use std::time::Duration;

/// Where a page starts. Cursors are opaque to clients and valid on every instance of the server
/// (PAG-05).
#[derive(Debug, PartialEq)]
pub(super) enum Position {
    /// After the registered feature with that number.
    Registered(u64),
    /// In the list of the provider or mount with that number, at its own cursor; `None` means at
    /// the start.
    Source(u64, Option<String>),
}

/// Reads where the requested page starts.
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

/// Creates a cursor. It refers to the last feature of a page by registration number, so that it
/// stays valid when features are added or removed.
pub(super) fn cursor(member: &str, position: &Position) -> String {
    match position {
        Position::Registered(after) => format!("{member}-{after:x}"),
        Position::Source(number, None) => format!("{member}~{number}"),
        Position::Source(number, Some(theirs)) => format!("{member}~{number}~{theirs}"),
    }
}

/// Parses a cursor. Returns `None` if this server cannot have issued it.
fn parse_cursor(member: &str, text: &str) -> Option<Position> {
    let rest = text.strip_prefix(member)?;
    let position = if let Some(digits) = rest.strip_prefix('-') {
        Position::Registered(u64::from_str_radix(digits, 16).ok().filter(|number| *number > 0)?)
    } else {
        let rest = rest.strip_prefix('~')?;
        match rest.split_once('~') {
            Some((number, theirs)) => Position::Source(number.parse().ok()?, Some(theirs.to_owned())),
            None => Position::Source(rest.parse().ok()?, None),
        }
    };
    // Refuse other spellings of the same position.
    (cursor(member, &position) == text).then_some(position)
}

/// Builds the result for one page of a list. It is partial if a server that failed is missing.
pub(super) fn page_result(
    context: &ActiveRequest,
    member: &str,
    items: &[u8],
    next: Option<Position>,
    is_partial: bool,
) -> RawJson {
    let hints = context.results().cache;
    // CCH-13: if callers see different parts of a list, caches must not share any of its pages
    // (CCH-10).
    let is_personal = Category::parse(member).is_some_and(|category| context.snapshot.is_personal(category));
    let hints = if is_personal { hints.with_scope(CacheScope::Private) } else { hints };
    // Missing items may return at any time, and clients are not notified.
    let hints = if is_partial { hints.with_ttl(Duration::ZERO) } else { hints };
    let (revision, next) = (context.info.revision, next.map(|next| cursor(member, &next)));
    context.results().seal(list_members(member, items, next.as_deref(), &hints.members(), revision), revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pag_05_only_cursors_that_were_made_here_are_read() {
        for position in [
            Position::Registered(1),
            Position::Registered(255),
            Position::Source(0, None),
            Position::Source(2, Some("a~b~".into())),
            Position::Source(0, Some(String::new())),
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
