//! Edits JSON with comments and trailing commas.

use super::text::{Problem, newline, spliced};
use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Object, ObjectProp, Value as Parsed},
    common::Ranged,
    errors::ParseError,
};
use serde_json::{Value, json};
use std::ops::Range;

/// The extensions that hosts read, and no others.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The indentation of a file that shows none.
const INDENTATION: &str = "  ";

pub(super) fn read(text: &str) -> Result<Value, Problem> {
    if root(text)?.is_none() {
        return Ok(json!({}));
    }
    jsonc_parser::parse_to_serde_value(text, &OPTIONS).map_err(|error| problem(&error))
}

/// Adds or replaces an entry of the object at `key`, and makes that object if it is missing.
pub(super) fn set(text: &str, key: &[&str], name: &str, entry: &Value) -> Result<String, Problem> {
    let Some(root) = root(text)? else {
        let layout = Layout::of(text, None);
        let before = if text.is_empty() || text.ends_with('\n') { "" } else { layout.newline };
        let value = layout.written(&nested(key, name, entry), "");
        return Ok([text, before, &value, layout.newline].concat());
    };
    let layout = Layout::of(text, Some(&root));
    let mut object = &root;
    for (depth, part) in key.iter().enumerate() {
        match member(text, object, part)? {
            Some(found) => object = as_object(text, found, part)?,
            None => return Ok(layout.with_member(object, part, &nested(&key[depth + 1..], name, entry))),
        }
    }
    Ok(match member(text, object, name)? {
        Some(found) => {
            let (start, end) = (found.value.start(), found.value.end());
            let value = layout.written(entry, indentation(text, found.range.start));
            spliced(text, start, end, &value)
        }
        None => layout.with_member(object, name, entry),
    })
}

/// Removes an entry of the object at `key`.
pub(super) fn remove(text: &str, key: &[&str], name: &str) -> Result<String, Problem> {
    let missing = || Problem::new(format!("there is no {name:?}"));
    let root = root(text)?.ok_or_else(missing)?;
    let mut object = &root;
    for part in key {
        object = as_object(text, member(text, object, part)?.ok_or_else(missing)?, part)?;
    }
    member(text, object, name)?.ok_or_else(missing)?;
    let index = object.properties.iter().position(|found| found.name.as_str() == name).ok_or_else(missing)?;
    Ok(without_member(text, object, index))
}

/// The root object; `None` if there is nothing but comments.
fn root(text: &str) -> Result<Option<Object<'_>>, Problem> {
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &OPTIONS);
    match parsed.map_err(|error| problem(&error))?.value {
        None => Ok(None),
        Some(Parsed::Object(object)) => Ok(Some(object)),
        Some(other) => Err(Problem::at(text, other.start(), "the file is no JSON object")),
    }
}

fn problem(error: &ParseError) -> Problem {
    Problem { message: error.kind().to_string(), at: Some((error.line_display(), error.column_display())) }
}

fn as_object<'a>(text: &str, found: &'a ObjectProp<'a>, name: &str) -> Result<&'a Object<'a>, Problem> {
    found.value.as_object().ok_or_else(|| Problem::at(text, found.value.start(), format!("{name:?} is no object")))
}

/// The member of a name. Hosts would use the last one of several, and people see the first one.
fn member<'a>(text: &str, object: &'a Object<'a>, name: &str) -> Result<Option<&'a ObjectProp<'a>>, Problem> {
    let mut found = object.properties.iter().filter(|found| found.name.as_str() == name);
    match (found.next(), found.next()) {
        (_, Some(second)) => Err(Problem::at(text, second.range.start, format!("{name:?} is there twice: remove one"))),
        (found, None) => Ok(found),
    }
}

/// An entry inside of the objects of `key`.
fn nested(key: &[&str], name: &str, entry: &Value) -> Value {
    key.iter().rev().fold(json!({name: entry}), |inner, part| json!({*part: inner}))
}

/// How a file is laid out.
struct Layout<'a> {
    text: &'a str,
    newline: &'static str,
    /// One step of indentation.
    step: &'a str,
    is_one_line: bool,
}

impl<'a> Layout<'a> {
    fn of(text: &'a str, root: Option<&Object<'_>>) -> Self {
        let first = root.and_then(|root| root.properties.first());
        let step = first.map_or("", |first| own_indentation(text, first.range.start).unwrap_or_default());
        Self {
            text,
            newline: newline(text),
            step: if step.is_empty() { INDENTATION } else { step },
            is_one_line: first.is_some() && !text.trim_end().contains('\n'),
        }
    }

    /// The text with one more member at the end of an object.
    fn with_member(&self, object: &Object<'_>, name: &str, value: &Value) -> String {
        let text = self.text;
        let (open, close) = (object.range.start + 1, object.range.end - 1);
        let base = indentation(text, object.range.start);
        let name = Value::from(name);
        let Some(last) = object.properties.last() else {
            let comments = pieces(text, open).take_while(|(_, piece)| piece.start < close);
            let at = comments.filter(|(kind, _)| kind.is_comment()).last().map_or(open, |(_, piece)| piece.end);
            if self.is_one_line {
                let space = if at == open { "" } else { " " };
                return spliced(text, at, at, &format!("{space}{name}: {}", one_line(value)));
            }
            let inner = format!("{base}{}", self.step);
            let end = if text[at..close].contains('\n') { String::new() } else { format!("{}{base}", self.newline) };
            let member = format!("{}{inner}{name}: {}{end}", self.newline, self.written(value, &inner));
            return spliced(text, at, at, &member);
        };
        let end = last.range.end;
        let comma = comma_after(text, end);
        let at = end_of_line_comments(text, comma.map_or(end, |comma| comma + 1));
        let is_one_line = self.is_one_line || !text[open..close].contains('\n');
        let member = if is_one_line {
            format!(" {name}: {}", one_line(value))
        } else {
            let inner = own_indentation(text, last.range.start);
            let inner = inner.map_or_else(|| format!("{base}{}", self.step), str::to_owned);
            format!("{}{inner}{name}: {}", self.newline, self.written(value, &inner))
        };
        // The new last member has a trailing comma if the old one had it.
        let (before, after) = if comma.is_some() { ("", ",") } else { (",", "") };
        [&text[..end], before, &text[end..at], &member, after, &text[at..]].concat()
    }

