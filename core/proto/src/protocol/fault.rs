//! Explains why a value cannot be read as a type, in terms of JSON.

use super::{
    describe::{Described, ObjectDescription, Presence, Type, Union},
    known_names::unknown_name,
    located::{self, LocatedError},
    serde_words::reworded,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fmt;

/// The invalid part of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// A path below the value, such as `.headers` or `[0].uri`, or the JSON pointer of a part of
    /// parameters; empty for the value itself.
    pub path: String,
    /// The problem.
    pub problem: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.strip_prefix('.').unwrap_or(&self.path) {
            "" => f.write_str(&self.problem),
            path => write!(f, "{path}: {}", self.problem),
        }
    }
}

impl std::error::Error for Fault {}

impl Fault {
    pub(super) fn new(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { path: path.into(), problem: problem.into() }
    }

    /// Explains why a value cannot be read as a type: by the type where it has the wrong shape,
    /// otherwise in the words of the error.
    pub(super) fn of(ty: Type, value: &Value, error: LocatedError) -> Self {
        let LocatedError { path, message } = error;
        let path = if path.is_empty() || path.starts_with('[') { path } else { format!(".{path}") };
        // Some types have negative integers, so one is only a fault where reading has failed.
        let negative = || first(ty, value, true).filter(|fault| fault.path == path);
        first(ty, value, false).or_else(negative).unwrap_or_else(|| Self { problem: reworded(&message), path })
    }

    fn here(problem: impl Into<String>) -> Self {
        Self { path: String::new(), problem: problem.into() }
    }

    /// The same as part of a greater value.
    pub fn below(mut self, step: &str) -> Self {
        self.path.insert_str(0, step);
        self
    }
}

/// Reads a value as a described type.
///
/// # Errors
/// The first part of the value that the type does not have.
pub fn read<T: Described + DeserializeOwned>(value: &Value) -> Result<T, Fault> {
    located::from_value(value).map_err(|error| Fault::of(T::TYPE, value, error))
}

/// Finds the first part of a value that doesn't match its type.
fn first(ty: Type, value: &Value, is_strict: bool) -> Option<Fault> {
    match (ty, value) {
        (Type::OrFalse(_), Value::Bool(false)) => None,
        (Type::List(of) | Type::OneOrList(of), Value::Array(items)) => items
            .iter()
            .enumerate()
            .find_map(|(at, item)| first(*of, item, is_strict).map(|fault| fault.below(&format!("[{at}]")))),
        (Type::Map(of), Value::Object(members)) => members
            .iter()
            .find_map(|(name, member)| first(*of, member, is_strict).map(|fault| fault.below(&format!(".{name}")))),
        (Type::Model(model), Value::Object(members)) => in_members(model, members, is_strict),
        (Type::Union(union), Value::Object(members)) => in_variant(union, value, members, is_strict),
        (ty, value) if fits(ty, value, is_strict) => None,
        (ty, value) => expected(ty).map(|expected| Fault::here(refused(value, &expected))),
    }
}

fn in_members(model: &ObjectDescription, members: &Map<String, Value>, is_strict: bool) -> Option<Fault> {
    let given = members.iter().find_map(|(name, member)| {
        let Some(field) = model.fields.iter().find(|field| field.json == name) else {
            let names = || model.fields.iter().map(|field| field.json).collect::<Vec<_>>();
            return (!model.open).then(|| Fault::here(unknown_name(name, &names())));
        };
        if member.is_null() && field.presence != Presence::Required {
            return None;
        }
        first(field.ty, member, is_strict).map(|fault| fault.below(&format!(".{name}")))
    });
    given.or_else(|| {
        let is_missing = |name: &str| !members.contains_key(name);
        let missing =
            model.fields.iter().find(|field| field.presence == Presence::Required && is_missing(field.json))?;
        Some(Fault::here("is missing").below(&format!(".{}", missing.json)))
    })
}

fn in_variant(union: &Union, value: &Value, members: &Map<String, Value>, is_strict: bool) -> Option<Fault> {
    let tag = union.tag?;
    let given = members.get(tag);
    if let Some((_, variant)) = union.variants.iter().find(|(name, _)| given.and_then(Value::as_str) == Some(*name)) {
        return first(*variant, value, is_strict);
    }
    if given.is_none() || union.open {
        return None;
    }
    let names: Vec<_> = union.variants.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let problem = refused(given.unwrap_or(&Value::Null), &names.join(" or "));
    Some(Fault::here(problem).below(&format!(".{tag}")))
}

