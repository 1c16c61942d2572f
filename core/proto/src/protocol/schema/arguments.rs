//! Arguments of a tool as people write them: read by its input schema, and described for them.

use super::{
    Schema,
    coercion::{Types, branches, convert, members, types},
};
use crate::protocol::known_names::nearest;
use serde_json::{Map, Value};
use std::fmt;

/// More choices of a value are not listed.
const MAX_CHOICES: usize = 8;

/// An argument as a person writes it, such as `city=Oslo`.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenArgument {
    /// Its name; `place.city` is the member `city` of the argument `place`.
    pub name: String,
    /// Its value.
    pub value: WrittenValue,
}

/// The value of a written argument.
#[derive(Debug, Clone, PartialEq)]
pub enum WrittenValue {
    /// A string, which becomes what the schema allows.
    Text(String),
    /// JSON, taken as it is.
    Json(Value),
}

/// An argument of a tool, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentDescription {
    /// Its name.
    pub name: String,
    /// Its type, such as `string`, `integer[]` or `"C" | "F"`.
    pub kind: String,
    /// Its description, if it has one.
    pub description: Option<String>,
    /// `true` if each call needs it.
    pub is_required: bool,
}

/// Why arguments do not match the input schema of their tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongArguments {
    problems: Vec<String>,
}

impl WrongArguments {
    /// The problems; never empty.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl fmt::Display for WrongArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("; "))
    }
}

impl std::error::Error for WrongArguments {}

/// Describes the arguments of a tool by its input schema, in its order.
///
/// ```
/// use serde_json::json;
/// use trunkline_proto::protocol::schema::describe_arguments;
///
/// let schema = json!({"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]});
/// let written: Vec<_> = describe_arguments(&schema).iter().map(|a| format!("{}: {}", a.name, a.kind)).collect();
/// assert_eq!(written, ["city: string", "days: integer"]);
/// ```
pub fn describe_arguments(schema: &Value) -> Vec<ArgumentDescription> {
    let members = members(schema).into_iter();
    let described = members.map(|member| ArgumentDescription {
        name: member.name.to_owned(),
        kind: kind(schema, &member.schemas),
        description: described(schema, &member.schemas),
        is_required: member.is_required,
    });
    described.collect()
}

/// Reads arguments as people write them. Strings become the narrowest type that the schema of their
/// argument allows; an argument that is given again is a list. The result is not validated
/// ([`check_arguments`]).
///
/// ```
/// use serde_json::json;
/// use trunkline_proto::protocol::schema::{WrittenArgument, WrittenValue, read_arguments};
///
/// let schema = json!({"properties": {"days": {"type": "integer"}, "tags": {"type": "array"}}});
/// let written = [("days", "3"), ("tags", "a"), ("tags", "b")];
/// let written = written.map(|(name, text)| WrittenArgument {
///     name: name.to_owned(),
///     value: WrittenValue::Text(text.to_owned()),
/// });
/// let read = read_arguments(&schema, &written)?;
/// assert_eq!(serde_json::Value::from(read), json!({"days": 3, "tags": ["a", "b"]}));
/// # Ok::<(), trunkline_proto::protocol::schema::WrongArguments>(())
/// ```
///
/// # Errors
///
/// If a string cannot become what the schema of its argument allows, or a name is unknown.
pub fn read_arguments(schema: &Value, written: &[WrittenArgument]) -> Result<Map<String, Value>, WrongArguments> {
    let (mut read, mut problems) = (Map::new(), Vec::new());
    for argument in written {
        let placed = Place::find(schema, argument).and_then(|place| place.put(&mut read, argument));
        problems.extend(placed.err());
    }
    if problems.is_empty() { Ok(read) } else { Err(WrongArguments { problems }) }
}

