//! Edits TOML: an entry is a table with a header.

use super::text::{Problem, newline};
use serde_json::{Map, Value};
use std::ops::Range;
use toml_edit::{Document, Item, Key, Table, Value as Parsed};

pub(super) fn read(text: &str) -> Result<Value, Problem> {
    Ok(of_table(parse(text)?.as_table()))
}

/// Adds an entry at the end of the file. An entry of that name is removed before.
pub(super) fn set(text: &str, key: &[&str], name: &str, entry: &Value) -> Result<String, Problem> {
    let document = parse(text)?;
    let servers = key.iter().try_fold(document.as_item(), |item, part| item.get(part));
    if servers.is_some_and(|servers| !servers.is_table()) {
        return Err(Problem::new(format!("{} is no table with a header of its own", key.join("."))));
    }
    let mut edited = match servers.and_then(|servers| servers.get(name)) {
        Some(_) => remove(text, key, name)?,
        None => text.to_owned(),
    };
    let end = newline(text);
    if !edited.is_empty() {
        edited += if edited.ends_with('\n') { "" } else { end };
        edited += end;
    }
    let path: Vec<String> = key.iter().chain([&name]).map(|part| Key::new(*part).to_string()).collect();
    edited += &format!("[{}]{end}", path.join("."));
    for (member, value) in entry.as_object().into_iter().flatten() {
        edited += &format!("{} = {}{end}", Key::new(member), written(value));
    }
    Ok(edited)
}

/// Removes an entry with all its tables.
pub(super) fn remove(text: &str, key: &[&str], name: &str) -> Result<String, Problem> {
    let document = parse(text)?;
    let missing = || Problem::new(format!("there is no {name:?}"));
    let servers = key.iter().try_fold(document.as_item(), |item, part| item.get(part)).ok_or_else(missing)?;
    let servers = servers.as_table().ok_or_else(|| Problem::new(format!("{} is no table", key.join("."))))?;
    let (written, entry) = servers.get_key_value(name).ok_or_else(missing)?;
    let mut ranges = Vec::new();
    match entry {
        Item::Table(table) => tables(text, table, &mut ranges)?,
        Item::Value(value) => {
            let (start, end) = (written.span(), value.span());
            let (start, end) = start.zip(end).ok_or_else(missing)?;
            ranges.push(line_start(text, start.start)..line_end(text, end.end));
        }
        _ => return Err(Problem::new(format!("{name:?} is no table"))),
    }
    ranges.sort_by_key(|range| range.start);
    let mut edited = String::new();
    let mut at = 0;
    for range in ranges {
        edited += without_blank_line(&text[at..range.start]);
        at = range.end;
    }
    Ok(edited + &text[at..])
}

fn parse(text: &str) -> Result<Document<&str>, Problem> {
    Document::parse(text).map_err(|error| match error.span() {
        Some(span) => Problem::at(text, span.start, error.message()),
        None => Problem::new(error.message()),
    })
}

/// The lines of a table and of the tables inside of it.
fn tables(text: &str, table: &Table, ranges: &mut Vec<Range<usize>>) -> Result<(), Problem> {
    if table.is_dotted() {
        return Err(Problem::new("the entry is written as dotted keys"));
    }
    if let Some(header) = table.span().filter(|_| !table.is_implicit()) {
        let end = last_value(table).unwrap_or(header.start).max(header.start);
        ranges.push(line_start(text, header.start)..line_end(text, end));
    }
    for (_, item) in table {
        match item {
            Item::Table(inner) if !inner.is_dotted() => tables(text, inner, ranges)?,
            Item::ArrayOfTables(inner) => inner.iter().try_for_each(|inner| tables(text, inner, ranges))?,
            _ => {}
        }
    }
    Ok(())
}

/// The end of the last value below a header.
fn last_value(table: &Table) -> Option<usize> {
    let end = |item: &Item| match item {
        Item::Value(value) => value.span().map(|span| span.end),
        Item::Table(dotted) if dotted.is_dotted() => last_value(dotted),
        _ => None,
    };
    table.iter().filter_map(|(_, item)| end(item)).max()
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

/// The text without its last line, if that is empty.
fn without_blank_line(text: &str) -> &str {
    let line = text.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    line.filter(|line| line.ends_with('\n')).unwrap_or(text)
}

/// A value in one line.
fn written(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| format!("{} = {}", Key::new(name), written(value));
            format!("{{ {} }}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => Parsed::from(text.as_str()).to_string(),
        other => other.to_string(),
    }
}

fn of_table(table: &Table) -> Value {
    table.iter().map(|(name, item)| (name.to_owned(), of_item(item))).collect::<Map<_, _>>().into()
}

fn of_item(item: &Item) -> Value {
    match item {
        Item::Table(table) => of_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(of_table).collect(),
        Item::Value(value) => of_value(value),
        Item::None => Value::Null,
    }
}

fn of_value(value: &Parsed) -> Value {
    match value {
        Parsed::String(text) => text.value().as_str().into(),
        Parsed::Integer(number) => (*number.value()).into(),
        Parsed::Float(number) => (*number.value()).into(),
        Parsed::Boolean(is) => (*is.value()).into(),
        Parsed::Datetime(time) => time.value().to_string().into(),
        Parsed::Array(items) => items.iter().map(of_value).collect(),
        Parsed::InlineTable(table) => {
            table.iter().map(|(name, value)| (name.to_owned(), of_value(value))).collect::<Map<_, _>>().into()
        }
    }
}
