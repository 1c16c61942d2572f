//! Selects the alternatives of a union that match a value, best match first.

use super::{Schema, SchemaError, coercion::type_of};
use serde_json::{Map, Value};
use std::{array, cell::Cell};

/// The members of an `anyOf`, each compiled.
///
/// ```
/// use serde_json::json;
/// use trunkline_proto::protocol::schema::Alternatives;
///
/// let narrow = json!({"type": "object", "properties": {"id": {}}});
/// let wide = json!({"type": "object", "properties": {"id": {}, "name": {}}});
/// let union = Alternatives::compile(json!({"anyOf": [narrow, wide]}))?;
/// assert_eq!(union.fitting(&json!({"id": 1, "name": "n"})), [1, 0]);
/// # Ok::<(), trunkline_proto::protocol::schema::SchemaError>(())
/// ```
#[derive(Debug)]
pub struct Alternatives {
    definitions: Value,
    members: Vec<(Value, Schema)>,
}

/// How closely a value matches a type; greater is better. The sums of the constants below, compared
/// in their order.
type Fit = [i64; 3];

/// A number of another kind, such as 3.0 for an integer.
const INEXACT: Fit = [-1, 0, 0];
/// An object member that the type does not name.
const UNNAMED: Fit = [0, -1, 0];
/// An object member that the type names.
const NAMED: Fit = [0, 0, 1];

impl Alternatives {
    /// Compiles the members of `anyOf`, which may refer to `$defs` next to it.
    ///
    /// # Errors
    ///
    /// As [`Schema::compile`].
    pub fn compile(mut schema: Value) -> Result<Self, SchemaError> {
        let definitions = schema.get_mut("$defs").map_or_else(|| Value::Object(Map::new()), Value::take);
        let members = match schema.get_mut("anyOf").map(Value::take) {
            Some(Value::Array(members)) => members,
            _ => Vec::new(),
        };
        let compiled = members.into_iter().map(|member| {
            let mut whole = member.clone();
            if let Some(whole) = whole.as_object_mut() {
                whole.insert("$defs".into(), definitions.clone());
            }
            Schema::compile(&whole).map(|schema| (member, schema))
        });
        Ok(Self { members: compiled.collect::<Result<_, _>>()?, definitions })
    }

    /// The positions of the members that a value matches: first those that match its kinds of
    /// numbers, then those that leave the fewest of its members unnamed, then those that name the
    /// most. Ties keep their order.
    pub fn fitting(&self, value: &Value) -> Vec<usize> {
        let valid = |(_, (_, schema)): &(usize, &(Value, Schema))| schema.validate(value).is_ok();
        let fits = self.members.iter().enumerate().filter(valid);
        let mut found: Vec<_> = fits
            .map(|(index, (schema, _))| {
                let steps = Cell::new(MAX_STEPS);
                (Comparison { definitions: &self.definitions, steps: &steps }.fit(schema, value), index)
            })
            .collect();
        found.sort_by(|(one, _), (other, _)| other.cmp(one));
        found.into_iter().map(|(_, index)| index).collect()
    }
}

/// Compares a value with one type.
struct Comparison<'a> {
    definitions: &'a Value,
    /// Remaining number of schemas to visit: unions in recursive types would take forever.
    steps: &'a Cell<usize>,
}

impl Comparison<'_> {
    fn fit(&self, schema: &Value, value: &Value) -> Fit {
        let Some(schema) = self.resolved(schema) else { return Fit::default() };
        if let Some(Value::Array(members)) = schema.get("anyOf").or_else(|| schema.get("oneOf")) {
            let fits = members.iter().filter(|member| may_be(member, value));
            return fits.map(|member| self.fit(member, value)).max().unwrap_or_default();
        }
        match value {
            Value::Number(number) => {
                let is_other = match schema.get("type").and_then(Value::as_str) {
                    Some("integer") => number.is_f64(),
                    Some("number") => !number.is_f64(),
                    _ => false,
                };
                if is_other { INEXACT } else { Fit::default() }
            }
            Value::Array(items) => {
                let prefix = schema.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let schemas = prefix.iter().map(Some).chain(std::iter::repeat(schema.get("items")));
                sum(items.iter().zip(schemas).filter_map(|(item, schema)| Some(self.fit(schema?, item))))
            }
            Value::Object(members) => sum(members.iter().map(|(name, member)| {
                match (schema.get("properties").and_then(|known| known.get(name)), schema.get("additionalProperties")) {
                    (Some(schema), _) => sum([self.fit(schema, member), NAMED]),
                    (None, Some(schema @ Value::Object(_))) => self.fit(schema, member),
                    _ => UNNAMED,
                }
            })),
            _ => Fit::default(),
        }
    }

    /// Follows a chain of references to a schema. Returns `None` when no steps remain.
    fn resolved<'s>(&'s self, mut schema: &'s Value) -> Option<&'s Value> {
        while self.steps.get() > 0 {
            self.steps.set(self.steps.get() - 1);
            let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { return Some(schema) };
            schema = self.definitions.get(reference.strip_prefix("#/$defs/")?)?;
        }
        None
    }
}

