//! The schemas in a schema, each with its place.

use super::keywords::{Subschema, push_token, subschemas};
use serde_json::Value;

/// Deeper schemas are left out; a compiled schema has fewer levels.
const MAX_DEPTH: usize = 128;

/// A schema in another one, or the root.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SchemaPart<'a> {
    /// JSON pointer from the root; empty for the root.
    pub path: &'a str,
    /// The name of the property that it describes.
    pub property: Option<&'a str>,
    /// The schema.
    pub schema: &'a Value,
}

impl<'a> SchemaPart<'a> {
    /// The target of its reference.
    pub fn reference(&self) -> Option<&'a str> {
        self.schema.get("$ref").and_then(Value::as_str)
    }
}

/// Visits a schema, and then all schemas in it. References are not followed.
///
/// ```
/// use serde_json::json;
/// use trunkline_proto::protocol::schema::visit_parts;
///
/// let mut paths = Vec::new();
/// let schema = json!({"properties": {"days": {"type": "array", "items": {"type": "string"}}}});
/// visit_parts(&schema, &mut |part| paths.push(part.path.to_owned()));
/// assert_eq!(paths, ["", "/properties/days", "/properties/days/items"]);
/// ```
pub fn visit_parts(schema: &Value, visit: &mut dyn FnMut(SchemaPart<'_>)) {
    walk(schema, None, &mut String::new(), MAX_DEPTH, visit);
}

/// Changes one path in place, so that a long key is not copied for each schema under it.
fn walk(
    schema: &Value,
    property: Option<&str>,
    path: &mut String,
    depth: usize,
    visit: &mut dyn FnMut(SchemaPart<'_>),
) {
    visit(SchemaPart { path, property, schema });
    if depth == 0 {
        return;
    }
    for Subschema { keyword, key, schema, .. } in subschemas(schema) {
        let end = path.len();
        push_token(path, keyword);
        if let Some(key) = &key {
            push_token(path, key);
        }
        walk(schema, key.as_deref().filter(|_| keyword == "properties"), path, depth - 1, visit);
        path.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parts_have_their_place_name_and_reference() {
        let schema = json!({
            "properties": {"a/b": {"$ref": "#/$defs/x"}},
            "anyOf": [{"required": ["a/b"]}],
            "$defs": {"x": {"type": "array"}},
        });
        let mut found = Vec::new();
        visit_parts(&schema, &mut |part| {
            found.push((part.path.to_owned(), part.property.map(str::to_owned), part.reference().map(str::to_owned)));
        });
        let expected = [
            ("", None, None),
            ("/properties/a~1b", Some("a/b"), Some("#/$defs/x")),
            ("/anyOf/0", None, None),
            ("/$defs/x", None, None),
        ];
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let expected: Vec<_> =
            expected.into_iter().map(|(path, property, to)| (path.to_owned(), owned(property), owned(to))).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_deep_schema_ends() {
        let deep = (0..1_000).fold(json!({}), |inner, _| json!({"items": inner}));
        let mut parts = 0;
        visit_parts(&deep, &mut |_| parts += 1);
        assert_eq!(parts, MAX_DEPTH + 1);
    }
}
