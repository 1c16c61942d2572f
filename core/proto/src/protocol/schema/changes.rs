//! The differences between two versions of a tool's schema, as a caller sees them.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The consequence of a change for callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeClass {
    /// Only texts for people and models have changed.
    Text,
    /// Calls that were valid still are.
    Compatible,
    /// A call that was valid may be refused now, or mean something else.
    Breaking,
}

impl ChangeClass {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Compatible => "compatible",
            Self::Breaking => "breaking",
        }
    }
}

/// A difference between two schemas.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaChange {
    /// The consequence for callers.
    pub class: ChangeClass,
    /// The difference in words, such as `"name" is now required`.
    pub text: String,
}

/// Keywords that only describe.
const ANNOTATIONS: [&str; 10] = [
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
    "$id",
    "$schema",
];
/// Maximum nesting that is compared member by member.
const MAX_DEPTH: usize = 32;

/// Compares two schemas of arguments: what a caller that knows the old one must know of the new
/// one. Keywords whose effect is not known here count as breaking if they were added or changed.
///
/// ```
/// use serde_json::json;
/// use trunkline_proto::protocol::schema::{ChangeClass, changes};
///
/// let old = json!({"type": "object", "properties": {"name": {"type": "string"}}});
/// let mut new = old.clone();
/// new["required"] = json!(["name"]);
/// let found = changes(&old, &new);
/// assert_eq!((found[0].class, &*found[0].text), (ChangeClass::Breaking, "\"name\" is now required"));
/// ```
pub fn changes(old: &Value, new: &Value) -> Vec<SchemaChange> {
    let mut found = Vec::new();
    compare(old, new, "", &mut found);
    found
}

fn compare(old: &Value, new: &Value, path: &str, found: &mut Vec<SchemaChange>) {
    if old == new {
        return;
    }
    let (Some(was), Some(is)) = (old.as_object(), new.as_object()) else {
        // `true` allows everything.
        let class = if new == &Value::Bool(true) { ChangeClass::Compatible } else { ChangeClass::Breaking };
        return found.push(SchemaChange { class, text: format!("{} has another schema", subject(path)) });
    };
    compare_types(was, is, path, found);
    compare_values(was, is, path, found);
    compare_properties(was, is, path, found);
    let items = [was.get("items"), is.get("items")];
    if let [Some(old), Some(new)] = items {
        nested(old, new, &format!("{path}[]"), found);
    }
    let known = ["type", "enum", "const", "properties", "required"];
    let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    for name in names.into_iter().filter(|name| !known.contains(&name.as_str())) {
        let (old, new) = (was.get(name), is.get(name));
        if old == new || (name == "items" && old.is_some() && new.is_some()) {
            continue;
        }
        let class = match (ANNOTATIONS.contains(&name.as_str()), new) {
            (true, _) => ChangeClass::Text,
            (false, None) => ChangeClass::Compatible,
            (false, Some(_)) => ChangeClass::Breaking,
        };
        found.push(SchemaChange { class, text: format!("{name} of {} has changed", subject(path)) });
    }
}

fn nested(old: &Value, new: &Value, path: &str, found: &mut Vec<SchemaChange>) {
    if path.matches(['.', '[']).count() < MAX_DEPTH {
        return compare(old, new, path, found);
    }
    if old != new {
        let text = format!("{} has another schema", subject(path));
        found.push(SchemaChange { class: ChangeClass::Breaking, text });
    }
}

fn compare_types(was: &Map<String, Value>, is: &Map<String, Value>, path: &str, found: &mut Vec<SchemaChange>) {
    let (old, new) = (types(was), types(is));
    if old == new {
        return;
    }
    let accepts = |kind: &&str| new.contains(kind) || (*kind == "integer" && new.contains("number"));
    let is_wider = new.is_empty() || (!old.is_empty() && old.iter().all(accepts));
    let class = if is_wider { ChangeClass::Compatible } else { ChangeClass::Breaking };
    let words = |types: &BTreeSet<&str>| match types.is_empty() {
        true => "anything".to_owned(),
        false => types.iter().copied().collect::<Vec<_>>().join(" or "),
    };
    found.push(SchemaChange { class, text: format!("{} is now {}, not {}", subject(path), words(&new), words(&old)) });
}

/// The types of a schema; none if it has no such keyword.
fn types(schema: &Map<String, Value>) -> BTreeSet<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => [one.as_str()].into(),
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => BTreeSet::new(),
    }
}

fn compare_values(was: &Map<String, Value>, is: &Map<String, Value>, path: &str, found: &mut Vec<SchemaChange>) {
    let (old, new) = (values(was), values(is));
    if old == new {
        return;
    }
    let class = match (&old, &new) {
        (_, None) => ChangeClass::Compatible,
        (Some(old), Some(new)) if old.iter().all(|value| new.contains(value)) => ChangeClass::Compatible,
        _ => ChangeClass::Breaking,
    };
    found.push(SchemaChange { class, text: format!("{} has other values to choose from", subject(path)) });
}

