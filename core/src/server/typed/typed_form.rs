//! Elicitation forms from Rust types: a flat object of strings, numbers, booleans and choices
//! (ELI-08, ELI-09).

use super::schema::inlined_schema;
use crate::protocol::model::FormSchema;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

/// The answer of a user to [`crate::Context::elicit_form`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elicited<T> {
    /// The user filled in the form.
    Accept(T),
    /// The user declined.
    Decline,
    /// The user dismissed the form.
    Cancel,
}

impl<T> Elicited<T> {
    /// The content of the form, if the user filled it in.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accept(content) => Some(content),
            Self::Decline | Self::Cancel => None,
        }
    }
}

const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];
const NOT_A_FIELD: &str = "a form supports only strings, numbers, booleans and choices of strings";

/// The form with the fields of a struct.
///
/// # Errors
/// If the type is not a struct, or a field is not allowed in a form. The error names both.
pub(super) fn form_of<T: JsonSchema>() -> Result<FormSchema, String> {
    let (schema, name) = (inlined_schema::<T>(), T::schema_name());
    let has_more = schema.get("additionalProperties").is_some_and(|rest| rest != false)
        || ["allOf", "anyOf", "oneOf"].iter().any(|keyword| schema.get(keyword).is_some());
    let fields = schema.get("properties").and_then(Value::as_object).filter(|_| !has_more);
    let fields = fields.ok_or_else(|| format!("the form {name} must be a struct with the fields of the form"))?;
    let mut form = json!({"type": "object", "properties": {}});
    for (field, schema) in fields {
        let schema = field_of(schema.clone()).map_err(|problem| format!("{name}.{field}: {problem}"))?;
        form["properties"][field] = schema;
    }
    if let Some(required) = schema.get("required") {
        form["required"] = required.clone();
    }
    serde_json::from_value(form).map_err(|error| format!("the form {name}: {error}"))
}

/// Converts the schema of a field into that of a form.
fn field_of(schema: Value) -> Result<Value, String> {
    let Value::Object(schema) = schema else { return Err(NOT_A_FIELD.to_owned()) };
    let mut field = with_choices(without_null(schema));
    if field.get("default").is_some_and(Value::is_null) {
        field.shift_remove("default");
    }
    let kind = field.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let known: &[&str] = match &*kind {
        "string" => &["minLength", "maxLength", "format", "enum", "oneOf"],
        "integer" | "number" => &["minimum", "maximum"],
        "boolean" => &[],
        "array" => &["items", "minItems", "maxItems"],
        _ => return Err(NOT_A_FIELD.to_owned()),
    };
    if kind == "string" && field.get("format").is_some_and(|format| !FORMATS.iter().any(|known| format == known)) {
        field.shift_remove("format");
    }
    if kind == "array" {
        let items = field.get_mut("items").map_or(Value::Null, Value::take);
        field.insert("items".to_owned(), choices_of(items)?);
        // A set: a choice can only be selected once anyway.
        field.shift_remove("uniqueItems");
    }
    let common = ["type", "title", "description", "default"];
    match field.keys().find(|key| !common.contains(&&***key) && !known.contains(&&***key)) {
        Some(key) => Err(format!("a form does not support `{key}`")),
        None => Ok(Value::Object(field)),
    }
}