    /// A value: objects with a line for each member, lists on one line.
    fn written(&self, value: &Value, indentation: &str) -> String {
        match value {
            Value::Object(members) if self.is_one_line || members.is_empty() => one_line(value),
            Value::Object(members) => {
                let inner = format!("{indentation}{}", self.step);
                let member = |(name, value): (&String, &Value)| {
                    format!("{}{inner}{}: {}", self.newline, Value::from(name.as_str()), self.written(value, &inner))
                };
                let members: Vec<_> = members.iter().map(member).collect();
                format!("{{{}{}{indentation}}}", members.join(","), self.newline)
            }
            _ => one_line(value),
        }
    }
}

/// A value on one line, with spaces.
fn one_line(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), one_line(value)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(one_line).collect::<Vec<_>>().join(", ")),
        _ => value.to_string(),
    }
}

/// The text without a member of an object.
fn without_member(text: &str, object: &Object<'_>, index: usize) -> String {
    let found = &object.properties[index];
    let (open, close) = (object.range.start + 1, object.range.end - 1);
    let comma = comma_after(text, found.range.end);
    let after_comma = comma.map_or(found.range.end, |comma| comma + 1);
    // A comment behind it belongs to it, if the line has nothing else.
    let commented = end_of_line_comments(text, after_comma);
    let is_line_end = text[commented..].trim_start_matches([' ', '\t']).starts_with(['\r', '\n']);
    let end = if is_line_end { commented } else { after_comma };
    let previous = index.checked_sub(1).map(|index| &object.properties[index]);
    let from = previous.map_or(open, |previous| previous.range.end);
    let start = start_of_line(text, from, found.range.start, is_line_end);
    if object.properties.len() == 1 && text[open..start].trim().is_empty() && text[end..close].trim().is_empty() {
        return spliced(text, open, close, "");
    }
    let is_last = index + 1 == object.properties.len();
    match previous.and_then(|previous| comma_after(text, previous.range.end)).filter(|_| is_last && comma.is_none()) {
        Some(before) => [&text[..before], &text[before + 1..start], &text[end..]].concat(),
        None => spliced(text, start, end, ""),
    }
}

/// Where to cut before a member: before its indentation, and its line end. The line end stays if a
/// line comment before it would then hide what follows the member.
fn start_of_line(text: &str, from: usize, member: usize, is_line_end: bool) -> usize {
    let blanks = text[from..member].trim_end_matches([' ', '\t']);
    let line = blanks.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    let kept = line.filter(|line| is_line_end || !line.contains("//")).unwrap_or(blanks);
    from + kept.len()
}

/// The indentation of the line of a position.
fn indentation(text: &str, at: usize) -> &str {
    let line = &text[text[..at].rfind('\n').map_or(0, |end| end + 1)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The indentation of something that is the first on its line.
fn own_indentation(text: &str, at: usize) -> Option<&str> {
    let start = text[..at].rfind('\n')? + 1;
    Some(&text[start..at]).filter(|before| before.trim_matches([' ', '\t']).is_empty())
}

/// Anything that may be between values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Blank,
    Newline,
    LineComment,
    BlockComment,
}

impl Piece {
    fn is_comment(self) -> bool {
        matches!(self, Self::LineComment | Self::BlockComment)
    }
}

/// The blanks and comments from a position on, up to anything else.
fn pieces(text: &str, from: usize) -> impl Iterator<Item = (Piece, Range<usize>)> {
    let mut at = from;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let (kind, length) = match rest.as_bytes() {
            [b'\n', ..] => (Piece::Newline, 1),
            [b'\r', b'\n', ..] => (Piece::Newline, 2),
            [b'/', b'/', ..] => {
                let line = rest.split('\n').next().unwrap_or_default();
                (Piece::LineComment, line.strip_suffix('\r').unwrap_or(line).len())
            }
            [b'/', b'*', ..] => (Piece::BlockComment, rest[2..].find("*/")? + 4),
            _ => (Piece::Blank, rest.chars().next().filter(|sign| sign.is_whitespace())?.len_utf8()),
        };
        let range = at..at + length;
        at = range.end;
        Some((kind, range))
    })
}

/// The comma after a value.
fn comma_after(text: &str, end: usize) -> Option<usize> {
    let at = pieces(text, end).last().map_or(end, |(_, piece)| piece.end);
    text[at..].starts_with(',').then_some(at)
}

/// The end of the comments that follow on the same line.
fn end_of_line_comments(text: &str, from: usize) -> usize {
    let is_on_line = |(kind, piece): &(Piece, Range<usize>)| match kind {
        Piece::Newline => false,
        Piece::BlockComment => !text[piece.clone()].contains('\n'),
        Piece::Blank | Piece::LineComment => true,
    };
    let comments = pieces(text, from).take_while(is_on_line).filter(|(kind, _)| kind.is_comment());
    comments.last().map_or(from, |(_, piece)| piece.end)
}
