//! The names of tools.

use super::{
    collector::{Collector, Place},
    hosts,
};
use serde_json::Value;
use std::fmt::Write as _;

/// As the specification recommends.
const PUNCTUATION: &str = "_-.";
const MAX_LENGTH: usize = 128;
/// Characters that a finding names.
const MAX_NAMED: usize = 5;

pub(super) fn check(found: &mut Collector, place: &Place<'_>, server: &str, tool: &Value) {
    let Some(name) = tool["name"].as_str() else { return };
    let others = |limit: &hosts::Limit| name.chars().any(|character| !limit.allows(character));
    let is_unusual = |character: char| !hosts::is_plain(character, PUNCTUATION);
    let affected = hosts::affected("name-characters", others);
    // A name that hosts only replace characters of works everywhere.
    if affected.iter().any(|one| one.effect.loses()) || name.chars().any(is_unusual) {
        let unusual = named(name.chars().filter(|character| !hosts::is_plain(*character, "_")));
        found.add_with("name-characters", place, ("/name", format!("the name has {unusual}")), affected);
    }
    let length = name.chars().count();
    let mut longest = length;
    let limited = hosts::affected_by("name-length", |host, limit| limit.is_exceeded_by(host.counted(server, name)));
    for host in hosts::all().iter().filter(|host| limited.iter().any(|affected| affected.host == host.name)) {
        longest = longest.max(host.counted(server, name));
    }
    if !limited.is_empty() || length > MAX_LENGTH {
        let with_prefix = if longest > length { format!(", {longest} with a host's prefix") } else { String::new() };
        found.add_with("name-length", place, ("/name", format!("{length} characters{with_prefix}")), limited);
    }
}

/// Characters of the server, each once.
pub(super) fn named(characters: impl Iterator<Item = char>) -> String {
    let mut each = Vec::new();
    for character in characters {
        if !each.contains(&character) {
            each.push(character);
        }
        if each.len() > MAX_NAMED {
            break;
        }
    }
    let mut text = String::new();
    for (index, character) in each.iter().take(MAX_NAMED).enumerate() {
        let between = if index > 0 { ", " } else { "" };
        let _ = match character {
            '!'..='~' => write!(text, "{between}\"{character}\""),
            ' ' => write!(text, "{between}a space"),
            _ => write!(text, "{between}U+{:04X}", u32::from(*character)),
        };
    }
    if each.len() > MAX_NAMED {
        text += ", …";
    }
    text
}
