//! Converts strings to typed values: the arguments of prompts and the variables of URI templates
//! are strings, but their schema may have numbers, booleans and choices.

use super::{Invalid, Schema};
use crate::protocol::integers::integer;
use serde_json::{Map, Number, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Converts the string members of an object according to its schema, then validates the object.
///
/// A string becomes the narrowest type that the schema of its member allows: a boolean (`true`,
/// `false`), a number, or else a string.
///
/// ```
/// use serde_json::json;
/// use trunkline_proto::protocol::schema::{TextMember, TextReader};
///
/// let schema = json!({"type": "object", "properties": {"day": {"type": "integer", "maximum": 7}}});
/// let reader = TextReader::compile(schema, &[TextMember { name: "day", is_list: false }])?;
/// let read = |day: &str| reader.read([("day".to_owned(), day.into())].into_iter().collect());
/// assert_eq!(read("2").unwrap(), json!({"day": 2}));
/// assert_eq!(read("two").unwrap_err().to_string(), r#"/day: "two" is not of type "integer""#);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug)]
pub struct TextReader {
    source: Value,
    schema: Schema,
    /// The types of each member, or of its items if it is a list.
    members: BTreeMap<String, Types>,
    /// The types of any other member.
    others: Types,
}

/// A member that is given as a string or as a list of strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextMember<'a> {
    /// Its name.
    pub name: &'a str,
    /// True for a list.
    pub is_list: bool,
}

/// A member of an object, as described by its schema.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaMember<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its schemas; a union may have several.
    pub schemas: Vec<&'a Value>,
    /// True if every object has it.
    pub is_required: bool,
}

/// Names of JSON types.
pub(super) type Types = BTreeSet<String>;

impl TextReader {
    /// Compiles the schema of an object whose members are given as strings.
    ///
    /// # Errors
    ///
    /// If the schema is invalid, a member cannot be converted from a string, or a required member
    /// is not given. The error names it.
    pub fn compile(source: Value, given: &[TextMember<'_>]) -> Result<Self, String> {
        let schema = Schema::compile(&source).map_err(|error| error.to_string())?;
        if let Some(kind) = source.get("type").filter(|_| !is_of(&source, "object")) {
            return Err(format!("the handler's arguments are of type {kind}, but given as an object"));
        }
        let known = members(&source);
        let is_given = |name: &str| given.iter().any(|member| member.name == name);
        if let Some(lacking) = known.iter().find(|member| member.is_required && !is_given(member.name)) {
            return Err(format!("{} in the handler's arguments is required, but never given", lacking.name));
        }
        let mut members = BTreeMap::new();
        for TextMember { name, is_list } in given {
            let Some(member) = known.iter().find(|member| member.name == *name) else { continue };
            let whole = types(&source, member.schemas.iter().copied());
            let (types, form) = match is_list {
                true => (member.item_types(&source), "a list of strings"),
                false => (whole.clone(), "a string"),
            };
            if !SCALARS.iter().any(|scalar| types.contains(*scalar)) {
                let whole: Vec<_> = whole.into_iter().collect();
                let whole = whole.join(" or ");
                return Err(format!("{name} in the handler's arguments is of type {whole}, but given as {form}"));
            }
            members.insert((*name).to_owned(), types);
        }
        let others = source.get("additionalProperties").map_or_else(Types::new, |schema| types(&source, [schema]));
        Ok(Self { source, schema, members, others })
    }

    /// The schema.
    pub fn schema(&self) -> &Value {
        &self.source
    }

    /// Converts an object of strings and lists of strings.
    ///
    /// # Errors
    ///
    /// If the converted object does not match the schema; the error names the first members that do
    /// not.
    pub fn read(&self, mut texts: Map<String, Value>) -> Result<Value, Invalid> {
        for (name, value) in &mut texts {
            let types = self.members.get(name).unwrap_or(&self.others);
            match value {
                Value::Array(items) => items.iter_mut().for_each(|item| convert(item, types)),
                text => convert(text, types),
            }
        }
        let value = Value::Object(texts);
        self.schema.validate(&value)?;
        Ok(value)
    }
}

impl SchemaMember<'_> {
    /// The types of its items; empty if it is not a list.
    fn item_types(&self, root: &Value) -> Types {
        let lists = self.schemas.iter().flat_map(|schema| branches(root, schema));
        let lists = lists.filter(|schema| is_of(schema, "array") || !says_type(schema));
        types(root, lists.map(|list| list.get("items").unwrap_or(&Value::Bool(true))))
    }
}

const SCALARS: [&str; 4] = ["boolean", "integer", "number", "string"];

/// Converts a string to the narrowest of the types; it is unchanged if it matches none of them.
pub(super) fn convert(value: &mut Value, types: &Types) {
    let Value::String(text) = value else { return };
    let converted = match &*text.to_ascii_lowercase() {
        "true" if types.contains("boolean") => Some(Value::Bool(true)),
        "false" if types.contains("boolean") => Some(Value::Bool(false)),
        _ if types.contains("number") => number(text).map(Value::Number),
        _ if types.contains("integer") => number(text).and_then(|number| integer(&number)).map(Value::Number),
        _ => None,
    };
    if let Some(converted) = converted {
        *value = converted;
    }
}

