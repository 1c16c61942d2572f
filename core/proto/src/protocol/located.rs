//! Deserializes JSON with errors that say which member is wrong.

use super::serde_words::reworded;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use serde_path_to_error::Path;

/// Why JSON has a different shape than a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedError {
    /// The path of the wrong value, such as `arguments[1].name`. Empty for the whole JSON.
    pub path: String,
    /// The message of serde, without line and column.
    pub message: String,
}

impl LocatedError {
    pub(super) fn new(path: &Path, error: &serde_json::Error) -> Self {
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
        // Line and column are of no use to a reader who did not write the JSON.
        let message = message.rfind(" at line ").map_or(&*message, |end| &message[..end]).to_owned();
        Self { path: path_text(path), message }
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

/// A path without the `.` that stands for the whole value.
pub(super) fn path_text(path: &Path) -> String {
    if path.iter().len() == 0 { String::new() } else { path.to_string() }
}

/// Deserializes JSON, and tracks the path, which takes time.
///
/// # Errors
/// If the JSON has a different shape.
pub fn from_slice<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, LocatedError> {
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_slice(json))
        .map_err(|error| LocatedError::new(error.path(), error.inner()))
}

/// As [`from_slice`], from a value.
///
/// # Errors
/// If the value has a different shape.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, LocatedError> {
    serde_path_to_error::deserialize(value).map_err(|error| LocatedError::new(error.path(), error.inner()))
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
            let described = from_slice::<Value>(json.as_bytes()).unwrap_err().describe();
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
            let located = from_slice::<Outer>(pretty.as_bytes()).unwrap_err();
            assert_eq!(located.path, path, "{pretty}");
            assert!(!located.message.contains(" at line "), "{}", located.message);
        }
    }
}
