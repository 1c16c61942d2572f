//! JSON patterns and placeholders, for the vectors and the matrix (tests/vectors/README.md).

#![forbid(unsafe_code)]

use serde_json::{Map, Value};

/// The values saved by patterns.
pub type Saved = Map<String, Value>;

/// The value with the saved ones filled in.
///
/// # Panics
/// If no value is saved under a name.
pub fn filled(value: Value, saved: &Saved) -> Value {
    let get = |name: &str| saved.get(name).unwrap_or_else(|| panic!("nothing is saved as {name}")).clone();
    match value {
        Value::String(text) => match (text.strip_prefix("$use:"), text.strip_prefix("$changed:")) {
            (Some(name), _) => get(name),
            (_, Some(name)) => changed(get(name).as_str().expect("a text")).into(),
            _ => Value::String(text),
        },
        Value::Array(elements) => elements.into_iter().map(|element| filled(element, saved)).collect(),
        Value::Object(members) => members.into_iter().map(|(name, inner)| (name, filled(inner, saved))).collect(),
        other => other,
    }
}

/// The string with another letter in the middle.
fn changed(text: &str) -> String {
    let middle = text.len() / 2;
    let other = if text.as_bytes()[middle] == b'A' { "B" } else { "A" };
    format!("{}{other}{}", &text[..middle], &text[middle + 1..])
}

/// Returns the inner patterns of messages that may occur more than once.
pub fn several(patterns: &mut [Value]) -> Vec<Value> {
    let open = |pattern: &mut Value| pattern.get("$several").cloned().inspect(|inner| *pattern = inner.clone());
    patterns.iter_mut().filter_map(open).collect()
}

/// Removes the pattern that a message matches, and returns whether there is one. The responses of a
/// batch may also be in any order.
pub fn take_match(patterns: &mut Vec<Value>, message: &Value, saved: &mut Saved) -> bool {
    let is_it = |pattern: &Value| {
        let mut trial = saved.clone();
        let is_it = match (pattern, message) {
            (Value::Array(batch), Value::Array(found)) => {
                let mut batch = batch.clone();
                found.iter().all(|one| take_match(&mut batch, one, &mut trial)) && batch.is_empty()
            }
            _ => matches(pattern, message, &mut trial),
        };
        is_it.then_some(trial)
    };
    let found = patterns.iter().enumerate().find_map(|(position, pattern)| Some((position, is_it(pattern)?)));
    found.map(|(position, trial)| (patterns.remove(position), *saved = trial)).is_some()
}

/// Returns whether a message matches a pattern, and saves the values that the pattern names.
///
/// # Panics
/// If a special pattern is malformed.
pub fn matches(pattern: &Value, message: &Value, saved: &mut Saved) -> bool {
    match (pattern, message) {
        (Value::String(special), _) if special == "$any" => true,
        (Value::String(special), _) if special.starts_with("$save:") => {
            saved.insert(special["$save:".len()..].to_owned(), message.clone());
            true
        }
        (Value::String(special), found) if special.starts_with("$has:") => {
            found.as_str().is_some_and(|text| text.contains(&special["$has:".len()..]))
        }
        (Value::Object(members), Value::Array(found)) if members.contains_key("$contains") => {
            let wanted = members["$contains"].as_array().expect("$contains has an array");
            wanted.iter().all(|pattern| found.iter().any(|element| matches(pattern, element, saved)))
        }
        (Value::Object(members), Value::Object(object)) => members.iter().all(|(name, inner)| match object.get(name) {
            None if name == "$order" => are_in_order(inner, object),
            Some(found) => inner != "$absent" && matches(inner, found, saved),
            None => inner == "$absent",
        }),
        (Value::Array(elements), Value::Array(found)) => {
            elements.len() == found.len()
                && elements.iter().zip(found).all(|(pattern, found)| matches(pattern, found, saved))
        }
        // 1 and 1.0 are the same number.
        (Value::Number(pattern), Value::Number(found)) if pattern.is_f64() || found.is_f64() => {
            pattern.as_f64() == found.as_f64()
        }
        (pattern, found) => pattern == found,
    }
}

/// Returns whether an object has these members, in this relative order.
fn are_in_order(names: &Value, object: &Map<String, Value>) -> bool {
    let names: Vec<_> = names.as_array().expect("$order has an array").iter().map(Value::as_str).collect();
    let found: Vec<_> = object.keys().map(|name| Some(&**name)).filter(|name| names.contains(name)).collect();
    found == names
}
