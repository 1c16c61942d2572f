//! Where a schema holds further schemas.

use serde_json::Value;
use std::borrow::Cow;

/// The values that a subschema applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The same value as the schema around it.
    Same,
    /// A part of that value.
    Part,
    /// Nothing, until something refers to it.
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
const APPLICATORS: &[(&str, Place, Holds)] = &[
    ("properties",            Place::Part,       Holds::Named),
    ("patternProperties",     Place::Part,       Holds::Named),
    ("additionalProperties",  Place::Part,       Holds::Schemas),
    ("unevaluatedProperties", Place::Part,       Holds::Schemas),
    ("propertyNames",         Place::Part,       Holds::Schemas),
    ("items",                 Place::Part,       Holds::Schemas),
    ("prefixItems",           Place::Part,       Holds::Schemas),
    ("additionalItems",       Place::Part,       Holds::Schemas),
    ("unevaluatedItems",      Place::Part,       Holds::Schemas),
    ("contains",              Place::Part,       Holds::Schemas),
    ("contentSchema",         Place::Part,       Holds::Schemas),
    ("allOf",                 Place::Same,       Holds::Schemas),
    ("anyOf",                 Place::Same,       Holds::Schemas),
    ("oneOf",                 Place::Same,       Holds::Schemas),
    ("not",                   Place::Same,       Holds::Schemas),
    ("if",                    Place::Same,       Holds::Schemas),
    ("then",                  Place::Same,       Holds::Schemas),
    ("else",                  Place::Same,       Holds::Schemas),
    ("dependentSchemas",      Place::Same,       Holds::Named),
    ("dependencies",          Place::Same,       Holds::Named),
    ("$defs",                 Place::Definition, Holds::Named),
    ("definitions",           Place::Definition, Holds::Named),
];

/// A schema inside another.
pub(super) struct Subschema<'a> {
    pub(super) keyword: &'static str,
    #[cfg_attr(not(feature = "schema-validation"), allow(dead_code, reason = "the bounds of validation are off"))]
    pub(super) place: Place,
    /// The name or the index under the keyword, if it holds several schemas.
    pub(super) key: Option<Cow<'a, str>>,
    pub(super) schema: &'a Value,
}

/// The schemas directly inside a schema.
pub(super) fn subschemas(schema: &Value) -> Vec<Subschema<'_>> {
    let mut found = Vec::new();
    let Some(schema) = schema.as_object() else { return found };
    for &(keyword, place, holds) in APPLICATORS {
        let subschema = |key, schema| Subschema { keyword, place, key, schema };
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
