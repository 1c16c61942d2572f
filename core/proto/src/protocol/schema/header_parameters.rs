//! `x-mcp-header`: tool parameters that are also sent in HTTP headers, so that intermediaries can
//! route by them (2026-07-28).

use super::keywords::{Subschema, push_token, subschemas};
use super::validation_failure::brief;
use serde_json::Value;
use std::collections::HashMap;

/// The largest integer that every peer can represent (H26-28).
const MAX_INTEGER: f64 = 9_007_199_254_740_991.0;

/// A parameter mirrored in the header `Mcp-Param-{name}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderParameter {
    /// The annotation, with its case kept.
    pub name: String,
    /// Names of the properties from the root of the arguments to the parameter.
    pub path: Vec<String>,
    /// The type of its value.
    pub kind: HeaderType,
}

/// The types of a mirrored parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderType {
    /// A string.
    String,
    /// A whole number within plus or minus 2^53-1.
    Integer,
    /// `true` or `false`.
    Boolean,
}

/// Why an annotation, or a value to mirror, is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct HeaderParameterError {
    /// JSON pointer into the schema, or into the arguments.
    pub path: String,
    /// The problem there.
    pub reason: String,
}

/// The mirrored parameters of an input schema, in schema order.
///
/// # Errors
///
/// If an annotation breaks a rule of the specification. Servers must not offer such a tool, and
/// clients leave it out.
pub fn header_parameters(input_schema: &Value) -> Result<Vec<HeaderParameter>, HeaderParameterError> {
    let mut found = FoundParameters::default();
    found.walk(input_schema, "", Some(Vec::new()))?;
    Ok(found.params)
}

impl HeaderParameter {
    /// The string to mirror, not encoded yet, or `None` if the argument is absent or null.
    ///
    /// # Errors
    ///
    /// If the argument does not match the schema, or an integer is out of range.
    pub fn text(&self, arguments: &Value) -> Result<Option<String>, HeaderParameterError> {
        let mut value = arguments;
        for name in &self.path {
            match value.get(name) {
                Some(inner) => value = inner,
                None => return Ok(None),
            }
        }
        let text = match (self.kind, value) {
            (_, Value::Null) => return Ok(None),
            (HeaderType::String, Value::String(text)) => Some(text.clone()),
            (HeaderType::Boolean, Value::Bool(flag)) => Some(flag.to_string()),
            (HeaderType::Integer, Value::Number(number)) => number.as_f64().and_then(|number| {
                (number.fract() == 0.0 && number.abs() <= MAX_INTEGER).then(|| (number as i64).to_string())
            }),
            _ => None,
        };
        text.map(Some).ok_or_else(|| HeaderParameterError {
            path: self.path.iter().fold(String::new(), |path, name| pointer(&path, name)),
            reason: format!("a value sent in the header Mcp-Param-{} must be {}", self.name, self.kind.words()),
        })
    }
}

impl HeaderType {
    fn words(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Integer => "an integer within plus or minus 2^53-1",
            Self::Boolean => "a boolean",
        }
    }
}

#[derive(Default)]
struct FoundParameters {
    params: Vec<HeaderParameter>,
    /// The first location of each name, by its lower-case form.
    paths: HashMap<String, String>,
}

impl FoundParameters {
    /// `properties` is the path here if it consists of `properties` only. Behind any other keyword,
    /// the argument cannot be found without evaluating the schema.
    fn walk(&mut self, schema: &Value, at: &str, properties: Option<Vec<String>>) -> Result<(), HeaderParameterError> {
        if let Some(annotation) = schema.get(ANNOTATION) {
            let error = |reason| HeaderParameterError { path: at.to_owned(), reason };
            let (name, kind) = checked(annotation, schema).map_err(error)?;
            let Some(path) = properties.clone().filter(|path| !path.is_empty()) else {
                return Err(error(format!(
                    "{ANNOTATION} is only allowed on a property reached through `properties` alone"
                )));
            };
            if let Some(first) = self.paths.insert(name.to_ascii_lowercase(), at.to_owned()) {
                return Err(error(format!(
                    "{ANNOTATION} \"{name}\" is taken by {first}; names must differ in more than case"
                )));
            }
            self.params.push(HeaderParameter { name: name.to_owned(), path, kind });
        }
        for Subschema { keyword, key, schema, .. } in subschemas(schema) {
            let inside = match (&properties, keyword, &key) {
                (Some(path), "properties", Some(name)) => {
                    Some(path.iter().map(String::as_str).chain([name.as_ref()]).map(str::to_owned).collect())
                }
                _ => None,
            };
            let at = pointer(at, keyword);
            self.walk(schema, &key.map_or_else(|| at.clone(), |key| pointer(&at, &key)), inside)?;
        }
        Ok(())
    }
}

const ANNOTATION: &str = "x-mcp-header";

