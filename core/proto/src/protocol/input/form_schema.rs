//! The schema of a form from that of a type, which need not be flat (ELI-08, ELI-09).

use super::compiled_form::{FORMATS, Form};
use crate::protocol::schema::SchemaAuthor;
use serde_json::{Map, Value, json};

const NOT_A_FIELD: &str = "a form supports only strings, numbers, booleans and choices of strings";

/// Maximum number of references in a row.
const MAX_CHAIN: usize = 32;

/// The `$defs` of a schema.
type Definitions<'a> = Option<&'a Map<String, Value>>;

/// Returns the schema of a form with the properties of `schema`, which is that of an object. `name`
/// names it in errors.
///
/// # Errors
///
/// If a property is not allowed in a form; the error names it.
pub fn form_schema(name: &str, schema: &Value) -> Result<Value, String> {
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let mut form = json!({"type": "object", "properties": {}});
    for (field, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let schema = field_of(schema, definitions).map_err(|problem| format!("{name}.{field}: {problem}"))?;
        form["properties"][field] = schema;
    }
    if let Some(required) = schema.get("required") {
        form["required"] = required.clone();
    }
    Ok(form)
}

/// Returns a schema that is no form as a form, if [`form_schema`] can convert it; otherwise as it
/// is.
pub fn flattened_form(schema: Value) -> Value {
    let is_object = schema["type"] == "object" || schema["properties"].is_object();
    if !is_object || Form::compile(SchemaAuthor::Own, &schema).is_ok() {
        return schema;
    }
    let form = form_schema("", &schema).ok().filter(|form| Form::compile(SchemaAuthor::Own, form).is_ok());
    form.unwrap_or(schema)
}

/// The schema that `schema` refers to; keywords next to the reference take precedence.
fn resolved(mut schema: Map<String, Value>, definitions: Definitions<'_>) -> Map<String, Value> {
    for _ in 0..MAX_CHAIN {
        let Some(reference) = schema.shift_remove("$ref") else { break };
        let name = reference.as_str().and_then(|reference| reference.strip_prefix("#/$defs/")).unwrap_or_default();
        for (keyword, value) in definitions.and_then(|known| known.get(name)?.as_object()).into_iter().flatten() {
            schema.entry(keyword).or_insert_with(|| value.clone());
        }
    }
    schema
}

/// Converts the schema of a field into that of a form.
fn field_of(schema: &Value, definitions: Definitions<'_>) -> Result<Value, String> {
    let Value::Object(schema) = schema else { return Err(NOT_A_FIELD.to_owned()) };
    let schema = resolved(schema.clone(), definitions);
    let mut field = with_choices(resolved(without_null(schema), definitions));
    if field.get("default").is_some_and(Value::is_null) {
        field.shift_remove("default");
    }
    let kind = field.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let known: &[&str] = match &*kind {
        "string" => &["minLength", "maxLength", "format", "enum", "oneOf", "enumNames"],
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
        field.insert("items".to_owned(), choices_of(items, definitions)?);
        // A set: a choice can only be selected once anyway.
        field.shift_remove("uniqueItems");
    }
    let common = ["type", "title", "description", "default"];
    match field.keys().find(|key| !common.contains(&&***key) && !known.contains(&&***key)) {
        Some(key) => Err(format!("a form does not support `{key}`")),
        None => Ok(Value::Object(field)),
    }
}

/// Forms have no `null`: a field that may be null is an optional field.
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
fn choices_of(items: Value, definitions: Definitions<'_>) -> Result<Value, String> {
    let problem = || "a list in a form must be a list of choices, such as an enum whose values are strings".to_owned();
    let Value::Object(items) = items else { return Err(problem()) };
    let mut items = with_choices(resolved(items, definitions));
    match (items.shift_remove("enum"), items.shift_remove("oneOf")) {
        (Some(choices), None) if items.get("type").is_some_and(|kind| kind == "string") => {
            Ok(json!({"type": "string", "enum": choices}))
        }
        (None, Some(choices)) => Ok(json!({"anyOf": choices})),
        _ => Err(problem()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eli_08_a_schema_is_only_changed_if_it_becomes_a_form() {
        let schema =
            |city: Value| json!({"$schema": "s", "type": "object", "properties": {"city": city}, "title": "T"});
        let form = schema(json!({"type": "string", "pattern": "^a"}));
        assert_eq!(flattened_form(form.clone()), form, "is not one, and cannot become one");
        let text = json!({"type": "string"});
        assert_eq!(flattened_form(text.clone()), text, "has no fields");
        let form = schema(json!({"type": "string", "title": "City"}));
        assert_eq!(flattened_form(form.clone()), form, "is one");
        let nullable = schema(json!({"anyOf": [{"type": "string", "enum": ["Oslo", "Rome"]}, {"type": "null"}]}));
        let city = json!({"type": "string", "enum": ["Oslo", "Rome"]});
        assert_eq!(flattened_form(nullable), json!({"type": "object", "properties": {"city": city}}));
    }

    #[test]
    fn eli_08_eli_09_references_are_resolved_and_null_is_omitted() {
        let schema = json!({
            "type": "object",
            "title": "Order",
            "properties": {
                "drink": {"anyOf": [{"$ref": "#/$defs/Drink"}, {"type": "null"}], "default": null, "title": "Drink"},
                "extras": {"type": "array", "items": {"$ref": "#/$defs/Alias"}, "uniqueItems": true},
                "only": {"type": "string", "const": "tea", "format": "uuid"},
            },
            "required": ["extras"],
            "$defs": {
                "Alias": {"$ref": "#/$defs/Drink"},
                "Drink": {"type": "string", "enum": ["tea", "coffee"], "title": "A drink"},
            },
        });
        let form = json!({
            "type": "object",
            "properties": {
                "drink": {"title": "Drink", "type": "string", "enum": ["tea", "coffee"]},
                "extras": {"type": "array", "items": {"type": "string", "enum": ["tea", "coffee"]}},
                "only": {"type": "string", "enum": ["tea"]},
            },
            "required": ["extras"],
        });
        assert_eq!(form_schema("Order", &schema), Ok(form));
    }

    #[test]
    fn a_field_that_is_none_of_a_form_is_refused_by_its_name() {
        for (field, problem) in [
            (json!({"type": "object"}), "Order.it: a form supports only strings"),
            (json!({"$ref": "#/$defs/Endless"}), "Order.it: a form supports only strings"),
            (json!({"type": "string", "pattern": "x"}), "Order.it: a form does not support `pattern`"),
            (json!({"type": "integer", "enum": [1, 2]}), "Order.it: a form does not support `enum`"),
            (json!({"type": "array", "items": {"type": "string"}}), "Order.it: a list in a form must be"),
            (json!({"type": "array", "items": {"type": "integer", "enum": [1]}}), "Order.it: a list in a form must be"),
        ] {
            let definitions = json!({"Endless": {"$ref": "#/$defs/Endless"}});
            let refused = form_schema("Order", &json!({"properties": {"it": field}, "$defs": definitions}));
            assert!(refused.clone().is_err_and(|refused| refused.starts_with(problem)), "{refused:?}");
        }
    }
}