/// Validates arguments against the input schema of a tool that a peer sent. A schema that cannot be
/// compiled checks nothing: the server has the last word.
///
/// # Errors
///
/// If they do not match. Missing arguments are all named, with their descriptions.
pub fn check_arguments(schema: &Value, arguments: &Map<String, Value>) -> Result<(), WrongArguments> {
    let lacking = |argument: &ArgumentDescription| argument.is_required && !arguments.contains_key(&argument.name);
    let missing = describe_arguments(schema).into_iter().filter(lacking).map(|argument| {
        let description = argument.description.map_or_else(String::new, |description| format!(": {description}"));
        format!("{} ({}) is missing{description}", argument.name, argument.kind)
    });
    let problems: Vec<String> = missing.collect();
    if !problems.is_empty() {
        return Err(WrongArguments { problems });
    }
    let Ok(compiled) = Schema::compile_of_peer(schema) else { return Ok(()) };
    let Err(invalid) = compiled.validate(&Value::Object(arguments.clone())) else { return Ok(()) };
    let named = invalid.failures().iter().map(|failure| match failure.path.strip_prefix('/') {
        Some(path) => format!("{}: {}", path.replace('/', ".").replace("~1", "/").replace("~0", "~"), failure.text),
        None => failure.text.clone(),
    });
    Err(WrongArguments { problems: named.collect() })
}

/// The place of an argument: its path, and the schemas of the value there.
struct Place<'a> {
    path: Vec<&'a str>,
    root: &'a Value,
    schemas: Vec<&'a Value>,
}

impl<'a> Place<'a> {
    /// Follows the longest names that the schema has; a name with a dot may be one of them.
    fn find(root: &'a Value, argument: &'a WrittenArgument) -> Result<Self, String> {
        let name = argument.name.as_str();
        let (mut path, mut schemas, mut rest) = (Vec::new(), vec![root], name);
        loop {
            let whole = properties_named(root, &schemas, rest);
            let nested = rest.match_indices('.').find_map(|(dot, _)| {
                let inner = properties_named(root, &schemas, &rest[..dot]);
                (!inner.is_empty() && dot > 0).then_some((dot, inner))
            });
            match nested {
                Some((dot, inner)) if whole.is_empty() => {
                    path.push(&rest[..dot]);
                    (schemas, rest) = (inner, &rest[dot + 1..]);
                }
                _ => {
                    if whole.is_empty() {
                        check_unknown(root, &schemas, argument)?;
                    }
                    path.push(rest);
                    let schemas = if whole.is_empty() { others(root, &schemas) } else { whole };
                    return Ok(Self { path, root, schemas });
                }
            }
        }
    }

    /// Puts the value of an argument there.
    fn put(&self, read: &mut Map<String, Value>, argument: &WrittenArgument) -> Result<(), String> {
        let name = &argument.name;
        let (last, parents) = self.path.split_last().ok_or("an argument needs a name")?;
        let types = types(self.root, self.schemas.iter().copied());
        let takes_list = types.contains("array");
        let value = match &argument.value {
            WrittenValue::Json(value) => value.clone(),
            WrittenValue::Text(text) => self.value_of(text, &types).map_err(|problem| format!("{name} {problem}"))?,
        };
        let mut at = read;
        for parent in parents {
            let inner = at.entry((*parent).to_owned()).or_insert_with(|| Value::Object(Map::new()));
            at = inner.as_object_mut().ok_or_else(|| format!("{name}: {parent} is already given as a whole"))?;
        }
        match at.get_mut(*last) {
            None => drop(at.insert((*last).to_owned(), value)),
            Some(Value::Array(items)) if takes_list => match value {
                Value::Array(more) if matches!(argument.value, WrittenValue::Text(_)) => items.extend(more),
                item => items.push(item),
            },
            Some(_) => return Err(format!("{name} is given twice, and is not a list")),
        }
        Ok(())
    }