fn fits(ty: Type, value: &Value, is_strict: bool) -> bool {
    match ty {
        Type::String | Type::OneOf(_) => value.is_string(),
        Type::Values(values) => {
            value.as_str().is_some_and(|text| values.open || values.values.iter().any(|(value, _)| *value == text))
        }
        Type::Boolean => value.is_boolean(),
        Type::Integer | Type::Duration if is_strict => value.is_u64(),
        Type::Integer | Type::Duration => value.is_i64() || value.is_u64(),
        Type::Number => value.is_number(),
        Type::Json => true,
        Type::Object | Type::Map(_) | Type::Model(_) | Type::Union(_) => value.is_object(),
        Type::List(_) => value.is_array(),
        Type::OneOrList(of) | Type::OrFalse(of) => fits(*of, value, is_strict),
    }
}

/// Describes the values of a type.
fn expected(ty: Type) -> Option<String> {
    let words = match ty {
        Type::Values(values) if !values.open => {
            let values: Vec<_> = values.values.iter().map(|(value, _)| format!("\"{value}\"")).collect();
            return Some(values.join(" or "));
        }
        Type::String | Type::OneOf(_) | Type::Values(_) => "a string",
        Type::Boolean => "true or false",
        Type::Integer => "a non-negative integer",
        Type::Duration => "a non-negative duration",
        Type::Number => "a number",
        Type::Object | Type::Map(_) | Type::Model(_) | Type::Union(_) => "an object",
        Type::List(_) => "a list",
        Type::OneOrList(of) => return expected(*of).map(|one| format!("{one} or a list")),
        Type::OrFalse(of) => return expected(*of).map(|one| format!("{one} or false")),
        Type::Json => return None,
    };
    Some(words.to_owned())
}

fn refused(given: &Value, expected: &str) -> String {
    let number = given
        .as_str()
        .filter(|text| text.parse::<f64>().is_ok() && (expected.contains("number") || expected.contains("integer")));
    let remedy = number.map(|number| format!(": give the number {number}")).unwrap_or_default();
    let shown = match given {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        // Tokens and keys can be long, and must not be shown.
        Value::String(text) if text.len() > 20 => "a string".to_owned(),
        scalar => scalar.to_string(),
    };
    format!("must be {expected}, not {shown}{remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::model::{Prompt, Resource, ResourceTemplate, Root, Tool};
    use serde_json::json;

    fn fault<T: Described + DeserializeOwned>(value: Value) -> String {
        read::<T>(&value).map(drop).expect_err("the value is wrong").to_string()
    }

    #[test]
    fn errors_name_the_member() {
        let schema = json!({"type": "object"});
        for (found, expected) in [
            (fault::<Tool>(json!(3)), "must be an object, not 3"),
            (fault::<Tool>(json!({"name": "q"})), "inputSchema: is missing"),
            (fault::<Tool>(json!({"name": "q", "inputSchema": schema, "title": 3})), "title: must be a string, not 3"),
            (
                fault::<Tool>(json!({"name": "q", "inputSchema": schema, "annotations": {"readOnlyHint": "yes"}})),
                r#"annotations.readOnlyHint: must be true or false, not "yes""#,
            ),
            (fault::<Resource>(json!({"uri": "a:b", "name": 3})), "name: must be a string, not 3"),
            (
                fault::<Resource>(json!({"uri": "a:b", "name": "b", "size": "3"})),
                r#"size: must be a non-negative integer, not "3": give the number 3"#,
            ),
            (fault::<ResourceTemplate>(json!({"uriTemplate": "a:{b}"})), "name: is missing"),
            (
                fault::<Prompt>(json!({"name": "p", "arguments": [{"name": "a"}, {"name": true}]})),
                "arguments[1].name: must be a string, not true",
            ),
            (fault::<Prompt>(json!({"name": "p", "arguments": {}})), "arguments: must be a list, not an object"),
            (fault::<Vec<Root>>(json!([{"uri": 3}])), "[0].uri: must be a string, not 3"),
            (fault::<Vec<Root>>(json!({"a": 1})), "must be a list, not an object"),
        ] {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn steps_lead_to_the_fault() {
        for (path, below) in
            [("[0].uri", "roots[0].uri: is wrong"), (".a", "roots.a: is wrong"), ("", "roots: is wrong")]
        {
            assert_eq!(Fault::new(path, "is wrong").below("roots").to_string(), below);
        }
    }
}