/// Forms have no `null`: an `Option` is an optional field.
fn without_null(mut field: Map<String, Value>) -> Map<String, Value> {
    let is_null = |value: &Value| *value == "null" || *value == json!({"type": "null"}) || value.is_null();
    if let Some(Value::Array(either)) = field.get_mut("anyOf") {
        either.retain(|schema| !is_null(schema));
        if let [Value::Object(one)] = &mut either[..] {
            let one = std::mem::take(one);
            field.shift_remove("anyOf");
            // The doc comment of the field takes precedence over that of its type.
            for (keyword, value) in one {
                field.entry(keyword).or_insert(value);
            }
        }
    }
    if let Some(Value::Array(kinds)) = field.get_mut("type") {
        kinds.retain(|kind| !is_null(kind));
        if let [kind] = &mut kinds[..] {
            let kind = kind.take();
            field.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(choices)) = field.get_mut("enum") {
        choices.retain(|choice| !is_null(choice));
    }
    field
}

/// The variants of an enum, which each have a schema if any of them has a doc comment: the comment
/// is the title of the choice.
fn with_choices(mut field: Map<String, Value>) -> Map<String, Value> {
    if let Some(only) = field.shift_remove("const") {
        field.insert("enum".to_owned(), json!([only]));
    }
    let Some(variants) = field.get("oneOf").and_then(Value::as_array) else { return field };
    let mut choices = Vec::new();
    for variant in variants {
        let together = variant.get("enum").and_then(Value::as_array);
        let values: Vec<_> = variant.get("const").into_iter().chain(together.into_iter().flatten()).collect();
        // Variants with data have no plain name: they are left in and refused later.
        if values.is_empty() || !values.iter().all(|value| value.is_string()) {
            return field;
        }
        let text = ["title", "description"].into_iter().find_map(|member| variant.get(member));
        choices.extend(values.iter().map(|value| json!({"const": value, "title": text.unwrap_or(value)})));
    }
    field.insert("type".to_owned(), "string".into());
    field.insert("oneOf".to_owned(), choices.into());
    field
}

/// The choices of a multiple selection.
fn choices_of(items: Value) -> Result<Value, String> {
    let problem = || "a list in a form must be a list of choices: of an enum without data".to_owned();
    let Value::Object(items) = items else { return Err(problem()) };
    let mut items = with_choices(items);
    match (items.shift_remove("enum"), items.shift_remove("oneOf")) {
        (Some(choices), None) => Ok(json!({"type": "string", "enum": choices})),
        (None, Some(choices)) => Ok(json!({"anyOf": choices})),
        _ => Err(problem()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[derive(JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[allow(dead_code, reason = "only its schema is of interest")]
    enum Drink {
        Tea,
        Coffee,
    }

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only its schema is of interest")]
    enum Size {
        /// For one
        Small,
        /// For two
        Large,
        Huge,
    }

    fn sugar() -> u8 {
        2
    }

    /// The order of a guest
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only its schema is of interest")]
    struct Order {
        /// The name on the cup
        #[schemars(length(min = 1, max = 20))]
        name: String,
        #[schemars(email)]
        receipt: Option<String>,
        #[serde(default = "sugar")]
        sugar: u8,
        #[schemars(range(min = 0.0, max = 1.0))]
        milk: f64,
        lid: bool,
        drink: Drink,
        second: Option<Drink>,
        size: Size,
        other: Option<Size>,
        extras: Vec<Drink>,
        sizes: BTreeSet<Size>,
    }

    #[test]
    fn eli_08_eli_09_a_struct_is_a_form() {
        let form = serde_json::to_value(form_of::<Order>().unwrap()).unwrap();
        let drinks = json!(["tea", "coffee"]);
        let sizes = json!([
            {"const": "Small", "title": "For one"},
            {"const": "Large", "title": "For two"},
            {"const": "Huge", "title": "Huge"},
        ]);
        let by_value = |mut choices: Value| {
            choices.as_array_mut().unwrap().sort_by_key(|choice| choice["const"].to_string());
            choices
        };
        let properties = &form["properties"];
        for (name, field) in [
            ("name", json!({"type": "string", "description": "The name on the cup", "minLength": 1, "maxLength": 20})),
            ("receipt", json!({"type": "string", "format": "email"})),
            ("sugar", json!({"type": "integer", "minimum": 0, "maximum": 255, "default": 2})),
            ("milk", json!({"type": "number", "minimum": 0.0, "maximum": 1.0})),
            ("lid", json!({"type": "boolean"})),
            ("drink", json!({"type": "string", "enum": drinks})),
            ("second", json!({"type": "string", "enum": drinks})),
            ("extras", json!({"type": "array", "items": {"type": "string", "enum": drinks}})),
        ] {
            assert_eq!(properties[name], field, "{name}");
        }
        assert_eq!(properties["size"]["type"], "string");
        for choices in
            [&properties["size"]["oneOf"], &properties["other"]["oneOf"], &properties["sizes"]["items"]["anyOf"]]
        {
            assert_eq!(by_value(choices.clone()), by_value(sizes.clone()), "{form}");
        }
        assert_eq!(form["required"], json!(["name", "milk", "lid", "drink", "size", "extras", "sizes"]));
        assert_eq!(form.get("description"), None);
    }

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only its schema is of interest")]
    enum Payment {
        Cash,
        Voucher,
        Card { number: String },
    }

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only its schema is of interest")]
    struct With<T> {
        it: T,
    }

    #[test]
    fn a_field_that_is_none_of_a_form_is_refused_by_its_name() {
        let problem = |form: Result<FormSchema, String>| form.unwrap_err();
        for refused in [
            problem(form_of::<With<With<String>>>()),
            problem(form_of::<With<Vec<String>>>()),
            problem(form_of::<With<Payment>>()),
            problem(form_of::<With<BTreeMap<String, String>>>()),
            problem(form_of::<With<Value>>()),
            problem(form_of::<With<(u8, u8)>>()),
        ] {
            assert!(refused.contains(".it: a "), "{refused}");
        }
        for refused in
            [problem(form_of::<String>()), problem(form_of::<BTreeMap<u8, u8>>()), problem(form_of::<Value>())]
        {
            assert!(refused.contains("must be a struct"), "{refused}");
        }
    }
}