/// The name and type of an annotated property, if both are allowed.
fn checked<'a>(annotation: &'a Value, schema: &Value) -> Result<(&'a str, HeaderType), String> {
    let name = match annotation {
        Value::String(name) if !name.is_empty() && name.bytes().all(is_token) => name,
        Value::String(name) if name.is_empty() => return Err(format!("{ANNOTATION} must not be empty")),
        other => {
            return Err(format!(
                "{ANNOTATION} must be an HTTP field name (letters, digits, !#$%&'*+-.^_`|~), not {}",
                brief(other)
            ));
        }
    };
    let kind = match schema.get("type").and_then(Value::as_str) {
        Some("string") => HeaderType::String,
        Some("integer") => HeaderType::Integer,
        Some("boolean") => HeaderType::Boolean,
        _ => {
            return Err(format!("{ANNOTATION} needs a property with \"type\": \"string\", \"integer\" or \"boolean\""));
        }
    };
    Ok((name, kind))
}

/// RFC 9110, section 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn pointer(parent: &str, key: &str) -> String {
    let mut path = parent.to_owned();
    push_token(&mut path, key);
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(properties: Value) -> HeaderParameterError {
        header_parameters(&json!({"type": "object", "properties": properties})).unwrap_err()
    }

    #[test]
    fn h26_29_annotations_are_found_along_properties() {
        let schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "options": {"type": "object", "properties": {"limit": {"type": "integer", "x-mcp-header": "Limit"}}},
            "plain": {"type": "string"},
            "x-mcp-header": {"type": "boolean"},
        }, "examples": [{"x-mcp-header": 1}]});
        let found = header_parameters(&schema).unwrap();
        let named: Vec<_> = found.iter().map(|param| (param.name.as_str(), param.path.join("."), param.kind)).collect();
        assert_eq!(
            named,
            [
                ("Region", "region".to_owned(), HeaderType::String),
                ("Limit", "options.limit".to_owned(), HeaderType::Integer)
            ]
        );
        assert_eq!(header_parameters(&json!(true)), Ok(vec![]));
    }

    #[test]
    fn h26_29_annotations_elsewhere_are_refused() {
        let annotated = json!({"type": "string", "x-mcp-header": "A"});
        for (elsewhere, path) in [
            (json!({"items": annotated}), "/items"),
            (json!({"anyOf": [{}, {"properties": {"a": annotated}}]}), "/anyOf/1/properties/a"),
            (json!({"if": {}, "then": annotated}), "/then"),
            (json!({"$defs": {"d/e": annotated}}), "/$defs/d~1e"),
            (json!({"additionalProperties": annotated}), "/additionalProperties"),
            (json!({"properties": {"p": {"properties": {"q": {"not": annotated}}}}}), "/properties/p/properties/q/not"),
            (annotated.clone(), ""),
        ] {
            let error = header_parameters(&elsewhere).unwrap_err();
            assert_eq!(error.path, path, "{error}");
            assert!(error.reason.contains("`properties` alone"), "{error}");
        }
    }

    #[test]
    fn h26_24_and_25_names_are_http_field_names() {
        for name in [json!(""), json!("a b"), json!("a\n"), json!("ä"), json!("a:"), json!(1), Value::Null] {
            let error = refused(json!({"a": {"type": "string", "x-mcp-header": name}}));
            assert_eq!(error.path, "/properties/a");
        }
    }

    #[test]
    fn h26_26_names_are_unique_whatever_their_case() {
        let error = refused(json!({
            "a": {"type": "string", "x-mcp-header": "Region"}, "b": {"type": "string", "x-mcp-header": "rEGION"},
        }));
        assert!(error.to_string().starts_with("/properties/b: "), "{error}");
        assert!(error.reason.contains("/properties/a"), "{error}");
    }

    #[test]
    fn h26_27_only_text_integers_and_booleans_are_mirrored() {
        for kind in
            [json!("number"), json!("object"), json!("array"), json!("null"), json!(["string", "null"]), json!(null)]
        {
            let error = refused(json!({"a": {"type": kind, "x-mcp-header": "A"}}));
            assert!(error.reason.contains("\"integer\""), "{error}");
        }
    }

    #[test]
    fn h26_28_and_33_values_become_text() {
        let param = |kind| HeaderParameter { name: "A".to_owned(), path: vec!["o".to_owned(), "a".to_owned()], kind };
        let text = |kind, value: Value| param(kind).text(&json!({"o": {"a": value}}));
        assert_eq!(text(HeaderType::String, json!(" ö")), Ok(Some(" ö".to_owned())));
        assert_eq!(text(HeaderType::Boolean, json!(false)), Ok(Some("false".to_owned())));
        assert_eq!(text(HeaderType::Integer, json!(-42.0)), Ok(Some("-42".to_owned())));
        let largest = 9_007_199_254_740_991i64;
        assert_eq!(text(HeaderType::Integer, json!(largest)), Ok(Some(largest.to_string())));
        for wrong in [json!(largest + 1), json!(1.5), json!("1"), json!(u64::MAX)] {
            assert_eq!(text(HeaderType::Integer, wrong).unwrap_err().path, "/o/a");
        }
        assert_eq!(text(HeaderType::String, Value::Null), Ok(None));
        assert_eq!(param(HeaderType::String).text(&json!({"o": 1})), Ok(None));
        assert_eq!(param(HeaderType::String).text(&Value::Null), Ok(None));
    }
}
