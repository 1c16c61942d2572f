//! Descriptions and other texts.

use super::{
    collector::{Collector, Place, shown},
    names::named,
    report::List,
};
use serde_json::Value;

/// Orders that descriptions of hostile servers have, in lower case.
const ORDERS: [&str; 18] = [
    "<important>",
    "<system>",
    "ignore previous instructions",
    "ignore all previous",
    "ignore the previous",
    "ignore prior instructions",
    "disregard previous",
    "disregard all previous",
    "do not tell the user",
    "don't tell the user",
    "do not inform the user",
    "do not mention this to the user",
    "without telling the user",
    "without informing the user",
    "hide this from the user",
    "reveal your system prompt",
    "~/.ssh",
    "in copy to",
];
/// Members whose strings are for people and models.
const TEXTS: [&str; 2] = ["description", "title"];
/// The part of a text that is searched for orders.
const MAX_READ: usize = 20_000;
/// Deeper values are left out; JSON that was read has fewer levels.
const MAX_DEPTH: usize = 128;

pub(super) fn check(found: &mut Collector, place: &Place<'_>, item: &Value) {
    let description = item["description"].as_str().map(str::trim).unwrap_or_default();
    if place.list == List::Tools {
        if description.is_empty() {
            found.add("description-missing", place, "/description", "the tool has no description".to_owned());
        }
        let length = description.chars().count();
        let what = || format!("{length} characters");
        found.add_if("description-length", place, ("/description", what), |limit| limit.is_exceeded_by(length));
    }
    walk(found, place, item, (&mut String::new(), ""), MAX_DEPTH);
}

pub(super) fn check_instructions(found: &mut Collector, instructions: &str) {
    let length = instructions.chars().count();
    let what = || format!("{length} characters");
    found.add_if("instructions-length", &Place::SERVER, ("/instructions", what), |limit| limit.is_exceeded_by(length));
    hidden(found, &Place::SERVER, "/instructions", instructions);
}

/// Looks into all strings, names of members included.
fn walk(found: &mut Collector, place: &Place<'_>, value: &Value, at: (&mut String, &str), depth: usize) {
    let (path, member) = at;
    let end = path.len();
    match value {
        Value::String(text) => {
            hidden(found, place, path, text);
            if TEXTS.contains(&member) {
                orders(found, place, path, text);
            }
        }
        Value::Array(items) if depth > 0 => {
            for (index, item) in items.iter().enumerate() {
                *path += &format!("/{index}");
                walk(found, place, item, (path, ""), depth - 1);
                path.truncate(end);
            }
        }
        Value::Object(members) if depth > 0 => {
            for (name, value) in members {
                path.push('/');
                *path += &name.replace('~', "~0").replace('/', "~1");
                hidden(found, place, path, name);
                walk(found, place, value, (path, name), depth - 1);
                path.truncate(end);
            }
        }
        _ => {}
    }
}

fn hidden(found: &mut Collector, place: &Place<'_>, path: &str, text: &str) {
    let mut characters = text.chars().filter(|character| is_hidden(*character)).peekable();
    if characters.peek().is_none() {
        return;
    }
    // Tag characters are a copy of ASCII.
    let tags = text.chars().filter_map(|character| char::from_u32(u32::from(character).checked_sub(0xe_0000)?));
    let spelled: String = tags.filter(char::is_ascii_graphic).collect();
    let spelled = if spelled.is_empty() { spelled } else { format!("; they spell \"{}\"", shown(&spelled)) };
    found.add("hidden-characters", place, path, format!("has {}{spelled}", named(characters)));
}

fn orders(found: &mut Collector, place: &Place<'_>, path: &str, text: &str) {
    let visible: String = text.chars().filter(|character| !is_hidden(*character)).take(MAX_READ).collect();
    let plain = visible.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(order) = ORDERS.iter().find(|order| plain.contains(**order)) {
        found.add("instructions-in-text", place, path, format!("says \"{order}\""));
    }
}

/// Returns whether a person does not see a character. Joiners are part of some scripts and emoji.
fn is_hidden(character: char) -> bool {
    let is_space = matches!(character, '\n' | '\r' | '\t');
    (character.is_control() && !is_space)
        || matches!(character,
            '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e01ef}')
}
