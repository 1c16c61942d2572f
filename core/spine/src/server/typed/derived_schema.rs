//! JSON Schemas of Rust types.

use crate::protocol::schema::{is_union_of_objects, wrapped};
use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Value, json};

/// Returns the schema of a type as sent to clients.
pub(super) fn root_schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(without_number_formats));
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(members) = schema.as_object_mut() {
        // 2020-12 is the protocol's default dialect.
        members.shift_remove("$schema");
        // The name of the Rust type is useless to a model; an explicit title is kept.
        if members.get("title").and_then(Value::as_str) == Some(&*T::schema_name()) {
            members.shift_remove("title");
        }
    }
    schema
}

/// The schema of the arguments of a tool.
///
/// An enum whose variants are all objects, such as one with `#[serde(tag)]`, gets the type that
/// schemars only sets on its variants. Unless the schema says otherwise, an object with properties
/// refuses additional ones: a misspelled argument is an error rather than ignored, as serde would.
pub(super) fn arguments_schema(mut schema: Value) -> Value {
    const DECIDING_KEYWORDS: [&str; 9] = [
        "additionalProperties",
        "unevaluatedProperties",
        "patternProperties",
        "propertyNames",
        "$ref",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
    ];
    let is_union = schema.get("type").is_none() && is_union_of_objects(&schema);
    let Some(members) = schema.as_object_mut() else { return schema };
    if is_union {
        members.shift_insert(0, "type".to_owned(), "object".into());
    }
    if members.get("type").is_some_and(|kind| kind == "object")
        && members.contains_key("properties")
        && !DECIDING_KEYWORDS.iter().any(|keyword| members.contains_key(*keyword))
    {
        members.insert("additionalProperties".to_owned(), false.into());
    }
    schema
}

/// Removes the formats that schemars adds for Rust number types, such as `uint64`. They are not
/// part of JSON Schema, and some clients refuse them.
fn without_number_formats(schema: &mut Schema) {
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    if matches!(format.trim_end_matches(|end: char| end.is_ascii_digit()), "int" | "uint" | "float" | "double") {
        schema.as_object_mut().map(|members| members.shift_remove("format"));
    }
}

/// The schema of the values that a tool returns.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema {
    schema: Value,
    is_object: bool,
}

impl OutputSchema {
    /// Creates the schema of a type. A struct or a map is the structured content itself; any other
    /// value becomes its member `result`.
    pub fn of<T: JsonSchema>() -> Self {
        let schema = root_schema::<T>();
        let is_object = schema.get("type").is_some_and(|kind| kind == "object");
        Self { schema, is_object }
    }

    /// A schema of objects that are the structured content.
    pub fn object(schema: Value) -> Self {
        Self { schema, is_object: true }
    }

    /// A schema of values that are the member `result` of the structured content.
    pub fn value(schema: Value) -> Self {
        Self { schema, is_object: false }
    }

    /// Extends the schema to allow `null`.
    pub(super) fn or_null(self) -> Self {
        let mut schema = self.schema;
        let definitions = schema.as_object_mut().and_then(|members| members.shift_remove("$defs"));
        let mut either = json!({"anyOf": [schema, {"type": "null"}]});
        if let Some(definitions) = definitions {
            either["$defs"] = definitions;
        }
        Self::value(either)
    }

    /// Returns the `outputSchema` of a tool, and whether it describes `{"result": value}`.
    pub(super) fn into_parts(self) -> (Value, bool) {
        let Self { schema, is_object } = self;
        if is_object { (schema, false) } else { (wrapped(schema), true) }
    }
}
