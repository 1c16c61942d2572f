//! Deserializes JSON with errors that say which member is wrong.

use super::{
    json_scan::{behind_string, unescaped},
    serde_words::reworded,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Error, Value};

/// Why JSON has a different shape than a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocatedError {
    /// The path of the wrong value, such as `arguments[1].name`. Empty for the whole JSON.
    pub(super) path: String,
    /// The message of serde, without line and column.
    pub(super) message: String,
}

impl LocatedError {
    /// Locates an error in the JSON. `again` deserializes the beginning of it, only to fail.
    ///
    /// The path is found after the error, by its line and column. To track it while deserializing
    /// would compile the code of each type twice.
    pub(super) fn new<'a>(json: &'a str, error: &Error, again: &dyn Fn(&'a str) -> Option<Error>) -> Self {
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
        Self {
            path: path_at(&json.as_bytes()[..end(json, error, again)]),
            message: without_position(&message).to_owned(),
        }
    }

    /// Describes the error to a reader who knows JSON, but neither serde nor Rust.
    pub(super) fn describe(&self) -> String {
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

fn without_position(message: &str) -> &str {
    message.rfind(" at line ").map_or(message, |end| &message[..end])
}

/// Where the wrong value ends in the JSON, or begins if it is an object or a list.
fn end<'a>(json: &'a str, error: &Error, again: &dyn Fn(&'a str) -> Option<Error>) -> usize {
    let mut end = position(json, error);
    // A type that refuses a value it has read gets no position: that of the object around it is
    // behind the bracket if the value is its last one, and in a list behind the comma. Without this
    // character the same value is refused, but an object as a whole is only incomplete.
    while let [before @ .., b'}' | b']' | b','] = json.as_bytes()[..end].trim_ascii_end() {
        let same = again(&json[..before.len()]).filter(|other| {
            other.is_data() && without_position(&other.to_string()) == without_position(&error.to_string())
        });
        match same {
            Some(other) => end = position(json, &other),
            None => break,
        }
    }
    end
}

/// The position of an error in bytes.
fn position(json: &str, error: &Error) -> usize {
    let before = error.line().saturating_sub(1);
    let line: usize = json.split_inclusive('\n').take(before).map(str::len).sum();
    (line + error.column()).min(json.len())
}

/// The path of the value at the end of `json`, which is the beginning of a text.
fn path_at(json: &[u8]) -> String {
    enum Step<'a> {
        Index(usize),
        /// `None` before the value of the member begins.
        Member(Option<&'a [u8]>),
    }
    let (mut steps, mut string, mut rest) = (Vec::new(), json, json);
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match (byte, steps.last_mut()) {
            (b'"', _) => {
                rest = behind_string(after);
                string = &after[..after.len() - rest.len()];
            }
            (b'[', _) => steps.push(Step::Index(0)),
            (b'{', _) => steps.push(Step::Member(None)),
            (b']' | b'}', _) => drop(steps.pop()),
            (b':', Some(Step::Member(name))) => *name = string.strip_suffix(b"\""),
            (b',', Some(Step::Index(index))) => *index += 1,
            (b',', Some(Step::Member(name))) => *name = None,
            _ => {}
        }
    }
    let text = |step| match step {
        Step::Index(index) => format!("[{index}]"),
        Step::Member(name) => name.map(|name| format!(".{}", unescaped(name))).unwrap_or_default(),
    };
    let path: String = steps.into_iter().map(text).collect();
    path.strip_prefix('.').unwrap_or(&path).to_owned()
}

/// Deserializes JSON.
///
/// # Errors
/// If the JSON has a different shape.
pub(super) fn from_str<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, LocatedError> {
    serde_json::from_str(json)
        .map_err(|error| LocatedError::new(json, &error, &|json| serde_json::from_str::<T>(json).err()))
}

/// As [`from_str`], from a value.
///
/// # Errors
/// If the value has a different shape.
pub(super) fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, LocatedError> {
    from_str(&value.to_string())
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
        #[serde(default)]
        even: BTreeMap<String, Vec<Even>>,
    }

    /// Refuses what it has read.
    #[derive(Debug, Deserialize)]
    #[serde(try_from = "u8")]
    struct Even;

    impl TryFrom<u8> for Even {
        type Error = &'static str;

        fn try_from(number: u8) -> Result<Self, Self::Error> {
            number.is_multiple_of(2).then_some(Self).ok_or("odd")
        }
    }

    #[test]
    fn an_unpaired_surrogate_is_named_with_its_path() {
        for escape in [r"\ud83d", r"\ud83dx", r"\ude00", r"\ud83d\n"] {
            let json = format!(r#"{{"a": [1, {{"n": "{escape}"}}]}}"#);
            let described = from_str::<Value>(&json).unwrap_err().describe();
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
            (json!({"name": "n", "even": {"a,]": [2, 3]}}), "even.a,][1]"),
            (json!({"name": "n", "even": {"a": [3, 2], "b": []}}), "even.a[0]"),
            (json!({"name": "n", "pair": [1, {"name": "\u{e4}", "even": {"a": [3]}}]}), "pair[1].even.a[0]"),
            (json!({"inner": []}), ""),
            (json!(5), ""),
        ] {
            assert_eq!(from_value::<Outer>(&value).unwrap_err().path, path, "{value}");
            let pretty = format!("{value:#}");
            let located = from_str::<Outer>(&pretty).unwrap_err();
            assert_eq!(located.path, path, "{pretty}");
            assert!(!located.message.contains(" at line "), "{}", located.message);
        }
    }
}
