//! The forms of elicitation: a restricted subset of JSON Schema, flat and with primitive fields
//! (ELI-08, ELI-09).

use crate::protocol::{
    fault::Fault,
    schema::{Invalid, Schema, SchemaAuthor},
};
use serde_json::{Map, Value, json};

/// The dialect in which `format` is an assertion, so that user input is checked for it.
const DIALECT: &str = "http://json-schema.org/draft-07/schema#";
pub(super) const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// A compiled form. It is so small, and its patterns apply to such short strings, that checks are
/// always fast.
#[derive(Debug)]
pub struct Form {
    schema: Schema,
}

impl Form {
    /// Checks that a `requestedSchema` is a form and compiles it.
    ///
    /// # Errors
    ///
    /// If it is not; the error names the path.
    pub fn compile(author: SchemaAuthor, schema: &Value) -> Result<Self, Fault> {
        let form = object(schema, "")?;
        if form.get("type") != Some(&json!("object")) {
            return Err(Fault::new("/type", "must be \"object\": a form is an object of fields"));
        }
        let properties = match form.get("properties") {
            Some(properties) => object(properties, "/properties")?,
            None => return Err(Fault::new("/properties", "is missing: the fields of the form by name")),
        };
        for (name, field) in properties {
            check_field(author, field).map_err(|invalid| invalid.below(&format!("/properties/{}", escaped(name))))?;
        }
        for (index, name) in strings(form, "required")?.into_iter().flatten().enumerate() {
            if !properties.contains_key(name) {
                return Err(Fault::new(format!("/required/{index}"), format!("{name:?} is not a field of the form")));
            }
        }
        Ok(Self { schema: compile(author, schema)? })
    }

    /// Checks the values that the user entered.
    ///
    /// # Errors
    ///
    /// If they do not match; the error names the first few fields.
    pub fn check(&self, content: &Value) -> Result<(), Invalid> {
        self.schema.validate(content)
    }
}

fn check_field(author: SchemaAuthor, field: &Value) -> Result<(), Fault> {
    let fields = object(field, "")?;
    match fields.get("type") {
        Some(Value::String(kind)) => match kind.as_str() {
            "string" => check_string(fields)?,
            "number" | "integer" => check_bounds(fields, "minimum", "maximum", Value::is_number)?,
            "boolean" => {}
            "array" => check_choices(fields)?,
            other => {
                let problem = format!(
                    "{other:?} is not a field; forms are flat: string, number, integer, boolean, or an array of choices"
                );
                return Err(Fault::new("/type", problem));
            }
        },
        Some(_) => return Err(Fault::new("/type", "must be one type, as a string")),
        None => {
            let problem = "is missing: string, number, integer, boolean, or array with choices as its items";
            return Err(Fault::new("/type", problem));
        }
    }
    if let Some(default) = fields.get("default") {
        compile(author, field)?.validate(default).map_err(|invalid| Fault::new("/default", invalid.to_string()))?;
    }
    Ok(())
}

fn check_string(field: &Map<String, Value>) -> Result<(), Fault> {
    if let Some(choices) = field.get("oneOf") {
        return check_titled(choices, "/oneOf");
    }
    if let Some(choices) = strings(field, "enum")? {
        let titles = strings(field, "enumNames")?;
        return match titles {
            _ if choices.is_empty() => Err(Fault::new("/enum", "has no choices")),
            Some(titles) if titles.len() != choices.len() => {
                Err(Fault::new("/enumNames", "must name each choice of \"enum\""))
            }
            _ => Ok(()),
        };
    }
    match field.get("format") {
        Some(format) if !FORMATS.iter().any(|known| format == known) => {
            Err(Fault::new("/format", format!("must be one of {}", FORMATS.join(", "))))
        }
        _ => check_bounds(field, "minLength", "maxLength", Value::is_u64),
    }
}

