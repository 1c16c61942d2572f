//! Projection: converts a value of the superset model to the form that a peer's revision expects.
//!
//! Fields that some revision defines but the peer's does not are removed; fields that no revision
//! defines belong to the application and are kept. Values that the older revision can express
//! differently are converted. Values that it cannot express, and that must not be omitted, are
//! refused as a capability that the peer lacks.

mod capabilities;
mod content;
mod elicitation;
mod prompt;
mod sampling;
mod task;
mod tool;

pub use capabilities::{project_client_capabilities, project_implementation, project_server_capabilities};
pub use content::{project_read_result, project_resource, project_resource_contents, project_resource_template};
pub use elicitation::project_elicit_params;
pub use prompt::{project_complete_params, project_complete_result, project_prompt, project_prompt_result};
pub use sampling::project_sampling_params;
pub use task::{created_task, project_task};
pub use tool::{project_tool, project_tool_result};

use super::{
    Revision, RevisionFeature, RpcError,
    describe::{Described, Type},
    meta::SERVER_INFO,
    method,
    model::ListToolsResult,
};
use serde_json::{Map, Value};

/// A request that a peer's revision or capabilities do not support.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{why}")]
pub struct Unsupported {
    /// The missing part, for the author of the handler.
    pub why: String,
    /// The required client capabilities, in the form of `data.requiredCapabilities` of -32021.
    pub required: Value,
}

/// Projects the result of any request of the specification. Other results only lose the members
/// that no result of an older revision has.
pub fn project_result(method: &str, result: &mut Value, revision: Revision) {
    match method {
        method::TOOLS_CALL => project_tool_result(result, revision),
        method::TOOLS_LIST => project_list(result, "tools", revision, project_tool),
        method::RESOURCES_LIST => project_list(result, "resources", revision, project_resource),
        method::RESOURCES_TEMPLATES_LIST => {
            project_list(result, "resourceTemplates", revision, project_resource_template);
        }
        method::RESOURCES_READ => project_read_result(result, revision),
        method::PROMPTS_LIST => project_list(result, "prompts", revision, project_prompt),
        method::PROMPTS_GET => project_prompt_result(result, revision),
        method::COMPLETION_COMPLETE => project_complete_result(result, revision),
        _ => {
            if let Some(result) = result.as_object_mut() {
                project_envelope(result, revision);
            }
        }
    }
}

/// Projects a result, and the items of its list.
fn project_list(result: &mut Value, list: &str, revision: Revision, project: fn(&mut Value, Revision)) {
    let Some(result) = result.as_object_mut() else { return };
    project_envelope(result, revision);
    each(result, list, |item| project(item, revision));
}

/// Removes members that only results of newer revisions have.
fn project_envelope(result: &mut Map<String, Value>, revision: Revision) {
    // A page of a list has all of them.
    remove_fields::<ListToolsResult>(result, revision);
    if !revision.supports(RevisionFeature::ResultType)
        && let Some(meta) = result.get_mut("_meta").and_then(Value::as_object_mut)
        && meta.shift_remove(SERVER_INFO).is_some()
        && meta.is_empty()
    {
        result.shift_remove("_meta");
    }
}

/// Applies a function to each element of an array.
fn each(value: &mut Map<String, Value>, array: &str, project: impl FnMut(&mut Value)) {
    value.get_mut(array).and_then(Value::as_array_mut).into_iter().flatten().for_each(project);
}

impl Unsupported {
    pub(crate) fn new(why: impl Into<String>, required: Value) -> Self {
        Self { why: why.into(), required }
    }
}

impl From<Unsupported> for RpcError {
    fn from(unsupported: Unsupported) -> Self {
        Self { message: unsupported.why, ..Self::missing_client_capability(unsupported.required) }
    }
}

// Compiling the schemas takes Miri too long.
#[cfg(all(test, not(miri)))]
mod schema_tests;

#[cfg(test)]
mod testing {
    use super::Revision;
    use serde_json::Value;

    pub(super) fn projected(project: fn(&mut Value, Revision), value: &Value, revision: Revision) -> Value {
        let mut value = value.clone();
        project(&mut value, revision);
        value
    }

    pub(super) fn keys(value: &Value) -> Vec<&str> {
        value.as_object().unwrap().keys().map(String::as_str).collect()
    }
}

/// As [`remove_fields`], if the value is an object.
pub(super) fn project_fields<T: Described>(value: Option<&mut Value>, revision: Revision) {
    if let Some(Value::Object(object)) = value {
        remove_fields::<T>(object, revision);
    }
}

/// Removes the members of a type of the model that are defined in some revision, but not in this
/// one.
pub(super) fn remove_fields<T: Described>(object: &mut Map<String, Value>, revision: Revision) {
    let Type::Model(model) = T::TYPE else { return };
    for field in model.fields {
        if field.span.is_some_and(|(since, until)| revision < since || until < revision) {
            object.shift_remove(field.json);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Revision::*;
    use super::testing::projected;
    use super::*;
    use serde_json::json;

    fn tools(list: &mut Value, revision: Revision) {
        project_result("tools/list", list, revision);
    }

    #[test]
    fn modern_result_fields_do_not_reach_legacy_peers() {
        let list = json!({
            "tools": [{"name": "t", "inputSchema": {"type": "object"}, "title": "T"}], "nextCursor": "c", "ttlMs": 0,
            "cacheScope": "private", "resultType": "complete", "_meta": {SERVER_INFO: {"name": "s", "version": "1"}},
        });
        assert_eq!(projected(tools, &list, V2026_07_28), list);
        assert_eq!(
            projected(tools, &list, V2025_03_26),
            json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}], "nextCursor": "c"})
        );
        let call = json!({"content": [], "resultType": "complete", "_meta": {SERVER_INFO: {}, "own/key": 1}});
        assert_eq!(projected(project_tool_result, &call, V2025_11_25), json!({"content": [], "_meta": {"own/key": 1}}));
    }

    #[test]
    fn odd_values_are_left_alone() {
        fn resources(list: &mut Value, revision: Revision) {
            project_result("resources/list", list, revision);
        }
        fn templates(list: &mut Value, revision: Revision) {
            project_result("resources/templates/list", list, revision);
        }
        fn prompts(list: &mut Value, revision: Revision) {
            project_result("prompts/list", list, revision);
        }
        for odd in [json!(null), json!([]), json!({"content": 1, "tools": {}}), json!({"content": [1, {"type": 2}]})] {
            for revision in Revision::ALL {
                for project in [
                    project_tool,
                    tools,
                    project_tool_result,
                    project_client_capabilities,
                    project_resource,
                    resources,
                    project_resource_template,
                    templates,
                    project_read_result,
                    project_prompt,
                    prompts,
                    project_prompt_result,
                    project_complete_params,
                    project_complete_result,
                ] {
                    assert_eq!(projected(project, &odd, revision), odd);
                }
            }
        }
    }
}