    /// Reads a string: as an item of a list, or as the narrowest type that is allowed.
    fn value_of(&self, text: &str, types: &Types) -> Result<Value, String> {
        let scalar = ["string", "number", "integer", "boolean", "null"].iter().any(|scalar| types.contains(*scalar));
        let json = || serde_json::from_str::<Value>(text).ok();
        if types.contains("array") && !scalar {
            let items = item_schemas(self.root, &self.schemas);
            let types = super::coercion::types(self.root, items.iter().copied());
            let whole = json().filter(|value| value.is_array() && !types.contains("string"));
            return whole.map_or_else(|| Ok(Value::Array(vec![converted(text, &types)?])), Ok);
        }
        if types.contains("object") && !scalar {
            let whole = json().filter(Value::is_object);
            return whole.ok_or_else(|| "must be an object: give its members, or JSON".to_owned());
        }
        converted(text, types)
    }
}

/// The value of a string, if one of the types can have it.
fn converted(text: &str, types: &Types) -> Result<Value, String> {
    let mut value = Value::String(text.to_owned());
    if text == "null" && types.contains("null") && !types.contains("string") {
        return Ok(Value::Null);
    }
    convert(&mut value, types);
    let is_wanted = !value.is_string() || types.is_empty() || types.contains("string");
    let wanted = || types.iter().map(|name| with_article(name)).collect::<Vec<_>>().join(" or ");
    if is_wanted { Ok(value) } else { Err(format!("must be {}, got {value}", wanted())) }
}

