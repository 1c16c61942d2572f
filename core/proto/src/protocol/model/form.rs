//! The schema of a form: a flat object of fields that are strings, numbers, booleans or choices
//! (ELI-08, ELI-09).

use super::JsonObject;
use crate::protocol::describe::{Described, Type};
use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Number, Value};

json_object! {
    /// The fields of a form. Built by [`FormSchema::required`] and [`FormSchema::optional`], with a
    /// [`Field`] each.
    ///
    /// ```
    /// # use trunkline_proto as trunkline;
    /// use trunkline::protocol::model::{Field, FormSchema};
    ///
    /// let form = FormSchema::new()
    ///     .required("name", Field::text().with_title("Name").with_length(Some(1), Some(80)))
    ///     .optional("size", Field::choice(["small", "large"]).with_default("small"));
    /// assert_eq!(form.required, Some(vec!["name".to_owned()]));
    /// ```
    pub struct FormSchema as "object" {
        /// Fields by name, in display order.
        required properties: FormFields = "properties",
        /// Fields that must be filled in.
        optional required: Vec<String> = "required",
    }
}

/// Form fields by name, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FormFields(pub Vec<(String, Field)>);

impl Described for FormFields {
    const TYPE: Type = Type::Map(&Field::TYPE);
}

json_object! {
    /// A field of a form, by its JSON Schema: which keywords it has makes it a string, a number, a
    /// boolean or a choice.
    ///
    /// ```
    /// # use trunkline_proto as trunkline;
    /// use trunkline::protocol::model::Field;
    ///
    /// let age = Field::integer().with_title("Age").with_minimum(0).with_maximum(150);
    /// ```
    pub struct Field {
        /// `string`, `number`, `integer` or `boolean`; `array` if several choices can be selected.
        required kind: String = "type",
        /// Label.
        optional title: String = "title",
        /// Explanation.
        optional description: String = "description",
        /// Initial value. On 2025-06-18, for booleans only.
        optional default: Value = "default",
        /// Minimum number of characters.
        optional min_length: u64 = "minLength",
        /// Maximum number of characters.
        optional max_length: u64 = "maxLength",
        /// `email`, `uri`, `date` or `date-time`.
        optional format: String = "format",
        /// Minimum value.
        optional minimum: Number = "minimum",
        /// Maximum value.
        optional maximum: Number = "maximum",
        /// Choices without titles.
        optional choices: Vec<String> = "enum",
        /// Titles of the choices in `enum`, in the form of 2025-06-18.
        optional choice_names: Vec<String> = "enumNames",
        /// Choices with titles.
        optional titled_choices: Vec<Choice> = "oneOf",
        /// Choices, if several can be selected.
        optional items: Choices = "items",
        /// Minimum number of choices to select.
        optional min_items: u64 = "minItems",
        /// Maximum number of choices to select.
        optional max_items: u64 = "maxItems",
    }

    /// A choice with a title.
    pub struct Choice {
        /// Value of the choice.
        required value: String = "const",
        /// Label to show.
        required title: String = "title",
    }

    /// Choices of which several can be selected: without titles (`type` and `enum`), or with titles
    /// (`anyOf`).
    pub struct Choices {
        /// `string`, for choices without titles.
        optional kind: String = "type",
        /// Choices without titles.
        optional untitled: Vec<String> = "enum",
        /// Choices with titles.
        optional titled: Vec<Choice> = "anyOf",
    }
}

impl FormSchema {
    /// Creates a form without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field that must be filled in.
    pub fn required(mut self, name: impl Into<String>, field: Field) -> Self {
        let name = name.into();
        self.required.get_or_insert_default().push(name.clone());
        self.optional(name, field)
    }

    /// Adds a field that may be left empty.
    pub fn optional(mut self, name: impl Into<String>, field: Field) -> Self {
        self.properties.0.push((name.into(), field));
        self
    }
}

impl Field {
    /// A text field.
    pub fn text() -> Self {
        Self::of("string")
    }

    /// A text field for an e-mail address.
    pub fn email() -> Self {
        Self::text().formatted("email")
    }

    /// A text field for a URI.
    pub fn uri() -> Self {
        Self::text().formatted("uri")
    }

    /// A text field for a date, such as `2025-11-25`.
    pub fn date() -> Self {
        Self::text().formatted("date")
    }

    /// A text field for a date and time, such as `2025-11-25T12:00:00Z`.
    pub fn date_time() -> Self {
        Self::text().formatted("date-time")
    }

    /// A number field.
    pub fn number() -> Self {
        Self::of("number")
    }

    /// An integer field.
    pub fn integer() -> Self {
        Self::of("integer")
    }

    /// A yes or no field.
    pub fn boolean() -> Self {
        Self::of("boolean")
    }

    /// A choice of one value.
    pub fn choice<S: Into<String>>(values: impl IntoIterator<Item = S>) -> Self {
        Self { choices: Some(values.into_iter().map(Into::into).collect()), ..Self::text() }
    }

    /// A choice of one value; each is shown by its title.
    pub fn titled_choice<V: Into<String>, T: Into<String>>(choices: impl IntoIterator<Item = (V, T)>) -> Self {
        Self { titled_choices: Some(choices.into_iter().map(Choice::new).collect()), ..Self::text() }
    }

