//! JSON Schema: compiles the schemas of tools and validates arguments and results.
//!
//! Dialects: 2020-12, which is the default without `$schema`, 2019-09, draft-07, draft-06 and
//! draft-04. References are never fetched. As these dialects specify, `format` is an assertion up
//! to draft-07 and an annotation in later ones.

mod alternatives;
mod arguments;
#[cfg(feature = "schema-validation")]
mod bounds;
mod changes;
#[cfg(feature = "schema-validation")]
mod checked;
mod coercion;
#[cfg(feature = "schema-validation")]
mod explain;
mod header_parameters;
mod keywords;
mod parts;
#[cfg(feature = "schema-validation")]
mod pattern;
#[cfg(feature = "schema-validation")]
mod patterns;
#[cfg(not(feature = "schema-validation"))]
mod unchecked;
mod validation_failure;
mod wrapping;

pub use alternatives::Alternatives;
pub use arguments::{
    ArgumentDescription, WrittenArgument, WrittenValue, WrongArguments, check_arguments, describe_arguments,
    read_arguments,
};
pub use changes::{ChangeClass, SchemaChange, changes};
pub use coercion::{SchemaMember, TextMember, TextReader, is_union_of_objects, members};
pub use header_parameters::{HeaderParameter, HeaderParameterError, HeaderType, header_parameters};
pub use parts::{SchemaPart, visit_parts};
pub use validation_failure::{Invalid, SchemaFailure};
#[doc(hidden)]
pub use wrapping::wrapped;

#[cfg(feature = "schema-validation")]
pub use checked::Schema;
#[cfg(not(feature = "schema-validation"))]
pub use unchecked::Schema;

use serde_json::Value;

/// The author of a schema, who decides how far it is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaAuthor {
    /// This program.
    Own,
    /// The other side. Its patterns with look-around or back-references are not checked, as unknown
    /// keywords are not.
    Peer,
}

/// Why a schema was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// `$schema` names an unsupported dialect.
    #[error(
        "unknown JSON Schema dialect \"{0}\": use https://json-schema.org/draft/2020-12/schema (the default), 2019-09, draft-07, \
         draft-06 or draft-04"
    )]
    UnknownDialect(String),
    /// A `$ref` points outside of the schema, or to nothing in it.
    #[error(
        "the reference \"{0}\" cannot be resolved within the schema; references are never fetched, put the target into \"$defs\""
    )]
    UnresolvedReference(String),
    /// The schema is invalid in its own dialect.
    #[error("{0}")]
    Invalid(SchemaFailure),
    /// The schema could be used to exhaust this process.
    #[error("the schema is too complex: {0}")]
    TooComplex(&'static str),
    /// The root is not an object schema, as arguments require.
    #[error("the root of the schema must be an object with \"type\": \"object\", not {0}")]
    NotAnObjectSchema(String),
}

/// Checks what the schema of a tool's arguments requires in addition to being valid: an object at
/// the root.
///
/// # Errors
///
/// If the root is not an object schema.
pub fn check_input_root(schema: &Value) -> Result<(), SchemaError> {
    match schema {
        Value::Object(root) => match root.get("type") {
            Some(Value::String(kind)) if kind == "object" => Ok(()),
            Some(kind) => Err(SchemaError::NotAnObjectSchema(format!("\"type\": {}", validation_failure::brief(kind)))),
            None => Err(SchemaError::NotAnObjectSchema("one without \"type\"".to_owned())),
        },
        other => Err(SchemaError::NotAnObjectSchema(validation_failure::brief(other))),
    }
}

