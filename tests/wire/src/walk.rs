//! Walks over a message and its type together to find the fields that the type does not define.

use std::fmt;

use jsonschema::error::ValidationErrorKind;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::catalog::Catalog;
use crate::schema::{Node, NodeId, Schema};

/// The kinds of impurity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ViolationKind {
    /// A field that the revision does not define here.
    UnknownField,
    /// A method that the revision does not define in this direction.
    UnknownMethod,
    /// A value that the schema of the message's type rejects.
    Schema,
    /// Not a message of this revision at all, such as a batch where none is allowed.
    NoMessage,
}

/// A fault of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The kind of impurity.
    pub kind: ViolationKind,
    /// Where in the message, as a JSON pointer; empty for the message itself.
    pub pointer: String,
    /// The fault there.
    pub problem: String,
    /// The type whose schema rejects the value, if found by its schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// True if it only reports that no branch of a union matches; dropped if a violation at or
    /// below its location says why.
    #[serde(skip)]
    unspecific: bool,
}

impl Violation {
    pub(crate) fn new(kind: ViolationKind, pointer: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { kind, pointer: pointer.into(), problem: problem.into(), type_name: None, unspecific: false }
    }

    /// The same violation in a message at `place` in a larger value.
    pub(crate) fn below(mut self, place: &str) -> Self {
        self.pointer.insert_str(0, place);
        self
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.pointer.is_empty() { "(message)" } else { &self.pointer };
        write!(f, "{pointer}: {}", self.problem)?;
        self.type_name.iter().try_for_each(|name| write!(f, " (as {name})"))
    }
}

/// Removes duplicates.
pub(crate) fn condense(violations: Vec<Violation>) -> Vec<Violation> {
    let is_explained = |vague: &Violation| {
        let is_below = |pointer: &str| {
            let rest = pointer.strip_prefix(vague.pointer.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        violations.iter().any(|violation| !violation.unspecific && is_below(&violation.pointer))
    };
    let mut kept: Vec<Violation> = Vec::new();
    for violation in &violations {
        let says_the_same = |other: &Violation| {
            (other.kind, &other.pointer, &other.problem) == (violation.kind, &violation.pointer, &violation.problem)
        };
        let is_needless = violation.unspecific && is_explained(violation);
        if !is_needless && !kept.iter().any(says_the_same) {
            kept.push(violation.clone());
        }
    }
    kept
}

/// Appends what the schema of `id` rejects in `value`, which is at `pointer` in the message.
pub(crate) fn validate(schema: &Schema, id: NodeId, value: &Value, pointer: &str, found: &mut Vec<Violation>) {
    let validator = match schema.validator(id) {
        Ok(validator) => validator,
        Err(problem) => return found.push(Violation::new(ViolationKind::Schema, pointer, problem)),
    };
    if validator.is_valid(value) {
        return;
    }
    for error in validator.iter_errors(value) {
        let kind = error.kind();
        let unspecific = matches!(kind, ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. });
        let place = format!("{pointer}{}", error.instance_path());
        let problem = excerpt(&error.to_string(), 300);
        let type_name = Some(schema.node(id).name.clone());
        found.push(Violation { type_name, unspecific, ..Violation::new(ViolationKind::Schema, place, problem) });
    }
}

/// The string, truncated to about this many bytes.
pub(crate) fn excerpt(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = (0..=limit).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &text[..end])
}

/// Appends every field of `value` that none of `types` defines. The value has all of these types at
/// once.
pub(crate) fn find_unknown_fields(
    catalog: &Catalog,
    value: &Value,
    types: &[NodeId],
    pointer: &str,
    found: &mut Vec<Violation>,
) {
    Walk { catalog, schema: &catalog.schema }.value(value, types, pointer, found);
}