/// Maximum number of schemas visited for one member of a union; the rest of the value is ignored.
const MAX_STEPS: usize = 10_000;

fn sum(fits: impl IntoIterator<Item = Fit>) -> Fit {
    fits.into_iter().fold(Fit::default(), |one, other| array::from_fn(|part| one[part] + other[part]))
}

/// Returns whether the type of a schema, if any, matches the value.
fn may_be(schema: &Value, value: &Value) -> bool {
    let is_type = |kind: &Value| match kind.as_str() {
        Some("integer" | "number") => value.is_number(),
        Some(kind) => kind == type_of(value),
        None => true,
    };
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is_type),
        Some(kind) => is_type(kind),
        None => true,
    }
}

#[cfg(all(test, feature = "schema-validation"))]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_best_matching_member_is_first() {
        let object = |names: &[&str]| {
            let properties: Map<_, _> = names.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
            json!({"type": "object", "properties": properties})
        };
        let (narrow, wide) = (object(&["id"]), object(&["id", "name"]));
        for (members, value, order) in [
            (json!([narrow, wide]), json!({"id": 1}), vec![0, 1]),
            (json!([narrow, wide]), json!({"id": 1, "name": 2}), vec![1, 0]),
            (json!([narrow, wide]), json!({"id": 1, "name": 2, "more": 3}), vec![1, 0]),
            (json!([{"items": narrow}, {"items": wide}]), json!([{"name": 1}]), vec![1, 0]),
            (json!([{"prefixItems": [{}, narrow]}, {"prefixItems": [{}, wide]}]), json!([0, {"name": 1}]), vec![1, 0]),
            (
                json!([{"additionalProperties": narrow}, {"additionalProperties": wide}]),
                json!({"a": {"name": 1}}),
                vec![1, 0],
            ),
            (json!([{"type": "number"}, {"type": "integer"}]), json!(3), vec![1, 0]),
            (json!([{"type": "integer"}, {"type": "number"}]), json!(3.0), vec![1, 0]),
            (json!([{"type": "integer", "maximum": 5}, {"type": "number"}]), json!(10), vec![1]),
            (json!([{"type": "string"}, {"type": "string", "format": "date"}]), json!("x"), vec![0, 1]),
            (json!([{"$ref": "#/$defs/narrow"}, {"anyOf": [{"type": "null"}, wide]}]), json!({"name": 1}), vec![1, 0]),
            (json!([{"$ref": "#/$defs/loop"}, {"type": "null"}]), json!({"more": {"more": 1}}), vec![0]),
            (json!([{"type": "null"}]), json!(1), vec![]),
        ] {
            let link = json!({"type": "object", "properties": {"more": {"$ref": "#/$defs/loop"}}});
            let definitions = json!({"narrow": narrow, "loop": {"anyOf": [{"type": "integer"}, link]}});
            let union = Alternatives::compile(json!({"anyOf": members, "$defs": definitions})).unwrap();
            assert_eq!(union.fitting(&value), order, "{members} {value}");
        }
    }

    #[test]
    fn recursive_unions_take_bounded_time() {
        let node = |name: &str| {
            let properties = json!({"child": {"$ref": "#/$defs/any"}, name: {}});
            json!({"type": "object", "properties": properties})
        };
        let either = json!({"anyOf": [node("a"), node("b"), {"type": "null"}]});
        let union = Alternatives::compile(json!({"anyOf": [node("a"), node("b")], "$defs": {"any": either}})).unwrap();
        let value = (0..60).fold(json!({"b": 1}), |child, _| json!({"child": child, "b": 1}));
        assert_eq!(union.fitting(&value), [1, 0]);
    }

    #[test]
    fn a_member_that_is_no_schema_is_refused() {
        assert!(Alternatives::compile(json!({"anyOf": [{"type": 3}]})).is_err());
        assert!(Alternatives::compile(json!({})).unwrap().fitting(&json!(1)).is_empty());
    }
}
