//! The keywords that contain subschemas.

use serde_json::Value;
use std::borrow::Cow;

/// The values that a subschema applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The same value as the schema around it.
    Same,
    /// A part of that value.
    Part,
    /// Any number of its parts.
    Parts,
    /// No value, until a reference points to it.
    Definition,
}

#[derive(Clone, Copy)]
enum Holds {
    /// One schema, or a list of them.
    Schemas,
    /// Schemas by name.
    Named,
}

#[rustfmt::skip]
const APPLICATORS: &[(&str, Scope, Holds)] = &[
    ("properties",            Scope::Part,       Holds::Named),
    ("patternProperties",     Scope::Parts,      Holds::Named),
    ("additionalProperties",  Scope::Parts,      Holds::Schemas),
    ("unevaluatedProperties", Scope::Parts,      Holds::Schemas),
    ("propertyNames",         Scope::Parts,      Holds::Schemas),
    ("items",                 Scope::Parts,      Holds::Schemas),
    ("prefixItems",           Scope::Part,       Holds::Schemas),
    ("additionalItems",       Scope::Parts,      Holds::Schemas),
    ("unevaluatedItems",      Scope::Parts,      Holds::Schemas),
    ("contains",              Scope::Parts,      Holds::Schemas),
    ("contentSchema",         Scope::Part,       Holds::Schemas),
    ("allOf",                 Scope::Same,       Holds::Schemas),
    ("anyOf",                 Scope::Same,       Holds::Schemas),
    ("oneOf",                 Scope::Same,       Holds::Schemas),
    ("not",                   Scope::Same,       Holds::Schemas),
    ("if",                    Scope::Same,       Holds::Schemas),
    ("then",                  Scope::Same,       Holds::Schemas),
    ("else",                  Scope::Same,       Holds::Schemas),
    ("dependentSchemas",      Scope::Same,       Holds::Named),
    ("dependencies",          Scope::Same,       Holds::Named),
    ("$defs",                 Scope::Definition, Holds::Named),
    ("definitions",           Scope::Definition, Holds::Named),
];

/// A schema directly inside another.
pub(super) struct Subschema<'a> {
    pub(super) keyword: &'static str,
    #[cfg_attr(not(feature = "schema-validation"), allow(dead_code, reason = "the bounds of validation are off"))]
    pub(super) scope: Scope,
    /// The name or index under the keyword, if it contains several schemas.
    pub(super) key: Option<Cow<'a, str>>,
    pub(super) schema: &'a Value,
}

/// Changes the schemas directly inside a schema.
pub(super) fn change_subschemas(schema: &mut Value, change: fn(&mut Value)) {
    for &(keyword, _, holds) in APPLICATORS {
        match (holds, schema.get_mut(keyword)) {
            (Holds::Named, Some(Value::Object(named))) => named.values_mut().for_each(change),
            (Holds::Schemas, Some(Value::Array(list))) => list.iter_mut().for_each(change),
            (Holds::Schemas, Some(one)) => change(one),
            _ => {}
        }
    }
}

/// Extends a JSON pointer.
pub(super) fn push_token(path: &mut String, key: &str) {
    path.push('/');
    for character in key.chars() {
        match character {
            '~' => path.push_str("~0"),
            '/' => path.push_str("~1"),
            _ => path.push(character),
        }
    }
}

/// The schemas directly inside a schema.
pub(super) fn subschemas(schema: &Value) -> Vec<Subschema<'_>> {
    let mut found = Vec::new();
    let Some(schema) = schema.as_object() else { return found };
    for &(keyword, scope, holds) in APPLICATORS {
        let subschema = |key, schema| Subschema { keyword, scope, key, schema };
        match (holds, schema.get(keyword)) {
            (Holds::Named, Some(Value::Object(named))) => {
                found.extend(named.iter().map(|(name, schema)| subschema(Some(Cow::Borrowed(name.as_str())), schema)));
            }
            (Holds::Schemas, Some(Value::Array(list))) => {
                let numbered = list.iter().enumerate();
                found.extend(numbered.map(|(index, schema)| subschema(Some(Cow::Owned(index.to_string())), schema)));
            }
            (Holds::Schemas, Some(one)) => found.push(subschema(None, one)),
            _ => {}
        }
    }
    found
}
