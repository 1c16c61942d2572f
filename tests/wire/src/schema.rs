//! A revision's schema as a graph of nodes, each with the data that the walk needs and a validator
//! compiled on demand.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use jsonschema::{Draft, Registry, Validator};
use serde_json::{Map, Value, json};

use crate::Revision;
use crate::extension::Extensions;

/// A bundled schema that cannot be used. It means that the copy in `schemas/` is broken.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The file is not JSON.
    #[error("schemas/{revision}.json is not JSON: {source}")]
    Json {
        /// The revision whose file it is.
        revision: Revision,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// The file lacks something that the checker relies on.
    #[error("schemas/{revision}.json: {problem}")]
    Unusable {
        /// The revision whose file it is.
        revision: Revision,
        /// The fault.
        problem: String,
    },
    /// The schema of an extension cannot be merged with that of the revision.
    #[error("schemas/extensions, {id}: {problem}")]
    Extension {
        /// The extension.
        id: &'static str,
        /// The fault.
        problem: String,
    },
}

/// Index of a node in its [`Schema`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(usize);

/// One subschema.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// The definition's name, or for an inner node the path from it: `Tool`, `Tool.annotations`.
    pub(crate) name: String,
    pub(crate) reference: Option<NodeId>,
    pub(crate) all_of: Vec<NodeId>,
    /// The branches of `anyOf` or `oneOf`.
    pub(crate) union: Vec<NodeId>,
    /// `None` if the keyword is absent: an object without constraints, as opposed to one without
    /// fields.
    pub(crate) properties: Option<BTreeMap<String, NodeId>>,
    /// The schema of values under undeclared keys (`additionalProperties`); `true` and `{}` become
    /// an empty node.
    pub(crate) values: Option<NodeId>,
    pub(crate) items: Option<NodeId>,
    pub(crate) constant: Option<Value>,
    pub(crate) types: Vec<String>,
    source: Value,
    validator: OnceLock<Validator>,
}

/// All nodes of one revision's schema, with those of extensions.
pub(crate) struct Schema {
    nodes: Vec<Node>,
    names: HashMap<String, NodeId>,
    draft: Draft,
    registry: Registry<'static>,
}

impl Schema {
    pub(crate) fn load(revision: Revision, extensions: &Extensions) -> Result<Self, SchemaError> {
        let unusable = |problem: String| SchemaError::Unusable { revision, problem };
        let mut document: Value =
            serde_json::from_str(revision.schema_text()).map_err(|source| SchemaError::Json { revision, source })?;
        let (keyword, draft) = match document.get("$defs") {
            Some(_) => ("$defs", Draft::Draft202012),
            None => ("definitions", Draft::Draft7),
        };
        for extension in extensions {
            extension.extend(&mut document[keyword])?;
        }
        // With absolute references, every node can be compiled separately from its document.
        let uri = format!("https://schema.invalid/{revision}.json");
        make_references_absolute(&mut document, &uri);
        let Some(Value::Object(definitions)) = document.get_mut(keyword) else {
            return Err(unusable(format!("has no \"{keyword}\"")));
        };
        correct(definitions);

        let mut builder = Builder::default();
        for (name, source) in definitions.iter() {
            let node = builder.add(name.clone(), source);
            builder.names.insert(name.clone(), node);
        }
        builder.resolve().map_err(unusable)?;
        let registry = Registry::new()
            .draft(draft)
            .add(&uri, document)
            .and_then(|registry| registry.prepare())
            .map_err(|error| unusable(error.to_string()))?;
        Ok(Self { nodes: builder.nodes, names: builder.names, draft, registry })
    }

    /// The node, with references followed.
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[self.follow(id).0]
    }

    /// The node at the end of a chain of references.
    pub(crate) fn follow(&self, mut id: NodeId) -> NodeId {
        while let Some(target) = self.nodes[id.0].reference {
            id = target;
        }
        id
    }

    pub(crate) fn definition(&self, name: &str) -> Option<NodeId> {
        self.names.get(name).copied()
    }

    pub(crate) fn definitions(&self) -> impl Iterator<Item = NodeId> {
        self.names.values().copied()
    }

    /// The declared property of a node without unions, looked up through `allOf`.
    pub(crate) fn property(&self, id: NodeId, name: &str) -> Option<NodeId> {
        let node = self.node(id);
        let own = node.properties.as_ref().and_then(|properties| properties.get(name)).copied();
        own.or_else(|| node.all_of.iter().find_map(|part| self.property(*part, name)))
    }

    /// The constant value of a property, looked up through `allOf`.
    pub(crate) fn constant(&self, id: NodeId, name: &str) -> Option<&Value> {
        let node = self.node(id);
        let own = node.properties.as_ref().and_then(|properties| properties.get(name));
        own.and_then(|property| self.node(*property).constant.as_ref())
            .or_else(|| node.all_of.iter().find_map(|part| self.constant(*part, name)))
    }

    /// The node itself, or its members if it is a union.
    pub(crate) fn members(&self, id: NodeId) -> Vec<NodeId> {
        let node = self.node(id);
        if node.union.is_empty() {
            return vec![self.follow(id)];
        }
        node.union.iter().flat_map(|branch| self.members(*branch)).collect()
    }

    /// The validator of a node.
    pub(crate) fn validator(&self, id: NodeId) -> Result<&Validator, String> {
        let id = self.follow(id);
        match self.nodes[id.0].validator.get() {
            Some(validator) => Ok(validator),
            None => self.compile(id),
        }
    }

    fn compile(&self, id: NodeId) -> Result<&Validator, String> {
        let node = &self.nodes[id.0];
        let validator = jsonschema::options()
            .with_draft(self.draft)
            .with_registry(&self.registry)
            .should_validate_formats(true)
            .build(&node.source)
            .map_err(|error| format!("{} does not compile: {error}", node.name))?;
        Ok(node.validator.get_or_init(|| validator))
    }
}

