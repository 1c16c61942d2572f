//! The extensions whose messages the checker knows, and what each adds to the types of 2026-07-28.
//!
//! `schemas/extensions/tasks.json` is an unchanged copy of the schema of the tasks extension
//! (github.com/modelcontextprotocol/ext-tasks, schema/draft/schema.json). The skills extension
//! publishes none: `schemas/extensions/skills.json` is ours.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::{Record, Revision, SchemaError};

/// The client capability of the tasks of 2025-11-25.
const OLDER_TASKS: &str = "tasks";

/// An extension with its own messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Extension {
    Tasks,
    Skills,
}

/// The negotiated extensions of a message.
pub(crate) type Extensions = BTreeSet<Extension>;

impl Extension {
    pub(crate) const ALL: [Self; 2] = [Self::Tasks, Self::Skills];

    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Tasks => "io.modelcontextprotocol/tasks",
            Self::Skills => "io.modelcontextprotocol/skills",
        }
    }

    /// Every combination that is possible in the revision.
    pub(crate) fn choices(revision: Revision) -> Vec<Extensions> {
        if revision.is_legacy() {
            return vec![Extensions::new()];
        }
        let without: Vec<Extensions> = vec![Extensions::new()];
        Self::ALL.into_iter().fold(without, |mut choices, extension| {
            let with = choices.clone().into_iter().map(|mut choice| {
                choice.insert(extension);
                choice
            });
            choices.extend(with.collect::<Vec<_>>());
            choices
        })
    }

    /// The extensions that apply to a message; all of them if unknown.
    pub(crate) fn of(record: &Record) -> Extensions {
        if record.revision.is_legacy() {
            return Extensions::new();
        }
        let capabilities = record.message.pointer("/params/_meta/io.modelcontextprotocol~1clientCapabilities");
        let declared: Vec<&str> = match (capabilities, &record.extensions) {
            (Some(capabilities), _) => {
                let offers = capabilities.get("extensions").and_then(Value::as_object);
                let older = capabilities.get(OLDER_TASKS).map(|_| OLDER_TASKS);
                offers.into_iter().flat_map(Map::keys).map(String::as_str).chain(older).collect()
            }
            (None, Some(ids)) => ids.iter().map(String::as_str).collect(),
            (None, None) => return Self::ALL.into(),
        };
        let method = record.message.get("method").and_then(Value::as_str).or(record.method.as_deref());
        let governs = |extension: &Self| match extension {
            // Only servers declare skills; clients have no capability for them.
            Self::Skills => true,
            // A client that declares the older form may still request tasks of that form.
            Self::Tasks if declared.contains(&OLDER_TASKS) && matches!(method, Some("tasks/get" | "tasks/cancel")) => {
                true
            }
            Self::Tasks => declared.contains(&Self::Tasks.id()),
        };
        Self::ALL.into_iter().filter(governs).collect()
    }

    /// Returns whether only the name of an extension is known. Official extensions that are not
    /// listed here have no messages.
    pub(crate) fn is_foreign(id: &str) -> bool {
        id.contains('/') && !id.starts_with("io.modelcontextprotocol/")
    }

    /// Adds the types of the extension to the definitions of the revision.
    pub(crate) fn extend(self, definitions: &mut Value) -> Result<(), SchemaError> {
        let unusable = |problem: String| SchemaError::Extension { id: self.id(), problem };
        let mut schema: Value =
            serde_json::from_str(self.schema_text()).map_err(|error| unusable(format!("is not JSON: {error}")))?;
        let (Value::Object(own), Some(all)) = (schema["$defs"].take(), definitions.as_object_mut()) else {
            return Err(unusable("has no \"$defs\"".into()));
        };
        for (name, mut definition) in own {
            complete(&name, &mut definition);
            // Definitions repeated by the extension are the same as in the revision.
            all.entry(name).or_insert(definition);
        }
        for (place, name) in self.additions() {
            let Some(fields) = all.get(*name).map(|definition| definition["properties"].clone()) else {
                return Err(unusable(format!("defines no {name}")));
            };
            let (definition, rest) = place.split_once('/').unwrap_or((place, ""));
            let target = all.get_mut(definition).and_then(|definition| definition.pointer_mut(&format!("/{rest}")));
            match (target, fields) {
                (Some(Value::Array(branches)), _) => branches.push(json!({"$ref": format!("#/$defs/{name}")})),
                (Some(Value::Object(known)), Value::Object(fields)) => known.extend(fields),
                _ => return Err(unusable(format!("the revision has no {place} to add {name} to"))),
            }
        }
        Ok(())
    }

    fn schema_text(self) -> &'static str {
        match self {
            Self::Tasks => include_str!("../schemas/extensions/tasks.json"),
            Self::Skills => include_str!("../schemas/extensions/skills.json"),
        }
    }

    /// The branches added to unions of the revision, and the fields added to definitions.
    fn additions(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Tasks => &[
                ("ClientRequest/anyOf", "GetTaskRequest"),
                ("ClientRequest/anyOf", "UpdateTaskRequest"),
                ("ClientRequest/anyOf", "CancelTaskRequest"),
                ("ServerNotification/anyOf", "TaskStatusNotification"),
                ("ServerResult/anyOf", "CreateTaskResult"),
                ("ServerResult/anyOf", "GetTaskResult"),
                ("CallToolResultResponse/properties/result/anyOf", "CreateTaskResult"),
                // One type serves the request and its acknowledgement.
                ("SubscriptionFilter/properties", "TaskSubscriptionNotifications"),
            ],
            Self::Skills => &[
                ("ClientRequest/anyOf", "ListSkillsRequest"),
                ("ClientRequest/anyOf", "GetSkillRequest"),
                ("ClientRequest/anyOf", "ReadDirectoryRequest"),
                ("ServerResult/anyOf", "ListSkillsResult"),
                ("ServerResult/anyOf", "GetSkillResult"),
                ("ServerResult/anyOf", "ReadDirectoryResult"),
            ],
        }
    }
}

/// Adds what the schemas of extensions leave to the revision: the common members of request
/// parameters, and that the result of a completed task is that of the only request that can become
/// one.
fn complete(name: &str, definition: &mut Value) {
    let is_request = name.ends_with("Request");
    let parts = definition.get_mut("allOf").and_then(Value::as_array_mut).into_iter().flatten();
    for parameters in parts.filter(|_| is_request).filter_map(|part| part.pointer_mut("/properties/params")) {
        *parameters = json!({"allOf": [{"$ref": "#/$defs/RequestParams"}, parameters.take()]});
    }
    type_payloads(definition);
}

fn type_payloads(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map.get("properties").and_then(|all| all.pointer("/status/const")) == Some(&json!("completed")) {
                map["properties"]["result"] = json!({"$ref": "#/$defs/CallToolResult"});
            }
            map.values_mut().for_each(type_payloads);
        }
        Value::Array(list) => list.iter_mut().for_each(type_payloads),
        _ => {}
    }
}