fn number(text: &str) -> Option<Number> {
    serde_json::from_str(text.trim()).ok()
}

/// The members of the objects that a schema describes, including those of union variants, in
/// declaration order.
pub fn members(root: &Value) -> Vec<SchemaMember<'_>> {
    let requires = |schema: &Value, name: &str| {
        let required = schema.get("required").and_then(Value::as_array);
        required.is_some_and(|required| required.iter().any(|member| member == name))
    };
    let each_requires = |name: &str| {
        unions(root).any(|variants| {
            variants.iter().all(|variant| branches(root, variant).iter().any(|schema| requires(schema, name)))
        })
    };
    let mut members: Vec<SchemaMember<'_>> = Vec::new();
    let properties = branches(root, root).into_iter().filter_map(|schema| schema.get("properties")?.as_object());
    for (name, schema) in properties.flatten() {
        match members.iter_mut().find(|member| member.name == name) {
            Some(member) => member.schemas.push(schema),
            None => {
                let is_required = requires(root, name) || each_requires(name);
                members.push(SchemaMember { name, schemas: vec![schema], is_required });
            }
        }
    }
    members
}

/// Returns whether a schema without a type describes objects: a union whose variants all do.
pub fn is_union_of_objects(root: &Value) -> bool {
    unions(root).any(|variants| {
        let is_object = |variant: &Value| branches(root, variant).iter().any(|schema| is_of(schema, "object"));
        !variants.is_empty() && variants.iter().all(is_object)
    })
}

fn unions(schema: &Value) -> impl Iterator<Item = &Vec<Value>> {
    ["anyOf", "oneOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array())
}

/// A schema and all schemas that apply to the same value: the targets of references, and the
/// members of `allOf` and of unions. Each is visited once, so references may be cyclic.
pub(super) fn branches<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s Value> {
    let mut found = vec![schema];
    let mut next = 0;
    while let Some(&schema) = found.get(next) {
        next += 1;
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|to| root.pointer(to.strip_prefix('#')?));
        let all = schema.get("allOf").and_then(Value::as_array).into_iter();
        for branch in target.into_iter().chain(all.chain(unions(schema)).flatten()) {
            if !found.iter().any(|known| std::ptr::eq(*known, branch)) {
                found.push(branch);
            }
        }
    }
    found
}

/// The types that the schemas allow; possibly more than they allow in combination.
pub(super) fn types<'s>(root: &'s Value, schemas: impl IntoIterator<Item = &'s Value>) -> Types {
    let mut types = Types::new();
    for schema in schemas.into_iter().flat_map(|schema| branches(root, schema)) {
        let listed = schema.get("type").and_then(Value::as_array).into_iter().flatten();
        types.extend(schema.get("type").into_iter().chain(listed).filter_map(Value::as_str).map(str::to_owned));
        if !says_type(schema) {
            types.insert("string".to_owned());
        }
        if schema.get("type").is_none() {
            let choices = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
            types.extend(choices.chain(schema.get("const")).map(|choice| type_of(choice).to_owned()));
        }
    }
    types
}

fn is_of(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
        Some(one) => one == kind,
        None => false,
    }
}

/// Returns whether a schema restricts the type, itself or through another schema.
fn says_type(schema: &Value) -> bool {
    ["type", "enum", "const", "$ref", "allOf", "anyOf", "oneOf"].iter().any(|keyword| schema.get(keyword).is_some())
}

pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(all(test, feature = "schema-validation"))]
mod tests {
    use super::*;
    use serde_json::json;