fn check_choices(field: &Map<String, Value>) -> Result<(), Fault> {
    let problem = "must have \"enum\" with strings, or \"anyOf\" with choices of \"const\" and \"title\"";
    let items = field.get("items").ok_or_else(|| Fault::new("/items", format!("is missing: it {problem}")))?;
    let items = object(items, "/items")?;
    if let Some(titled) = items.get("anyOf") {
        check_titled(titled, "/items/anyOf")?;
    } else if items.get("type") == Some(&json!("string"))
        && let Some(choices) = strings(items, "enum").map_err(|invalid| invalid.below("/items"))?
    {
        if choices.is_empty() {
            return Err(Fault::new("/items/enum", "has no choices"));
        }
    } else {
        return Err(Fault::new("/items", problem));
    }
    check_bounds(field, "minItems", "maxItems", Value::is_u64)
}

fn check_titled(choices: &Value, path: &str) -> Result<(), Fault> {
    let choices = choices.as_array().filter(|choices| !choices.is_empty());
    let choices = choices.ok_or_else(|| Fault::new(path, "must be an array of choices"))?;
    for (index, choice) in choices.iter().enumerate() {
        for key in ["const", "title"] {
            if !choice.get(key).is_some_and(Value::is_string) {
                return Err(Fault::new(format!("{path}/{index}/{key}"), "must be a string"));
            }
        }
    }
    Ok(())
}

fn check_bounds(
    field: &Map<String, Value>,
    least: &str,
    greatest: &str,
    is_bound: fn(&Value) -> bool,
) -> Result<(), Fault> {
    for key in [least, greatest] {
        if field.get(key).is_some_and(|bound| !is_bound(bound)) {
            return Err(Fault::new(format!("/{key}"), "does not apply to this kind of field"));
        }
    }
    let bound = |key| field.get(key).and_then(Value::as_f64);
    match (bound(least), bound(greatest)) {
        (Some(a), Some(b)) if a > b => Err(Fault::new(format!("/{least}"), format!("is more than {greatest:?}"))),
        _ => Ok(()),
    }
}

/// An array of strings, if present.
fn strings<'a>(fields: &'a Map<String, Value>, key: &str) -> Result<Option<Vec<&'a str>>, Fault> {
    let Some(value) = fields.get(key) else { return Ok(None) };
    let strings = value.as_array().and_then(|items| items.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    strings.map(Some).ok_or_else(|| Fault::new(format!("/{key}"), "must be an array of strings"))
}

fn object<'a>(value: &'a Value, path: &str) -> Result<&'a Map<String, Value>, Fault> {
    value.as_object().ok_or_else(|| Fault::new(path, "must be an object"))
}