fn with_article(name: &str) -> String {
    match name {
        "null" => name.to_owned(),
        _ if name.starts_with(['a', 'i', 'o']) => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

/// Refuses an unknown name where the schema lists the names and says nothing of others: many
/// servers ignore it, and the call does something else than was meant.
fn check_unknown(root: &Value, schemas: &[&Value], argument: &WrittenArgument) -> Result<(), String> {
    let all: Vec<_> = schemas.iter().flat_map(|schema| branches(root, schema)).collect();
    let has = |keyword: &str| all.iter().any(|schema| schema.get(keyword).is_some());
    let is_open = all.iter().any(|schema| schema.get("additionalProperties").is_some_and(|others| *others != false));
    if is_open || has("patternProperties") || (!has("properties") && !has("additionalProperties")) {
        return Ok(());
    }
    let names: Vec<&str> = all
        .iter()
        .filter_map(|schema| schema.get("properties")?.as_object())
        .flat_map(Map::keys)
        .map(String::as_str)
        .collect();
    let name = &argument.name;
    Err(match nearest(name, names.iter().copied()) {
        Some(meant) => format!("{name} is unknown: did you mean {meant}?"),
        None if names.is_empty() => format!("{name} is unknown: there are no arguments"),
        None => format!("{name} is unknown: the arguments are {}", names.join(", ")),
    })
}

/// The schemas of a property.
fn properties_named<'s>(root: &'s Value, schemas: &[&'s Value], name: &str) -> Vec<&'s Value> {
    let all = schemas.iter().flat_map(|schema| branches(root, schema));
    all.filter_map(|schema| schema.get("properties")?.get(name)).collect()
}

/// The schemas of properties that have none of their own.
fn others<'s>(root: &'s Value, schemas: &[&'s Value]) -> Vec<&'s Value> {
    let all = schemas.iter().flat_map(|schema| branches(root, schema));
    all.filter_map(|schema| schema.get("additionalProperties")).collect()
}

/// The schemas of the items of a list.
fn item_schemas<'s>(root: &'s Value, schemas: &[&'s Value]) -> Vec<&'s Value> {
    let all = schemas.iter().flat_map(|schema| branches(root, schema));
    all.filter_map(|schema| schema.get("items")).collect()
}

fn described(root: &Value, schemas: &[&Value]) -> Option<String> {
    let all = schemas.iter().flat_map(|schema| branches(root, schema));
    let mut found = all.filter_map(|schema| schema.get("description")?.as_str());
    found.next().map(str::to_owned)
}

/// The type of a value, for people.
fn kind(root: &Value, schemas: &[&Value]) -> String {
    let all: Vec<&Value> = schemas.iter().flat_map(|schema| branches(root, schema)).collect();
    let listed = all.iter().filter_map(|schema| schema.get("enum")?.as_array()).flatten();
    let choices: Vec<String> =
        listed.chain(all.iter().filter_map(|schema| schema.get("const"))).map(Value::to_string).collect();
    if !choices.is_empty() {
        let more = if choices.len() > MAX_CHOICES { " | …" } else { "" };
        return choices[..choices.len().min(MAX_CHOICES)].join(" | ") + more;
    }
    let named = all.iter().filter_map(|schema| schema.get("type"));
    let mut kinds: Vec<String> = Vec::new();
    for name in named.flat_map(|names| names.as_array().map_or_else(|| vec![names], |names| names.iter().collect())) {
        let kind = match name.as_str().unwrap_or_default() {
            "array" => match item_schemas(root, schemas) {
                items if items.is_empty() => "array".to_owned(),
                items => item_kind(root, &items),
            },
            name => name.to_owned(),
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    if kinds.is_empty() { "any".to_owned() } else { kinds.join(" | ") }
}

/// The type of a list. Lists of lists are not followed: a schema may contain itself.
fn item_kind(root: &Value, items: &[&Value]) -> String {
    let named = items.iter().flat_map(|schema| branches(root, schema)).filter_map(|schema| schema.get("type"));
    let mut kinds: Vec<&str> = named.filter_map(Value::as_str).collect();
    kinds.dedup();
    match kinds[..] {
        [kind] => format!("{kind}[]"),
        _ => "array".to_owned(),
    }
}

#[cfg(all(test, feature = "schema-validation"))]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Where"},
                "days": {"type": "integer", "maximum": 7},
                "exact": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "ids": {"type": "array", "items": {"$ref": "#/$defs/id"}},
                "maybe": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                "unit": {"enum": ["C", "F"]},
                "place": {"type": "object", "properties": {"lat": {"type": "number"}, "a.b": {"type": "integer"}}},
                "one.two": {"type": "integer"},
                "free": {},
                "map": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
            "required": ["city"],
            "$defs": {"id": {"type": "integer"}},
        })
    }

    fn text(words: &[&str]) -> Vec<WrittenArgument> {
        let split = words.iter().map(|word| word.split_once('=').unwrap());
        let written = split.map(|(name, text)| match name.strip_suffix(':') {
            Some(name) => (name, WrittenValue::Json(serde_json::from_str(text).unwrap())),
            None => (name, WrittenValue::Text(text.to_owned())),
        });
        written.map(|(name, value)| WrittenArgument { name: name.to_owned(), value }).collect()
    }

    #[test]
    fn strings_become_what_the_schema_of_their_argument_allows() {
        for (words, read) in [
            (&["city=12"][..], json!({"city": "12"})),
            (&["days=3", "exact=True"], json!({"days": 3, "exact": true})),
            (&["tags=a"], json!({"tags": ["a"]})),
            (&["tags=a", "tags=b,c"], json!({"tags": ["a", "b,c"]})),
            (&["tags=[1]"], json!({"tags": ["[1]"]})),
            (&["ids=1", "ids=2"], json!({"ids": [1, 2]})),
            (&["ids=[1,2]", "ids=3"], json!({"ids": [1, 2, 3]})),
            (&["maybe=null"], json!({"maybe": null})),
            (&["maybe=1.5"], json!({"maybe": 1.5})),
            (&["unit=C"], json!({"unit": "C"})),
            (&["place.lat=59.9", "place.a.b=2"], json!({"place": {"lat": 59.9, "a.b": 2}})),
            (&["place={\"lat\":1}"], json!({"place": {"lat": 1}})),
            (&["one.two=2"], json!({"one.two": 2})),
            (&["free=1"], json!({"free": "1"})),
            (&["free:=[1]"], json!({"free": [1]})),
            (&["map.x=4"], json!({"map": {"x": 4}})),
        ] {
            assert_eq!(read_arguments(&schema(), &text(words)).map(Value::from), Ok(read), "{words:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (words, problem) in [
            (&["days=x"][..], r#"days must be an integer, got "x""#),
            (&["days=1.5"], r#"days must be an integer, got "1.5""#),
            (&["exact=yes"], r#"exact must be a boolean, got "yes""#),
            (&["maybe=x"], r#"maybe must be null or a number, got "x""#),
            (&["ids=x"], r#"ids must be an integer, got "x""#),
            (&["place=Oslo"], "place must be an object: give its members, or JSON"),
            (&["citty=Oslo"], "citty is unknown: did you mean city?"),
            (&["place.log=1"], "place.log is unknown: the arguments are lat, a.b"),
            (&["city=a", "city=b"], "city is given twice, and is not a list"),
            (&["place:=1", "place.lat=1"], "place.lat: place is already given as a whole"),
            (&["days=x", "exact=y"], r#"days must be an integer, got "x"; exact must be a boolean, got "y""#),
        ] {
            let read = read_arguments(&schema(), &text(words)).unwrap_err().to_string();
            assert_eq!(read, problem, "{words:?}");
        }
        let none = read_arguments(&json!({"properties": {}}), &text(&["a=1"])).unwrap_err().to_string();
        assert_eq!(none, "a is unknown: there are no arguments");
        for open in [json!({}), json!({"additionalProperties": true}), json!({"patternProperties": {"a": {}}})] {
            assert_eq!(read_arguments(&open, &text(&["a=1"])).map(Value::from), Ok(json!({"a": "1"})), "{open}");
        }
    }

    #[test]
    fn arguments_are_validated_and_missing_ones_are_all_named() {
        let check =
            |value: Value| check_arguments(&schema(), value.as_object().unwrap()).map_err(|wrong| wrong.to_string());
        assert_eq!(check(json!({"city": "Oslo", "days": 7})), Ok(()));
        assert_eq!(check(json!({"days": 7})).unwrap_err(), "city (string) is missing: Where");
        assert_eq!(check(json!({"city": "x", "days": 8})).unwrap_err(), "days: 8 is greater than the maximum of 7");
        let nested = check(json!({"city": "x", "place": {"lat": "x"}})).unwrap_err();
        assert_eq!(nested, r#"place.lat: "x" is not of type "number""#);
        let both = json!({"properties": {"a": {}, "b": {"type": "string"}}, "required": ["a", "b"]});
        let missing = check_arguments(&both, &Map::new()).unwrap_err();
        assert_eq!(missing.problems(), ["a (any) is missing", "b (string) is missing"]);
        let broken = json!({"type": "strng"});
        assert_eq!(check_arguments(&broken, &Map::new()), Ok(()), "the server has the last word");
    }

    #[test]
    fn arguments_are_described_in_the_order_of_the_schema() {
        let described = describe_arguments(&schema());
        let kinds: Vec<_> = described.iter().map(|argument| format!("{}: {}", argument.name, argument.kind)).collect();
        assert_eq!(
            kinds,
            [
                "city: string",
                "days: integer",
                "exact: boolean",
                "tags: string[]",
                "ids: integer[]",
                "maybe: number | null",
                "unit: \"C\" | \"F\"",
                "place: object",
                "one.two: integer",
                "free: any",
                "map: object",
            ]
        );
        assert!(described[0].is_required && !described[1].is_required);
        assert_eq!(described[0].description.as_deref(), Some("Where"));
        let many = json!({"properties": {"n": {"enum": [1, 2, 3, 4, 5, 6, 7, 8, 9]}}});
        assert_eq!(describe_arguments(&many)[0].kind, "1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | …");
        let cyclic = json!({"properties": {"t": {"type": "array", "items": {"$ref": "#/properties/t"}}}});
        assert_eq!(describe_arguments(&cyclic)[0].kind, "array[]");
    }
}