fn make_references_absolute(value: &mut Value, uri: &str) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                match inner {
                    Value::String(target) if key == "$ref" && target.starts_with('#') => target.insert_str(0, uri),
                    _ => make_references_absolute(inner, uri),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| make_references_absolute(inner, uri)),
        _ => {}
    }
}

/// Corrects two mistakes of the generator of the published schemas: it renders TypeScript's
/// `number` as `integer` in unions, and loses `null` from "any JSON value". Both would reject
/// messages that the specification's types allow.
fn correct(definitions: &mut Map<String, Value>) {
    if let Some(any_value) = definitions.get_mut("JSONValue") {
        *any_value = json!({});
    }
    definitions.values_mut().for_each(widen_scalars);
}

fn widen_scalars(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.get("type") == Some(&json!(["string", "integer", "boolean"])) {
                map.insert("type".into(), json!(["string", "number", "boolean"]));
            }
            map.values_mut().for_each(widen_scalars);
        }
        Value::Array(list) => list.iter_mut().for_each(widen_scalars),
        _ => {}
    }
}

#[derive(Default)]
struct Builder {
    nodes: Vec<Node>,
    names: HashMap<String, NodeId>,
    references: Vec<(NodeId, String)>,
}

impl Builder {
    fn add(&mut self, name: String, source: &Value) -> NodeId {
        let id = NodeId(self.nodes.len());
        self.nodes.push(Node::default());
        if let Some(target) = source.get("$ref").and_then(Value::as_str) {
            let definition = target.rsplit('/').next().unwrap_or(target);
            self.references.push((id, definition.to_owned()));
        }
        let node = Node {
            all_of: self.add_list(&name, source.get("allOf")),
            union: self.add_list(&name, source.get("anyOf").or(source.get("oneOf"))),
            properties: source.get("properties").and_then(Value::as_object).map(|properties| {
                let add = |(key, inner): (&String, &Value)| (key.clone(), self.add(format!("{name}.{key}"), inner));
                properties.iter().map(add).collect()
            }),
            values: match source.get("additionalProperties") {
                None | Some(Value::Bool(false)) => None,
                Some(Value::Bool(true)) => Some(self.add(format!("{name}.*"), &json!({}))),
                Some(inner) => Some(self.add(format!("{name}.*"), inner)),
            },
            items: source.get("items").map(|inner| self.add(format!("{name}[]"), inner)),
            constant: source.get("const").cloned(),
            types: match source.get("type") {
                Some(Value::String(single)) => vec![single.clone()],
                Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                _ => Vec::new(),
            },
            source: source.clone(),
            name,
            ..Node::default()
        };
        self.nodes[id.0] = node;
        id
    }

    fn add_list(&mut self, name: &str, branches: Option<&Value>) -> Vec<NodeId> {
        let branches = branches.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        branches.iter().map(|branch| self.add(name.to_owned(), branch)).collect()
    }

    fn resolve(&mut self) -> Result<(), String> {
        for (id, definition) in &self.references {
            let target = self.names.get(definition).ok_or_else(|| format!("refers to unknown {definition}"))?;
            self.nodes[id.0].reference = Some(*target);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extension::Extension;

    #[test]
    fn every_subschema_of_every_revision_compiles() {
        for revision in Revision::ALL {
            let full = Extension::choices(revision).pop().unwrap();
            let schema = Schema::load(revision, &full).unwrap();
            assert!(schema.nodes.len() > 400, "{revision} has {} nodes only", schema.nodes.len());
            for index in 0..schema.nodes.len() {
                schema.validator(NodeId(index)).unwrap();
            }
        }
    }
}