    /// A choice of several values (2025-11-25 and later).
    pub fn choices<S: Into<String>>(values: impl IntoIterator<Item = S>) -> Self {
        let untitled = Some(values.into_iter().map(Into::into).collect());
        let items = Choices { kind: Some("string".to_owned()), untitled, ..Choices::default() };
        Self { items: Some(items), ..Self::of("array") }
    }

    /// A choice of several values; each is shown by its title (2025-11-25 and later).
    pub fn titled_choices<V: Into<String>, T: Into<String>>(choices: impl IntoIterator<Item = (V, T)>) -> Self {
        let titled = Some(choices.into_iter().map(Choice::new).collect());
        Self { items: Some(Choices { titled, ..Choices::default() }), ..Self::of("array") }
    }

    /// Sets the label.
    pub fn with_title(self, title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..self }
    }

    /// Sets the explanation.
    pub fn with_description(self, description: impl Into<String>) -> Self {
        Self { description: Some(description.into()), ..self }
    }

    /// Sets the initial value: text, a number, a boolean, a choice or an array of choices.
    pub fn with_default(self, default: impl Into<Value>) -> Self {
        Self { default: Some(default.into()), ..self }
    }

    /// Sets the minimum and maximum number of characters.
    pub fn with_length(self, least: Option<u64>, greatest: Option<u64>) -> Self {
        Self { min_length: least, max_length: greatest, ..self }
    }

    /// Sets the minimum value.
    pub fn with_minimum(self, minimum: impl Into<Number>) -> Self {
        Self { minimum: Some(minimum.into()), ..self }
    }

    /// Sets the maximum value.
    pub fn with_maximum(self, maximum: impl Into<Number>) -> Self {
        Self { maximum: Some(maximum.into()), ..self }
    }

    /// Sets the minimum and maximum number of choices to select.
    pub fn with_items(self, least: Option<u64>, greatest: Option<u64>) -> Self {
        Self { min_items: least, max_items: greatest, ..self }
    }

    fn of(kind: &str) -> Self {
        Self { kind: kind.to_owned(), ..Self::default() }
    }

    fn formatted(self, format: &str) -> Self {
        Self { format: Some(format.to_owned()), ..self }
    }
}

impl Choice {
    fn new((value, title): (impl Into<String>, impl Into<String>)) -> Self {
        Self { value: value.into(), title: title.into(), extra: JsonObject::new() }
    }
}

impl Serialize for FormFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, field)| (name, field)))
    }
}

impl<'de> Deserialize<'de> for FormFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IndexMap::deserialize(deserializer).map(|fields: IndexMap<_, _>| Self(fields.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn eli_08_eli_09_every_kind_of_field_can_be_built() {
        for (field, wire) in [
            (Field::text().with_length(Some(1), Some(9)), json!({"type": "string", "minLength": 1, "maxLength": 9})),
            (Field::email().with_title("T"), json!({"type": "string", "format": "email", "title": "T"})),
            (Field::uri().with_description("d"), json!({"type": "string", "format": "uri", "description": "d"})),
            (Field::date(), json!({"type": "string", "format": "date"})),
            (Field::date_time(), json!({"type": "string", "format": "date-time"})),
            (Field::number().with_default(0.5), json!({"type": "number", "default": 0.5})),
            (
                Field::integer().with_minimum(1).with_maximum(7).with_default(3),
                json!({"type": "integer", "minimum": 1, "maximum": 7, "default": 3}),
            ),
            (Field::boolean().with_default(true), json!({"type": "boolean", "default": true})),
            (
                Field::choice(["a", "b"]).with_default("a"),
                json!({"type": "string", "enum": ["a", "b"], "default": "a"}),
            ),
            (
                Field::titled_choice([("a", "A"), ("b", "B")]),
                json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}),
            ),
            (
                Field::choices(["a", "b"]).with_items(Some(1), Some(2)).with_default(vec!["a"]),
                json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "maxItems": 2, "default": ["a"]}),
            ),
            (
                Field::titled_choices([("a", "A")]),
                json!({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}),
            ),
        ] {
            assert_eq!(serde_json::to_value(&field).unwrap(), wire);
            assert_eq!(serde_json::from_value::<Field>(wire).unwrap(), field);
        }
    }

    #[test]
    fn fields_stay_in_their_order() {
        let form =
            FormSchema::new().required("z", Field::text()).optional("a", Field::boolean()).required("m", Field::date());
        let text = serde_json::to_string(&form).unwrap();
        let (z, a, m) = (text.find("\"z\":"), text.find("\"a\":"), text.find("\"m\":"));
        assert!(z < a && a < m, "{text}");
        assert_eq!(serde_json::from_str::<FormSchema>(&text).unwrap(), form);
        assert_eq!(form.required, Some(vec!["z".to_owned(), "m".to_owned()]));
    }

    #[test]
    fn a_form_is_an_object() {
        let error = serde_json::from_value::<FormSchema>(json!({"type": "array", "properties": {}})).unwrap_err();
        assert!(error.to_string().contains("\"object\""), "{error}");
        assert!(serde_json::from_value::<FormSchema>(json!({"type": "object", "properties": []})).is_err());
    }
}