#[cfg(all(test, feature = "schema-validation"))]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(schema: Value) -> SchemaError {
        Schema::compile(&schema).unwrap_err()
    }

    fn invalid(schema: Value, value: Value) -> String {
        Schema::compile(&schema).unwrap().validate(&value).unwrap_err().to_string()
    }

    #[test]
    fn sch_01_the_default_dialect_is_2020_12() {
        let schema = Schema::compile(&json!({"prefixItems": [{"type": "integer"}]})).unwrap();
        assert!(schema.validate(&json!(["x"])).is_err());
        let seven = json!({"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": [{"type": "integer"}]});
        assert!(Schema::compile(&seven).unwrap().validate(&json!(["x"])).is_ok());
    }

    #[test]
    fn sch_02_and_03_declared_dialects_are_followed() {
        let seven = "http://json-schema.org/draft-07/schema#";
        let tuple = json!({"$schema": seven, "items": [{"type": "integer"}], "additionalItems": false});
        assert!(Schema::compile(&tuple).unwrap().validate(&json!([1, 2])).is_err());
        for dialect in ["draft-04", "draft-06", "draft-07", "draft/2019-09", "draft/2020-12"] {
            let schema = json!({"$schema": format!("https://json-schema.org/{dialect}/schema"), "type": "object"});
            Schema::compile(&schema).unwrap();
        }
        let error = refused(json!({"type": "object", "properties": {"days": {"type": "integr"}}}));
        assert!(matches!(error, SchemaError::Invalid(_)), "{error}");
        assert!(error.to_string().starts_with("/properties/days/type: "), "{error}");
        assert!(matches!(refused(json!({"properties": {"a": {"pattern": "("}}})), SchemaError::Invalid(_)));
        assert!(matches!(refused(json!(3)), SchemaError::Invalid(_)));
        assert!(matches!(refused(json!({"$schema": 3})), SchemaError::Invalid(_)));
    }

    #[test]
    fn sch_04_an_unknown_dialect_is_named() {
        let mine = "https://example.com/mine";
        for schema in [
            json!({"$schema": mine, "type": "object"}),
            json!({"properties": {"a": {"$id": "https://example.com/a", "$schema": mine}}}),
        ] {
            let error = refused(schema);
            assert_eq!(error, SchemaError::UnknownDialect(mine.to_owned()));
            assert!(error.to_string().contains(mine));
        }
    }

    #[test]
    fn sch_06_to_09_references_out_of_the_schema_are_refused_by_name() {
        for reference in
            ["https://example.com/x.json", "file:///etc/passwd", "other.json", "#/$defs/missing", "#missing"]
        {
            let error = refused(json!({"type": "object", "properties": {"a": {"$ref": reference}}}));
            assert_eq!(error, SchemaError::UnresolvedReference(reference.to_owned()));
        }
        let own = json!({"$defs": {"n": {"$anchor": "n", "type": "integer"}}, "items": {"$ref": "#n"}});
        assert!(Schema::compile(&own).unwrap().validate(&json!(["x"])).is_err());
    }

    #[test]
    fn tool_07_arguments_need_an_object_at_the_root() {
        assert_eq!(check_input_root(&json!({"type": "object"})), Ok(()));
        for (schema, found) in [
            (json!({"type": "array"}), "\"array\""),
            (json!({"type": ["object", "null"]}), "an array"),
            (json!({"anyOf": []}), "without \"type\""),
            (json!(true), "true"),
            (Value::Null, "null"),
        ] {
            let error = check_input_root(&schema).unwrap_err().to_string();
            assert!(error.contains(found), "{error}");
        }
    }

    #[test]
    fn tool_19_failures_name_the_path_and_the_reason() {
        let schema = json!({
            "type": "object",
            "properties": {
                "city": {},
                "days": {"type": "integer", "maximum": 7},
                "unit": {"enum": ["C", "F"]},
                "place": {"type": "object", "properties": {"a/b": {"type": ["string", "null"]}}, "required": ["lat"]},
                "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            },
            "required": ["city"],
            "additionalProperties": false,
        });
        for (value, text) in [
            (json!({"city": 1, "days": "x"}), r#"/days: "x" is not of type "integer""#),
            (json!({"city": 1, "days": 8}), "/days: 8 is greater than the maximum of 7"),
            (json!({"city": 1, "unit": "K"}), r#"/unit: "K" is not one of "C" or "F""#),
            (json!({"city": 1, "place": {"lat": 1, "a/b": 1}}), r#"/place/a~1b: 1 is not of types "null", "string""#),
            (json!({"city": 1, "place": {}}), r#"/place: property "lat" is missing"#),
            (json!({"city": 1, "maybe": "x"}), r#"/maybe: "x" is not of type "integer" or "null""#),
            (json!({}), r#"property "city" is missing"#),
            (json!({"city": 1, "q": 1, "r": 2}), r#"properties "q", "r" are not allowed"#),
            (json!([]), r#"an array is not of type "object""#),
        ] {
            assert_eq!(invalid(schema.clone(), value), text);
        }
    }

    #[test]
    fn tool_19_a_union_is_explained_by_the_branch_that_came_furthest() {
        let schema = json!({"properties": {"shape": {"oneOf": [
            {"properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}, "required": ["kind", "radius"]},
            {"properties": {"kind": {"const": "square"}, "side": {"type": "number"}}, "required": ["kind", "side"]},
        ]}}});
        let text = invalid(schema.clone(), json!({"shape": {"kind": "circle", "radius": "x"}}));
        assert_eq!(text, r#"/shape/radius: "x" is not of type "number""#);
        let text = invalid(schema, json!({"shape": 1}));
        assert!(text.starts_with("/shape: "), "{text}");
    }

    #[test]
    fn tool_19_the_member_of_a_union_that_was_meant_is_explained() {
        let shape = |kind: &str, member: &str| {
            json!({
                "type": "object",
                "properties": {"kind": {"type": "string", "const": kind}, member: {"type": "number"}},
                "required": ["kind", member],
            })
        };
        for keyword in ["anyOf", "oneOf"] {
            let schema = json!({"properties": {"s": {keyword: [shape("square", "side"), shape("circle", "r")]}}});
            for (value, text) in [
                (json!({"kind": "circle"}), r#"/s: property "r" is missing"#),
                (json!({"kind": "circle", "r": "x"}), r#"/s/r: "x" is not of type "number""#),
                (
                    json!({"kind": "line"}),
                    r#"/s: an object matches none of the 2 forms that are allowed: /kind: "square" was expected; /kind: "circle" was expected"#,
                ),
                (
                    json!({"r": 1}),
                    r#"/s: an object matches none of the 2 forms that are allowed: property "kind" is missing"#,
                ),
            ] {
                assert_eq!(invalid(schema.clone(), json!({"s": value})), text);
            }
        }
        // A wrong choice next to a correct constant.
        let mut styled = shape("circle", "r");
        styled["properties"]["style"] = json!({"enum": ["thin", "thick"]});
        let schema = json!({"properties": {"s": {"anyOf": [shape("square", "side"), styled]}}});
        let text = invalid(schema, json!({"s": {"kind": "circle", "r": 1, "style": "red"}}));
        assert_eq!(text, r#"/s/style: "red" is not one of "thin" or "thick""#);
    }

    #[test]
    fn tool_19_a_value_of_no_form_is_told_what_each_form_allows() {
        let many: Vec<_> = (0..20).map(|number| json!({"const": format!("c{number}")})).collect();
        for (schema, value, allowed) in [
            (
                json!({"anyOf": [{"enum": ["C", "F"]}, {"type": "array"}]}),
                json!("K"),
                r#""K" matches none of the 2 forms that are allowed: it is not one of "C" or "F"; it is not of type "array""#,
            ),
            (
                json!({"oneOf": [{"maximum": 3}, {"minimum": 9}]}),
                json!(5),
                "5 matches none of the 2 forms that are allowed: it is greater than the maximum of 3; it is less than the minimum of 9",
            ),
            (
                json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}, {"required": ["a"]}]}),
                json!({}),
                r#"an object matches none of the 3 forms that are allowed: property "a" is missing; property "b" is missing"#,
            ),
            (
                json!({"anyOf": [{"items": {"type": "integer"}}, {"maxItems": 0}]}),
                json!([1, "x"]),
                r#"/1: "x" is not of type "integer""#,
            ),
            (
                json!({"anyOf": many}),
                json!("x"),
                r#""x" matches none of the 20 forms that are allowed: "c0" was expected; "c1" was expected; "c2" was expected; "c3" was expected; "c4" was expected; "c5" was expected; "c6" was expected; "c7" was expected and more"#,
            ),
        ] {
            assert_eq!(invalid(schema, value), allowed);
        }
        let error = Schema::compile(&json!({"type": "strng"})).err().unwrap().to_string();
        for word in [
            "/type: ",
            r#""strng" matches none of the 2 forms"#,
            r#""array""#,
            r#""string""#,
            r#"it is not of type "array""#,
        ] {
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn tool_19_an_optional_value_is_explained_by_what_it_may_be_other_than_null() {
        let place = json!({"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]});
        for keyword in ["anyOf", "oneOf"] {
            let optional = |schema: &Value| json!({keyword: [schema, {"type": "null"}]});
            let schema = json!({"properties": {
                "unit": optional(&json!({"enum": ["C", "F"]})),
                "place": optional(&place),
                "days": optional(&json!({"type": "integer", "maximum": 7})),
            }});
            for (value, text) in [
                (json!({"unit": "K"}), r#"/unit: "K" is not one of "C" or "F""#),
                (json!({"place": {}}), r#"/place: property "lat" is missing"#),
                (json!({"place": {"lat": "x"}}), r#"/place/lat: "x" is not of type "number""#),
                (json!({"place": 1}), r#"/place: 1 is not of type "null" or "object""#),
                (json!({"days": 8}), "/days: 8 is greater than the maximum of 7"),
            ] {
                assert_eq!(invalid(schema.clone(), value), text);
            }
        }
    }

    #[test]
    fn tool_19_a_format_is_reported_before_the_pattern_next_to_it_and_long_patterns_are_cut() {
        let time = json!({"type": "string", "format": "date-time", "pattern": "^[0-9]{4}-"});
        let schema = json!({
            "$defs": {"time": time},
            "properties": {
                "a": time,
                "b": {"items": {"$ref": "#/$defs/time"}},
                "c": {"pattern": format!("^({})$", "x|".repeat(100))},
                "d": {"anyOf": [{"type": "null"}, time]},
            },
        });
        for (value, text) in [
            (json!({"a": "soon"}), r#"/a: "soon" is not a date-time"#.to_owned()),
            (json!({"b": ["soon"]}), r#"/b/0: "soon" is not a date-time"#.to_owned()),
            (json!({"c": "y"}), format!(r#"/c: "y" does not match "^({}…""#, "x|".repeat(29))),
        ] {
            assert_eq!(invalid(schema.clone(), value), text);
        }
    }

    #[test]
    fn failures_are_few_and_short() {
        let properties: Value = ('a'..='z').map(|c| (c.to_string(), json!({"type": "integer"}))).collect();
        let values: Value = ('a'..='z').map(|c| (c.to_string(), json!("long ".repeat(10_000)))).collect();
        let error = Schema::compile(&json!({"properties": properties})).unwrap().validate(&values).unwrap_err();
        assert_eq!(error.failures().len(), 3);
        assert!(error.to_string().len() < 500, "{error}");
        assert!(error.to_string().ends_with("and more"), "{error}");
    }

    #[test]
    fn a_large_wrong_value_is_explained_at_its_first_fault() {
        let schema = Schema::compile(&json!({"items": {"type": "integer"}})).unwrap();
        let mut items = vec![json!(1); 200_000];
        items[150_000] = json!("x");
        let error = schema.validate(&Value::Array(items)).unwrap_err();
        assert_eq!(error.to_string(), r#"/150000: "x" is not of type "integer""#);
    }

    #[test]
    fn formats_assert_only_where_the_dialect_says_so() {
        let schema = |dialect: &str| json!({"$schema": dialect, "format": "ipv4"});
        let twenty = Schema::compile(&schema("https://json-schema.org/draft/2020-12/schema")).unwrap();
        assert!(twenty.validate(&json!("x")).is_ok());
        let seven = Schema::compile(&schema("http://json-schema.org/draft-07/schema#")).unwrap();
        assert!(seven.validate(&json!("x")).is_err());
    }
}