    fn given<'a>(names: &[&'a str]) -> Vec<TextMember<'a>> {
        names.iter().map(|name| TextMember { name: name.trim_end_matches('*'), is_list: name.ends_with('*') }).collect()
    }

    fn reader(member: Value) -> TextReader {
        let choice = json!({"oneOf": [{"const": "left", "description": "Not right"}, {"enum": ["up", "down"]}]});
        let schema = json!({"type": "object", "properties": {"it": member}, "$defs": {"choice": choice}});
        TextReader::compile(schema, &given(&["it"])).unwrap()
    }

    #[test]
    fn prm_05_strings_become_the_types_of_their_members() {
        let optional = json!({"type": ["integer", "null"]});
        let choice = json!({"description": "Where to", "$ref": "#/$defs/choice"});
        for (member, text, value) in [
            (json!({"type": "integer"}), "20", json!(20)),
            (json!({"type": "integer"}), " -20\n", json!(-20)),
            (json!({"type": "integer"}), "1e3", json!(1000)),
            (json!({"type": "integer"}), "18446744073709551615", json!(u64::MAX)),
            (json!({"type": "number"}), "2.5", json!(2.5)),
            (json!({"type": "number"}), "2", json!(2)),
            (json!({"type": "boolean"}), "True", json!(true)),
            (json!({"type": "boolean"}), "false", json!(false)),
            (json!({"type": "string"}), "20", json!("20")),
            (json!({}), "20", json!("20")),
            (json!(true), "true", json!("true")),
            (optional.clone(), "3", json!(3)),
            (json!({"anyOf": [{"$ref": "#/$defs/choice"}, {"type": "null"}]}), "left", json!("left")),
            (choice.clone(), "down", json!("down")),
            (json!({"enum": [1, 2, "all"]}), "2", json!(2)),
            (json!({"enum": [1, 2, "all"]}), "all", json!("all")),
            (json!({"type": ["integer", "string"]}), "7", json!(7)),
            (json!({"type": ["array", "string"]}), "[7]", json!("[7]")),
        ] {
            let read = reader(member.clone()).read([("it".to_owned(), json!(text))].into_iter().collect());
            assert_eq!(read.unwrap(), json!({"it": value}), "{member}");
        }
        for (member, text, problem) in [
            (json!({"type": "integer"}), "twenty", r#"/it: "twenty" is not of type "integer""#),
            (json!({"type": "integer"}), "2.5", r#"/it: "2.5" is not of type "integer""#),
            (json!({"type": "integer"}), "", r#"/it: "" is not of type "integer""#),
            (json!({"type": "integer", "maximum": 7}), "8", "/it: 8 is greater than the maximum of 7"),
            (json!({"type": "boolean"}), "yes", r#"/it: "yes" is not of type "boolean""#),
            (optional, "x", r#"/it: "x" is not of types "null", "integer""#),
        ] {
            let read = reader(member).read([("it".to_owned(), json!(text))].into_iter().collect());
            assert_eq!(read.unwrap_err().to_string(), problem);
        }
        let left = reader(choice).read([("it".to_owned(), json!("west"))].into_iter().collect()).unwrap_err();
        assert!(left.to_string().starts_with("/it: "), "{left}");
    }

    #[test]
    fn lists_of_strings_become_lists_of_their_items() {
        let schema = json!({"properties": {"ids": {"type": "array", "items": {"type": "integer"}}, "rest": true}});
        let reader = TextReader::compile(schema, &given(&["ids*", "rest*", "more"])).unwrap();
        let texts = json!({"ids": ["1", "2"], "rest": ["1"], "more": "1"});
        let read = reader.read(texts.as_object().unwrap().clone()).unwrap();
        assert_eq!(read, json!({"ids": [1, 2], "rest": ["1"], "more": "1"}));
    }

    #[test]
    fn members_that_strings_cannot_become_are_refused() {
        let nested = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
        let schema = json!({
            "properties": {"nested": {"$ref": "#/$defs/nested"}, "list": {"type": "array"}, "n": {"type": "integer"}},
            "required": ["n"],
            "$defs": {"nested": nested},
        });
        for (names, problem) in [
            (&["n", "nested"][..], "nested in the handler's arguments is of type object, but given as a string"),
            (&["n", "list"], "list in the handler's arguments is of type array, but given as a string"),
            (&["n*"], "n in the handler's arguments is of type integer, but given as a list of strings"),
            (&["m"], "n in the handler's arguments is required, but never given"),
        ] {
            assert_eq!(TextReader::compile(schema.clone(), &given(names)).unwrap_err(), problem);
        }
        assert!(TextReader::compile(schema, &given(&["n", "list*"])).is_ok());
        let root = TextReader::compile(json!({"type": "string"}), &[]).unwrap_err();
        assert_eq!(root, r#"the handler's arguments are of type "string", but given as an object"#);
    }

    #[test]
    fn the_members_of_a_union_are_those_of_its_variants() {
        let variant = |kind: &str, member: &str| {
            json!({
                "type": "object",
                "properties": {"kind": {"const": kind}, member: {"type": "number"}},
                "required": ["kind", member],
            })
        };
        let schema =
            json!({"oneOf": [variant("circle", "r"), {"$ref": "#/$defs/s"}], "$defs": {"s": variant("square", "a")}});
        let found = members(&schema);
        let found: Vec<_> = found.iter().map(|member| (member.name, member.is_required)).collect();
        assert_eq!(found, [("kind", true), ("r", false), ("a", false)]);
        assert!(is_union_of_objects(&schema));
        assert!(!is_union_of_objects(&json!({"anyOf": [{"type": "object"}, {"type": "string"}]})));
        assert!(!is_union_of_objects(&json!({"anyOf": []})));
        let reader = TextReader::compile(schema, &given(&["kind", "r", "a"])).unwrap();
        let read = |texts: Value| reader.read(texts.as_object().unwrap().clone());
        assert_eq!(read(json!({"kind": "circle", "r": "2"})).unwrap(), json!({"kind": "circle", "r": 2}));
        assert!(read(json!({"kind": "circle", "a": "2"})).is_err());
        let endless = json!({"anyOf": [{"$ref": "#"}], "properties": {"a": {"$ref": "#/properties/a"}}});
        assert_eq!(members(&endless).len(), 1);
    }
}