fn compile(author: SchemaAuthor, schema: &Value) -> Result<Schema, Fault> {
    let mut schema = schema.clone();
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("$schema".to_owned(), json!(DIALECT));
    }
    Schema::compile_promptly(author, &schema).map_err(|error| Fault::new("", error.to_string()))
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(field: Value) -> Value {
        json!({"type": "object", "properties": {"a/b": field}})
    }

    #[test]
    fn eli_08_eli_09_every_kind_of_field_is_a_form() {
        for field in [
            json!({"type": "string", "title": "T", "description": "d", "minLength": 1, "maxLength": 9, "default": "x"}),
            json!({"type": "string", "format": "email", "default": "a@b.c"}),
            json!({"type": "string", "format": "date-time"}),
            json!({"type": "number", "minimum": -0.5, "maximum": 1, "default": 0.5}),
            json!({"type": "integer", "minimum": 1, "default": 3}),
            json!({"type": "boolean", "default": false}),
            json!({"type": "string", "enum": ["a"], "enumNames": ["A"], "default": "a"}),
            json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}),
            json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "maxItems": 2, "default": ["b"]}),
            json!({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}),
        ] {
            Form::compile(SchemaAuthor::Peer, &form(field.clone())).unwrap_or_else(|error| panic!("{field}: {error}"));
        }
    }

    #[cfg(feature = "schema-validation")]
    #[test]
    fn eli_08_other_schemas_are_refused_with_the_path() {
        for (field, path) in [
            (json!({"type": "object", "properties": {}}), "/type"),
            (json!({"type": ["string", "null"]}), "/type"),
            (json!({"anyOf": [{"type": "string"}]}), "/type"),
            (json!({"$ref": "#/$defs/x"}), "/type"),
            (json!("string"), ""),
            (json!({"type": "string", "format": "password"}), "/format"),
            (json!({"type": "string", "minLength": -1}), "/minLength"),
            (json!({"type": "string", "minLength": 2, "maxLength": 1}), "/minLength"),
            (json!({"type": "string", "enum": []}), "/enum"),
            (json!({"type": "string", "enum": [1]}), "/enum"),
            (json!({"type": "string", "enum": ["a"], "enumNames": []}), "/enumNames"),
            (json!({"type": "string", "oneOf": [{"const": "a"}]}), "/oneOf/0/title"),
            (json!({"type": "integer", "default": "x"}), "/default"),
            (json!({"type": "string", "enum": ["a"], "default": "b"}), "/default"),
            (json!({"type": "number", "minimum": "0"}), "/minimum"),
            (json!({"type": "array"}), "/items"),
            (json!({"type": "array", "items": {"type": "string"}}), "/items"),
            (json!({"type": "array", "items": {"type": "object"}}), "/items"),
            (json!({"type": "array", "items": {"anyOf": []}}), "/items/anyOf"),
        ] {
            let error = Form::compile(SchemaAuthor::Peer, &form(field.clone())).unwrap_err();
            assert_eq!(error.path, format!("/properties/a~1b{path}"), "{field}: {error}");
        }
        for (schema, path) in [
            (json!(null), ""),
            (json!({"type": "array"}), "/type"),
            (json!({"type": "object"}), "/properties"),
            (json!({"type": "object", "properties": {}, "required": ["x"]}), "/required/0"),
            (json!({"type": "object", "properties": {}, "required": "x"}), "/required"),
        ] {
            assert_eq!(Form::compile(SchemaAuthor::Own, &schema).unwrap_err().path, path);
        }
    }

    #[cfg(feature = "schema-validation")]
    #[test]
    fn eli_11_what_the_user_filled_in_is_checked_with_its_format() {
        let form = Form::compile(
            SchemaAuthor::Own,
            &json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {
            "mail": {"type": "string", "format": "email"},
            "site": {"type": "string", "format": "uri"},
            "day": {"type": "string", "format": "date"},
            "at": {"type": "string", "format": "date-time"},
            "n": {"type": "integer", "minimum": 1},
            "unit": {"type": "string", "oneOf": [{"const": "c", "title": "C"}]},
            "days": {"type": "array", "items": {"anyOf": [{"const": "mo", "title": "Monday"}]}, "maxItems": 1},
        }, "required": ["n"]}),
        )
        .unwrap();
        let good = json!({"mail": "a@b.c", "site": "https://a.b/", "day": "2025-11-25", "at": "2025-11-25T10:00:00Z", "n": 1,
            "unit": "c", "days": ["mo"]});
        assert_eq!(form.check(&good), Ok(()));
        for (name, bad) in [
            ("mail", json!("nobody")),
            ("site", json!("a b")),
            ("day", json!("25.11.2025")),
            ("at", json!("noon")),
            ("n", json!(0)),
            ("n", json!("1")),
            ("unit", json!("Celsius")),
            ("days", json!(["tu"])),
            ("days", json!(["mo", "mo"])),
        ] {
            let mut content = good.clone();
            content[name] = bad;
            let error = form.check(&content).unwrap_err();
            assert_eq!(error.failures()[0].path.split('/').nth(1), Some(name), "{error}");
        }
        assert!(form.check(&json!({})).unwrap_err().to_string().contains("\"n\" is missing"));
    }
}