/// Chooses the type that fits the value best, and appends the value's faults as that type.
pub(crate) fn check_as_one_of(
    catalog: &Catalog,
    value: &Value,
    types: &[NodeId],
    pointer: &str,
    found: &mut Vec<Violation>,
) {
    found.append(&mut Walk { catalog, schema: &catalog.schema }.one_of(value, types, &Flat::default(), pointer));
}

/// All types of a value, including the parts of `allOf`; of each union, one branch is still to be
/// chosen.
#[derive(Clone, Default)]
struct Flat {
    plain: Vec<NodeId>,
    unions: Vec<NodeId>,
}

struct Walk<'a> {
    catalog: &'a Catalog,
    schema: &'a Schema,
}

impl Walk<'_> {
    fn value(&self, value: &Value, types: &[NodeId], pointer: &str, found: &mut Vec<Violation>) {
        if !value.is_object() && !value.is_array() {
            return;
        }
        let mut flat = Flat::default();
        types.iter().for_each(|id| self.flatten(*id, &mut flat));
        self.flat(value, flat, pointer, found);
    }

    fn flat(&self, value: &Value, mut types: Flat, pointer: &str, found: &mut Vec<Violation>) {
        if let Some(union) = types.unions.pop() {
            return found.append(&mut self.one_of(value, &self.schema.node(union).union, &types, pointer));
        }
        match value {
            Value::Object(fields) => self.object(fields, &types.plain, pointer, found),
            Value::Array(elements) => {
                let items: Vec<NodeId> = types.plain.iter().filter_map(|id| self.schema.node(*id).items).collect();
                for (index, element) in elements.iter().enumerate() {
                    self.value(element, &items, &format!("{pointer}/{index}"), found);
                }
            }
            _ => {}
        }
    }

    fn flatten(&self, id: NodeId, flat: &mut Flat) {
        let node = self.schema.node(id);
        let kind = if node.union.is_empty() { &mut flat.plain } else { &mut flat.unions };
        kind.push(self.schema.follow(id));
        node.all_of.iter().for_each(|part| self.flatten(*part, flat));
    }

    /// The faults of the value as the branch that fits it best.
    fn one_of(&self, value: &Value, branches: &[NodeId], others: &Flat, pointer: &str) -> Vec<Violation> {
        let attempt = |branch: &NodeId| {
            let mut wrong = Vec::new();
            validate(self.schema, *branch, value, pointer, &mut wrong);
            let mut types = others.clone();
            self.flatten(*branch, &mut types);
            self.flat(value, types, pointer, &mut wrong);
            wrong
        };
        let possible = branches.iter().filter(|branch| self.is_possible(**branch, value));
        match possible.map(attempt).min_by_key(|wrong| misfit(wrong, pointer)) {
            Some(wrong) => wrong,
            None => {
                let mut names: Vec<&str> = Vec::new();
                let members = branches.iter().flat_map(|branch| self.schema.members(*branch));
                members.for_each(|member| names.push(&self.schema.node(member).name));
                names.dedup();
                let problem = format!(
                    "{} is not one of {} in {}",
                    excerpt(&value.to_string(), 200),
                    names.join(", "),
                    self.catalog.revision
                );
                vec![Violation::new(ViolationKind::Schema, pointer, problem)]
            }
        }
    }

    /// Returns whether the value's JSON type and its constant fields (such as `type`) match the
    /// branch.
    fn is_possible(&self, branch: NodeId, value: &Value) -> bool {
        let node = self.schema.node(branch);
        let contradicts = |(name, inner): (&String, &NodeId)| {
            let constant = self.schema.node(*inner).constant.as_ref();
            constant.is_some_and(|constant| value.get(name).is_some_and(|present| present != constant))
        };
        let of_type = node.types.is_empty() || node.types.iter().any(|name| is_of_type(value, name));
        of_type
            && !node.properties.iter().flatten().any(contradicts)
            && node.all_of.iter().all(|part| self.is_possible(*part, value))
            && (node.union.is_empty() || node.union.iter().any(|part| self.is_possible(*part, value)))
    }

    fn object(&self, fields: &Map<String, Value>, types: &[NodeId], pointer: &str, found: &mut Vec<Violation>) {
        let nodes: Vec<&Node> = types.iter().map(|id| self.schema.node(*id)).collect();
        let declares_fields = nodes.iter().any(|node| node.properties.iter().flatten().next().is_some());
        // `additionalProperties` next to fields is the index signature of an open-world type, not a
        // map: it allows nothing.
        let maps: Vec<NodeId> = nodes.iter().filter(|_| !declares_fields).filter_map(|node| node.values).collect();
        // An object without constraints is free; one declared without fields is not.
        let is_free = maps.is_empty() && nodes.iter().all(|node| node.properties.is_none());
        if is_free {
            return;
        }
        for (name, value) in fields {
            let declared: Vec<NodeId> =
                nodes.iter().filter_map(|node| node.properties.as_ref()?.get(name)).copied().collect();
            let place = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
            if !declared.is_empty() {
                match Freedom::of(name, &nodes) {
                    Freedom::None => self.value(value, &declared, &place, found),
                    Freedom::UndeclaredKeys => self.declared_keys(value, &declared, &place, found),
                    Freedom::Everything => {}
                }
            } else if !maps.is_empty() {
                self.value(value, &maps, &place, found);
            } else if !is_extension_offer(name, value, &nodes) {
                let definition = nodes.iter().find(|node| node.properties.is_some()).map_or("it", |node| &node.name);
                let problem = format!("\"{name}\" is not defined by {definition} in {}", self.catalog.revision);
                found.push(Violation::new(ViolationKind::UnknownField, place, problem));
            }
        }
    }

    /// Walks only into those fields that the types declare.
    fn declared_keys(&self, value: &Value, types: &[NodeId], pointer: &str, found: &mut Vec<Violation>) {
        let Value::Object(fields) = value else { return };
        for (name, value) in fields {
            let declared: Vec<NodeId> = types.iter().filter_map(|id| self.schema.property(*id, name)).collect();
            let place = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
            self.value(value, &declared, &place, found);
        }
    }
}

