//! Elicitation forms from Rust types: a flat object of strings, numbers, booleans and choices
//! (ELI-08, ELI-09).

use super::derived_schema::root_schema;
use crate::protocol::{input::form_schema, model::FormSchema};
use schemars::JsonSchema;

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

/// The form with the fields of a struct.
///
/// # Errors
/// If the type is not a struct, or a field is not allowed in a form. The error names both.
pub(super) fn form_of<T: JsonSchema>() -> Result<FormSchema, String> {
    let (schema, name) = (root_schema::<T>(), T::schema_name());
    let has_more = schema.get("additionalProperties").is_some_and(|rest| rest != false)
        || ["allOf", "anyOf", "oneOf"].iter().any(|keyword| schema.get(keyword).is_some());
    if has_more || schema.get("properties").is_none() {
        return Err(format!("the form {name} must be a struct with the fields of the form"));
    }
    serde_json::from_value(form_schema(&name, &schema)?).map_err(|error| format!("the form {name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
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
