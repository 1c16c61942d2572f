//! Edits one entry of a host's file, and leaves every other byte as it is.
//!
//! The parsers say where things are, and the text is cut there. The editing trees of the same
//! crates would change more: that of `jsonc-parser` removes blank lines and comments around an
//! entry, and that of `toml_edit` writes all line ends as LF.

mod json;
mod text;
mod toml;

pub(crate) use text::Problem;

use serde_json::{Map, Value};

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON, with comments and trailing commas.
    Json,
    Toml,
    /// Only read: no library that is maintained keeps comments and layout.
    Yaml,
}

/// Where the servers are in a file: the format, and the path to the object that has them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) format: Format,
    pub(crate) key: &'static [&'static str],
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reads a whole file. An empty one is an empty object.
pub(crate) fn read(format: Format, text: &str) -> Result<Value, Problem> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    match format {
        Format::Json => json::read(text),
        Format::Toml => toml::read(text),
        Format::Yaml if text.trim().is_empty() => Ok(Value::Object(Map::new())),
        Format::Yaml => serde_saphyr::from_str(text).map_err(|error| Problem::new(error.to_string())),
    }
}

impl Place {
    /// The servers in the value of a file.
    pub(crate) fn servers(self, file: &Value) -> Option<&Map<String, Value>> {
        self.key.iter().try_fold(file, |value, part| value.get(part))?.as_object()
    }

    /// Adds or replaces an entry.
    pub(crate) fn set(self, text: &str, name: &str, entry: &Value) -> Result<String, Problem> {
        self.edit(text, name, Some(entry))
    }

    /// Removes an entry, which must be there.
    pub(crate) fn remove(self, text: &str, name: &str) -> Result<String, Problem> {
        self.edit(text, name, None)
    }

    fn edit(self, text: &str, name: &str, entry: Option<&Value>) -> Result<String, Problem> {
        let (mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) => (&text[..BYTE_ORDER_MARK.len_utf8()], rest),
            None => ("", text),
        };
        let mut wanted = read(self.format, text)?;
        let edited = match (self.format, entry) {
            (Format::Json, Some(entry)) => json::set(text, self.key, name, entry)?,
            (Format::Json, None) => json::remove(text, self.key, name)?,
            (Format::Toml, Some(entry)) => toml::set(text, self.key, name, entry)?,
            (Format::Toml, None) => toml::remove(text, self.key, name)?,
            (Format::Yaml, _) => return Err(Problem::new("YAML is not edited: its comments and layout would be lost")),
        };
        // The meaning of everything else is checked as well, before anything is written.
        put(&mut wanted, self.key, name, entry);
        let found = read(self.format, &edited).map(|found| without_empty(found, self.key));
        match found == Ok(without_empty(wanted, self.key)) {
            true => Ok(format!("{mark}{edited}")),
            false => Err(Problem::new("this file cannot be edited without changing more of it")),
        }
    }
}

/// The same edit in a value.
fn put(value: &mut Value, key: &[&str], name: &str, entry: Option<&Value>) {
    let mut object = value;
    for part in key {
        if entry.is_some() && object.get(part).is_none() {
            object[*part] = Value::Object(Map::new());
        }
        let Some(inner) = object.get_mut(part) else { return };
        object = inner;
    }
    match (object.as_object_mut(), entry) {
        (Some(object), Some(entry)) => drop(object.insert(name.to_owned(), entry.clone())),
        (Some(object), None) => drop(object.shift_remove(name)),
        (None, _) => {}
    }
}

/// The value of a file without an object of servers that is empty: in TOML, it is not written.
fn without_empty(mut file: Value, key: &[&str]) -> Value {
    if let ([part], Some(members)) = (key, file.as_object_mut())
        && members.get(*part).and_then(Value::as_object).is_some_and(Map::is_empty)
    {
        members.shift_remove(*part);
    }
    file
}

#[cfg(test)]
mod tests;