/// How badly a value at `pointer` fits a type: first the number of faults in its own fields, then
/// of all faults in them.
fn misfit(wrong: &[Violation], pointer: &str) -> (usize, usize) {
    let concerns_the_value_itself = |violation: &&Violation| match violation.kind {
        ViolationKind::UnknownField => violation.pointer.rsplit_once('/').is_some_and(|(parent, _)| parent == pointer),
        _ => violation.pointer == pointer,
    };
    (wrong.iter().filter(concerns_the_value_itself).count(), wrong.len())
}

/// Constraints on a declared field beyond its type.
enum Freedom {
    None,
    /// `_meta` is open: keys that the revision defines have their types, all others are free.
    UndeclaredKeys,
    /// A tool's JSON Schemas are free, though some revisions list a few keywords.
    Everything,
}

impl Freedom {
    fn of(field: &str, owners: &[&Node]) -> Self {
        let owned_by_tool = || owners.iter().any(|owner| owner.name == "Tool");
        match field {
            "_meta" => Self::UndeclaredKeys,
            "inputSchema" | "outputSchema" if owned_by_tool() => Self::Everything,
            _ => Self::None,
        }
    }
}

/// Extensions are also negotiated in `capabilities.extensions` on handshake revisions, although
/// their schemas lack the field.
fn is_extension_offer(field: &str, value: &Value, owners: &[&Node]) -> bool {
    let in_capabilities = owners.iter().any(|owner| owner.name.ends_with("Capabilities"));
    let is_map_of_settings = || value.as_object().is_some_and(|offers| offers.values().all(Value::is_object));
    field == "extensions" && in_capabilities && is_map_of_settings()
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => {
            name == "number" || name == "integer" && number.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}