/// The values that a schema allows, if it lists them.
fn values(schema: &Map<String, Value>) -> Option<Vec<&Value>> {
    let all = schema.get("enum").and_then(Value::as_array).map(|values| values.iter().collect());
    all.or_else(|| schema.get("const").map(|value| vec![value]))
}

fn compare_properties(was: &Map<String, Value>, is: &Map<String, Value>, path: &str, found: &mut Vec<SchemaChange>) {
    let none = Map::new();
    let [old, new] = [was, is].map(|schema| schema.get("properties").and_then(Value::as_object).unwrap_or(&none));
    let [needed, needs] = [was, is].map(required);
    let full = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let mut add = |class, text| found.push(SchemaChange { class, text });
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        add(ChangeClass::Breaking, format!("{:?} is gone", full(name)));
    }
    for name in new.keys().filter(|name| !old.contains_key(*name) && !needs.contains(name.as_str())) {
        add(ChangeClass::Compatible, format!("{:?} is new and optional", full(name)));
    }
    for name in needs.difference(&needed) {
        add(ChangeClass::Breaking, format!("{:?} is now required", full(name)));
    }
    for name in needed.difference(&needs).filter(|name| new.contains_key(**name)) {
        add(ChangeClass::Compatible, format!("{:?} is now optional", full(name)));
    }
    for (name, schema) in old {
        if let Some(other) = new.get(name) {
            nested(schema, other, &full(name), found);
        }
    }
}

fn required(schema: &Map<String, Value>) -> BTreeSet<&str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The subject of a change: the argument, or all of them.
fn subject(path: &str) -> String {
    if path.is_empty() { "the arguments".to_owned() } else { format!("{path:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn changes_are_classified_by_what_they_do_to_callers() {
        use ChangeClass::{Breaking, Compatible, Text};
        let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required});
        let one = |schema: Value| object(json!({"a": schema}), json!([]));
        for (old, new, class, text) in [
            (
                object(json!({"a": {}}), json!([])),
                object(json!({"a": {}}), json!(["a"])),
                Breaking,
                "\"a\" is now required",
            ),
            (
                object(json!({"a": {}}), json!(["a"])),
                object(json!({"a": {}}), json!([])),
                Compatible,
                "\"a\" is now optional",
            ),
            (
                object(json!({}), json!([])),
                object(json!({"a": {}}), json!([])),
                Compatible,
                "\"a\" is new and optional",
            ),
            (object(json!({}), json!([])), object(json!({"a": {}}), json!(["a"])), Breaking, "\"a\" is now required"),
            (object(json!({"a": {}}), json!(["a"])), object(json!({}), json!([])), Breaking, "\"a\" is gone"),
            (
                one(json!({"type": "integer"})),
                one(json!({"type": "number"})),
                Compatible,
                "\"a\" is now number, not integer",
            ),
            (one(json!({"type": "string"})), one(json!({"type": ["string", "null"]})), Compatible, "null or string"),
            (
                one(json!({"type": "string"})),
                one(json!({"type": "integer"})),
                Breaking,
                "\"a\" is now integer, not string",
            ),
            (one(json!({})), one(json!({"type": "integer"})), Breaking, "not anything"),
            (one(json!({"type": "integer"})), one(json!({})), Compatible, "is now anything"),
            (one(json!({"enum": [1]})), one(json!({"enum": [1, 2]})), Compatible, "other values"),
            (one(json!({"enum": [1, 2]})), one(json!({"const": 1})), Breaking, "other values"),
            (one(json!({"description": "x"})), one(json!({"description": "y"})), Text, "description of \"a\""),
            (one(json!({})), one(json!({"maximum": 3})), Breaking, "maximum of \"a\""),
            (one(json!({"maximum": 3})), one(json!({})), Compatible, "maximum of \"a\""),
            (
                one(json!({"items": {"type": "string"}})),
                one(json!({"items": {"type": "array"}})),
                Breaking,
                "\"a[]\" is now",
            ),
            (one(one(json!({"type": "null"}))), one(one(json!(true))), Compatible, "\"a.a\" has another schema"),
            (json!({"anyOf": [{}]}), json!({"anyOf": [{}, {}]}), Breaking, "anyOf of the arguments"),
        ] {
            let found = changes(&old, &new);
            assert_eq!(found.len(), 1, "{old} {new}: {found:?}");
            assert_eq!(found[0].class, class, "{old} {new}");
            assert!(found[0].text.contains(text), "{found:?}");
            assert!(changes(&old, &old).is_empty());
        }
    }

    #[test]
    fn deep_schemas_are_compared_without_a_deep_stack() {
        // `json!` would copy the inner schema at each level.
        let within = |name: &str, inner| Value::Object([(name.to_owned(), inner)].into_iter().collect());
        let deep = move |end: Value| (0..5_000).fold(end, |inner, _| within("properties", within("a", inner)));
        // Built and dropped on a thread with a stack for them.
        let work = move || {
            let (old, new) = (deep(json!({"type": "string"})), deep(json!({"type": "null"})));
            let found = changes(&old, &new);
            assert_eq!((found.len(), found[0].class), (1, ChangeClass::Breaking));
        };
        std::thread::Builder::new().stack_size(64 << 20).spawn(work).unwrap().join().unwrap();
    }
}
