//! Deserializes JSON with errors that say which member is wrong.

use super::{
    json_scan::{behind_string, unescaped},
    serde_words::reworded,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why a JSON text has a different shape than a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedError {
    /// The path of the wrong value, such as `arguments[1].name`. Empty for the whole text.
    pub path: String,
    /// The message of serde, without line and column.
    pub message: String,
}

impl LocatedError {
    /// Finds the wrong value in valid JSON whose deserialization failed.
    pub fn new(json: &[u8], error: &serde_json::Error) -> Self {
        let message = match error.to_string() {
            // serde_json reports a number in the place of an enum as a syntax error.
            words if words.starts_with("expected value") => "invalid type: this value, expected a string".to_owned(),
            // So are the escapes of a valid string that represents no text.
            words if words.contains("hex escape") => {
                "a string has an escaped surrogate (\\ud800 to \\udfff) without its pair".to_owned()
            }
            words if error.is_data() => words,
            words => return Self { path: String::new(), message: words },
        };
        let line = memchr::memchr_iter(b'\n', json).map(|end| end + 1);
        let start = [0].into_iter().chain(line).nth(error.line().saturating_sub(1)).unwrap_or(json.len());
        let end = start.saturating_add(error.column()).min(json.len());
        // Line and column are of no use to a reader who did not write the JSON.
        let message = message.rfind(" at line ").map_or(&*message, |end| &message[..end]).to_owned();
        Self { path: path_of(&json[..end]), message }
    }

    /// Describes the error to a reader who knows JSON, but neither serde nor Rust.
    pub fn describe(&self) -> String {
        let Self { path, message } = self;
        if let Some(problem) = too_deep(message) {
            return problem.to_owned();
        }
        if path.is_empty() {
            return shortened(&reworded(message));
        }
        // Model objects name the member themselves.
        let member = path.rsplit('.').next().unwrap_or_default();
        let own = message.strip_prefix(&format!("`{member}`: ")).unwrap_or(message);
        format!("{path}: {}", shortened(&reworded(own)))
    }
}

/// Replaces serde's error for JSON that is nested too deeply.
#[doc(hidden)]
pub fn too_deep(words: &str) -> Option<&'static str> {
    let is_it = words.starts_with("recursion limit exceeded");
    is_it.then_some("it nests deeper than 128 levels, the most that max_nesting allows")
}

/// Shortens serde's messages, which repeat the unexpected value at any length.
fn shortened(words: &str) -> String {
    const HALF: usize = 100;
    let length = words.chars().count();
    if length <= 2 * HALF {
        return words.to_owned();
    }
    words.chars().take(HALF).chain(['…']).chain(words.chars().skip(length - HALF)).collect()
}

/// Deserializes a value.
///
/// # Errors
/// If the value has a different shape.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, LocatedError> {
    let text = value.to_string();
    serde_json::from_slice(text.as_bytes()).map_err(|error| LocatedError::new(text.as_bytes(), &error))
}

/// The path of the value that the beginning of a JSON text ends with.
fn path_of(mut text: &[u8]) -> String {
    enum Segment {
        Key(String),
        Index(usize),
    }
    // The current element of each open array, and the current member of each open object.
    let (mut open, mut string) = (Vec::new(), &b""[..]);
    while let Some((&byte, rest)) = text.split_first() {
        text = rest;
        match byte {
            b'"' => {
                text = behind_string(rest);
                string = &rest[..(rest.len() - text.len()).saturating_sub(1)];
            }
            b'{' => open.push(None),
            b'[' => open.push(Some(Segment::Index(0))),
            b'}' | b']' => drop(open.pop()),
            b':' | b',' => match open.last_mut() {
                Some(Some(Segment::Index(index))) => *index += 1,
                Some(current) => *current = (byte == b':').then(|| Segment::Key(unescaped(string))),
                None => {}
            },
            _ => {}
        }
    }
    let mut path = String::new();
    for segment in open.into_iter().flatten() {
        match segment {
            Segment::Key(key) if path.is_empty() => path = key,
            Segment::Key(key) => path.extend([".", &key]),
            Segment::Index(index) => path.extend(["[", &index.to_string(), "]"]),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;
    use std::collections::BTreeMap;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is only read")]
    struct Outer {
        name: String,
        #[serde(default)]
        inner: Vec<BTreeMap<String, u8>>,
        #[serde(default)]
        pair: Option<(u8, Box<Outer>)>,
    }

    #[test]
    fn an_unpaired_surrogate_is_named_with_its_path() {
        for escape in [r"\ud83d", r"\ud83dx", r"\ude00", r"\ud83d\n"] {
            let json = format!(r#"{{"a": [1, {{"n": "{escape}"}}]}}"#);
            let error = serde_json::from_str::<Value>(&json).unwrap_err();
            let described = LocatedError::new(json.as_bytes(), &error).describe();
            assert_eq!(described, r"a[1].n: a string has an escaped surrogate (\ud800 to \udfff) without its pair");
        }
    }

    #[test]
    fn the_path_leads_to_the_wrong_value() {
        for (value, path) in [
            (json!({"name": 7}), "name"),
            (json!({"inner": [], "name": [1, 2]}), "name"),
            (json!({"name": "\\\"{[,:", "inner": [{}, {"a": 1, "b": 300}]}), "inner[1].b"),
            (json!({"name": "n", "pair": [1, {"name": "m", "inner": 5}]}), "pair[1].inner"),
            (json!({"name": "n", "pair": [1, {"inner": []}]}), "pair[1]"),
            (json!({"inner": []}), ""),
            (json!(5), ""),
        ] {
            assert_eq!(from_value::<Outer>(&value).unwrap_err().path, path, "{value}");
            let pretty = format!("{value:#}");
            let error = serde_json::from_slice::<Outer>(pretty.as_bytes()).unwrap_err();
            let located = LocatedError::new(pretty.as_bytes(), &error);
            assert_eq!(located.path, path, "{pretty}");
            assert!(!located.message.contains(" at line "), "{}", located.message);
        }
    }
}
