//! Tasks in the form of the extension, with the results of their requests, which are passed to the
//! client unparsed.

use crate::{
    protocol::{RawJson, Revision, RevisionFeature, RpcError, meta, project},
    server::result::ResultWriter,
};
use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeMap};
use serde_json::{
    Map, Value, json,
    value::{RawValue, to_raw_value},
};

/// The result of the request of a task.
#[derive(Debug, Clone)]
pub(super) struct TaskResult {
    text: RawJson,
    /// Whether `isError` is set.
    is_error: bool,
}

impl TaskResult {
    pub(super) fn new(text: RawJson) -> Self {
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase", default)]
        struct ToolResult {
            is_error: bool,
        }
        let is_error = text.parse::<ToolResult>().unwrap_or_default().is_error;
        Self { text, is_error }
    }

    /// The result, related to the task (TSK-18, TSK-21). Its other members are unchanged.
    pub(super) fn related(&self, task: &str) -> Result<RawJson, RpcError> {
        let unread = |_| RpcError::internal();
        let mut members: IndexMap<String, Box<RawValue>> = self.text.parse().map_err(unread)?;
        let meta: Option<Value> = members.get("_meta").and_then(|meta| serde_json::from_str(meta.get()).ok());
        let mut related = json!({"_meta": meta});
        relate(&mut related, task);
        members.insert("_meta".to_owned(), to_raw_value(&related["_meta"]).map_err(unread)?);
        RawJson::from_value(&members).map_err(unread)
    }
}

/// Relates a message to a task (TSK-15).
pub(super) fn relate(message: &mut Value, task: &str) {
    if !message["_meta"].is_object() {
        message["_meta"] = json!({});
    }
    message["_meta"][meta::RELATED_TASK] = json!({"taskId": task});
}

/// A task in the form of the extension.
#[derive(Debug, Clone)]
pub(super) struct TaskView {
    /// All members except the result; an object.
    pub(super) members: Value,
    /// The result of a completed task; written as the last member.
    pub(super) result: Option<TaskResult>,
}

impl TaskView {
    /// The task, projected to a revision.
    pub(super) fn to_json(&self, revision: Revision) -> Value {
        let (mut task, result) = self.parts(revision);
        if let Some(result) = result {
            task["result"] = result.parse().unwrap_or_default();
        }
        task
    }

    /// The task as a result.
    pub(super) fn to_result(&self, results: &ResultWriter, revision: Revision) -> RawJson {
        results.seal(self.written_members(revision), revision)
    }

    /// The task as JSON text, for notifications.
    pub(super) fn to_text(&self, revision: Revision) -> RawJson {
        let members = self.written_members(revision);
        RawJson::trusted([b"{", &*members, b"}"].concat().into())
    }

    /// The members, without braces.
    fn written_members(&self, revision: Revision) -> Vec<u8> {
        let (task, result) = self.parts(revision);
        let text = task.to_string();
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
        let mut members = inner.as_bytes().to_vec();
        if let Some(result) = result {
            members.extend_from_slice(br#","result":"#);
            members.extend_from_slice(result.as_bytes());
        }
        members
    }

    /// The task for a revision, and the result if that revision includes it.
    fn parts(&self, revision: Revision) -> (Value, Option<&RawJson>) {
        let mut task = self.members.clone();
        let result = self.result.as_ref();
        if revision.supports(RevisionFeature::TasksExtension) {
            return (task, result.map(|result| &result.text));
        }
        // In the core form, a task only tells whether the tool failed (TSK-22).
        if let Some(result) = result {
            task["result"] = json!({"isError": result.is_error});
        }
        project::project_task(&mut task, revision);
        (task, None)
    }
}

/// As a single object.
impl Serialize for TaskView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.members.as_object().into_iter().flatten() {
            map.serialize_entry(name, value)?;
        }
        if let Some(result) = &self.result {
            map.serialize_entry("result", &result.text)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for TaskView {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = IndexMap::<String, RawJson>::deserialize(deserializer)?;
        let result = members.shift_remove("result").map(TaskResult::new);
        let read = |(name, text): (String, RawJson)| Ok((name, text.parse()?));
        let members = members.into_iter().map(read).collect::<serde_json::Result<Map<_, _>>>();
        Ok(Self { members: members.map_err(de::Error::custom)?.into(), result })
    }
}
