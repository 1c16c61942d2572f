//! Rewrites names and URIs in the messages of combined servers, in both directions.

use super::names;
use crate::protocol::{
    RawJson, RpcError, meta,
    method::{self, Method, ResultUris},
};
use indexmap::IndexMap;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::{RawValue, to_raw_value};

/// The members of an object, in order.
pub type ObjectMembers = IndexMap<String, Box<RawValue>>;

const NAME: &str = "name";
const URI: &str = "uri";
const META: &str = "_meta";
const TASK_ID: &str = "taskId";

/// A member that is a string.
pub fn text(object: &ObjectMembers, member: &str) -> Option<String> {
    serde_json::from_str(object.get(member)?.get()).ok()
}

/// Sets a member. An existing one keeps its position. The value is made of strings and members of
/// messages, which can always be written.
pub fn set(object: &mut ObjectMembers, member: &str, value: &impl Serialize) {
    object.insert(member.to_owned(), to_raw_value(value).unwrap_or_default());
}

/// Removes the progress token from the parameters of a request; keeps other metadata.
pub fn take_progress_token(params: &mut ObjectMembers) -> Option<Box<RawValue>> {
    let mut token = None;
    change_meta(params, |given| token = given.shift_remove(meta::PROGRESS_TOKEN));
    token
}

/// Changes the metadata, and removes it if nothing is left. Returns `None` if there is none that is
/// an object.
pub fn change_meta(params: &mut ObjectMembers, change: impl FnOnce(&mut ObjectMembers)) -> Option<()> {
    let mut is_empty = false;
    in_member(params, META, |given: &mut ObjectMembers| {
        change(given);
        is_empty = given.is_empty();
        Some(())
    })?;
    if is_empty {
        params.shift_remove(META);
    }
    Some(())
}

/// Changes the value of a member. An object stays as it is if it has no such member, or the change
/// is abandoned with `None`.
pub fn in_member<T: DeserializeOwned + Serialize>(
    object: &mut ObjectMembers,
    member: &str,
    change: impl FnOnce(&mut T) -> Option<()>,
) -> Option<()> {
    let mut value = serde_json::from_str(object.get(member)?.get()).ok()?;
    change(&mut value)?;
    set(object, member, &value);
    Some(())
}

/// Renames a descriptor in a list. If the original name cannot be derived from the new one, also
/// returns both, the new one without its prefix.
///
/// # Errors
/// If it has no name.
pub fn descriptor(
    method: &str,
    prefix: &str,
    mut item: ObjectMembers,
) -> Result<(ObjectMembers, Option<(String, String)>), String> {
    let member = Method::item_key(method).unwrap_or(NAME);
    let own = text(&item, member).ok_or_else(|| format!("an item of {method} has no {member:?}"))?;
    if member == TASK_ID {
        set(&mut item, member, &names::public_task(prefix, &own));
        return Ok((item, None));
    }
    if member != NAME {
        set(&mut item, member, &names::public_uri(prefix, &own));
        if Method::result_uris(method) == Some(ResultUris::Skill) {
            let _ = in_skill(&mut item, prefix);
        }
        return Ok((item, None));
    }
    // Tools without a user interface need no change.
    let _ = interface(&mut item, prefix);
    let public = names::public(prefix, &own);
    let alias = names::split(&public).filter(|(_, rest)| *rest != own).map(|(_, rest)| (rest.to_owned(), own));
    set(&mut item, NAME, &public);
    Ok((item, alias))
}

/// Replaces the id of a task with its id in the group, which is returned.
pub fn task(prefix: &str, task: &mut ObjectMembers) -> Option<String> {
    let public = names::public_task(prefix, &text(task, TASK_ID)?);
    set(task, TASK_ID, &public);
    Some(public)
}

/// Marks a tool as supporting tasks, in the form of 2025-11-25, which the client of a group uses.
pub fn may_be_task(tool: &mut ObjectMembers) {
    set(tool, "execution", &IndexMap::from([("taskSupport", "optional")]));
}

/// Rewrites an error about an unknown tool or prompt to use the name known to the group's caller.
pub fn error(prefix: &str, error: RpcError) -> RpcError {
    for kind in ["Unknown tool: ", "Unknown prompt: "] {
        if let Some(name) = error.message.strip_prefix(kind) {
            let message = format!("{kind}{}", names::public(prefix, name));
            return RpcError { message, ..error };
        }
    }
    error
}

/// Rewrites the URIs of a result to those of the group.
pub fn result(method: &str, prefix: &str, result: RawJson) -> RawJson {
    // Most results contain no URIs and need no parsing.
    if prefix.is_empty() || !result.may_mention("uri") {
        return result;
    }
    let rewritten = match Method::result_uris(method) {
        Some(ResultUris::Content) => in_list(&result, "content", |block| in_block(block, prefix)),
        Some(ResultUris::Messages) => {
            in_list(&result, "messages", |message| in_member(message, "content", |block| in_block(block, prefix)))
        }
        Some(ResultUris::Items(list)) => in_list(&result, list, |item| in_contents(item, prefix)),
        Some(ResultUris::Skill) => in_result(&result, "skill", |skill| {
            in_contents(skill, prefix)?;
            in_skill(skill, prefix)
        }),
        None => None,
    };
    rewritten.unwrap_or(result)
}

/// Rewrites the parameters of a server's notification. Returns `None` if they are not an object.
/// Removes the subscription id, which belongs to the server's own connection.
pub fn notified(method: &str, prefix: &str, params: &RawJson) -> Option<RawJson> {
    if method == method::TASKS_STATUS {
        let mut state: ObjectMembers = params.parse().ok()?;
        task(prefix, &mut state)?;
        return RawJson::from_value(&state).ok();
    }
    if !params.may_mention(meta::SUBSCRIPTION_ID) {
        return Some(params.clone());
    }
    let mut params: ObjectMembers = params.parse().ok()?;
    if params.contains_key(META) {
        change_meta(&mut params, |given| drop(given.shift_remove(meta::SUBSCRIPTION_ID)))?;
    }
    RawJson::from_value(&params).ok()
}

fn in_list(
    result: &RawJson,
    member: &str,
    mut rewrite: impl FnMut(&mut ObjectMembers) -> Option<()>,
) -> Option<RawJson> {
    in_result(result, member, |items: &mut Vec<ObjectMembers>| {
        for item in items {
            // Nothing to rewrite in this item.
            let _ = rewrite(item);
        }
        Some(())
    })
}

fn in_result<T: DeserializeOwned + Serialize>(
    result: &RawJson,
    member: &str,
    rewrite: impl FnOnce(&mut T) -> Option<()>,
) -> Option<RawJson> {
    let mut object: ObjectMembers = result.parse().ok()?;
    in_member(&mut object, member, rewrite)?;
    RawJson::from_value(&object).ok()
}

/// Rewrites the files of a skill. A skill with dynamic files has no list of them (SKL-25).
fn in_skill(skill: &mut ObjectMembers, prefix: &str) -> Option<()> {
    in_member(skill, "resources", |files: &mut Vec<ObjectMembers>| {
        files.iter_mut().try_for_each(|file| in_contents(file, prefix))
    })
}

/// Rewrites the user interface of a tool, in both places (APP-02).
fn interface(tool: &mut ObjectMembers, prefix: &str) -> Option<()> {
    in_member(tool, META, |given: &mut ObjectMembers| {
        // Tools may have either of them.
        let _ = in_uri(given, "ui/resourceUri", prefix);
        let _ = in_member(given, "ui", |ui| in_uri(ui, "resourceUri", prefix));
        Some(())
    })
}

fn in_block(block: &mut ObjectMembers, prefix: &str) -> Option<()> {
    match text(block, "type")?.as_str() {
        "resource_link" => in_contents(block, prefix),
        "resource" => in_member(block, "resource", |resource| in_contents(resource, prefix)),
        _ => None,
    }
}

fn in_contents(object: &mut ObjectMembers, prefix: &str) -> Option<()> {
    in_uri(object, URI, prefix)
}

fn in_uri(object: &mut ObjectMembers, member: &str, prefix: &str) -> Option<()> {
    in_member(object, member, |uri: &mut String| {
        *uri = names::public_uri(prefix, uri);
        Some(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn rewritten(method: &str, given: &Value) -> Value {
        result(method, "notes", RawJson::from_value(given).unwrap()).parse().unwrap()
    }

    #[test]
    fn resources_in_results_are_those_of_the_group() {
        let link = json!({"type": "resource_link", "uri": "notes://a", "name": "a"});
        let embedded = json!({"type": "resource", "resource": {"uri": "notes://a", "text": "uri"}});
        let given = json!({"content": [{"type": "text", "text": "\"uri\""}, link, embedded], "isError": false});
        let got = rewritten(method::TOOLS_CALL, &given);
        assert_eq!(got["content"][0], given["content"][0]);
        assert_eq!(got["content"][1], json!({"type": "resource_link", "uri": "notes+notes://a", "name": "a"}));
        assert_eq!(got["content"][2]["resource"], json!({"uri": "notes+notes://a", "text": "uri"}));
        let got = rewritten(method::PROMPTS_GET, &json!({"messages": [{"role": "user", "content": link}]}));
        assert_eq!(got["messages"][0]["content"]["uri"], "notes+notes://a");
        let got = rewritten(method::RESOURCES_READ, &json!({"contents": [{"uri": "notes://a", "text": "x"}]}));
        assert_eq!(got["contents"][0]["uri"], "notes+notes://a");
    }

    /// The name of a member may be written with escapes.
    #[test]
    fn escaped_uris_are_those_of_the_group_as_well() {
        let given = r#"{"contents": [{"\u0075ri": "other+file:///secret", "text": "x"}]}"#;
        let given = RawJson::from_text(given.into()).unwrap();
        let got: Value = result(method::RESOURCES_READ, "notes", given).parse().unwrap();
        assert_eq!(got["contents"][0]["uri"], "notes+other+file:///secret");
        let tagged = r#"{"_meta": {"io.modelcontextprotocol\/subscriptionId": 1}, "uri": "a:b"}"#;
        let tagged = RawJson::from_text(tagged.into()).unwrap();
        let told = notified(method::RESOURCES_UPDATED, "notes", &tagged).unwrap();
        assert_eq!(told.parse::<Value>().unwrap(), json!({"uri": "a:b"}));
    }

    #[test]
    fn app_02_skl_23_tools_keep_their_interfaces_and_skills_their_files() {
        let read = |value: Value| serde_json::from_str::<ObjectMembers>(&value.to_string()).unwrap();
        let item = |method: &str, value: Value| {
            let (item, _) = descriptor(method, "notes", read(value)).unwrap();
            serde_json::from_str::<Value>(&serde_json::to_string(&item).unwrap()).unwrap()
        };
        let meta =
            json!({"ui": {"resourceUri": "ui://page", "visibility": ["app"]}, "ui/resourceUri": "ui://page", "x": 1});
        let tool = item(method::TOOLS_LIST, json!({"name": "show", "_meta": meta}));
        let shown = json!({"ui": {"resourceUri": "ui://notes+page", "visibility": ["app"]}, "ui/resourceUri": "ui://notes+page", "x": 1});
        assert_eq!(tool, json!({"name": "notes__show", "_meta": shown}));
        let skill = json!({"uri": "skill://a/SKILL.md", "resources": [{"uri": "skill://a/SKILL.md", "size": 1}]});
        let shown =
            json!({"uri": "skill://notes+a/SKILL.md", "resources": [{"uri": "skill://notes+a/SKILL.md", "size": 1}]});
        assert_eq!(item(method::SKILLS_LIST, skill.clone()), shown);
        assert_eq!(rewritten(method::SKILLS_GET, &json!({"skill": skill}))["skill"], shown);
        let dynamic = json!({"uri": "skill://a/SKILL.md", "resources": "dynamic"});
        assert_eq!(item(method::SKILLS_LIST, dynamic)["resources"], "dynamic");
        let folder = json!({"resources": [{"uri": "skill://a/b", "name": "b"}]});
        let got = rewritten(method::RESOURCES_DIRECTORY_READ, &folder);
        assert_eq!(got["resources"][0]["uri"], "skill://notes+a/b");
    }

    #[test]
    fn results_without_resources_stay_as_they_came() {
        let result_text = br#"{ "content" : [ ] , "structuredContent" : { "uri" : 1e999 } }"#;
        let raw = RawJson::trusted(result_text.as_slice().into());
        let got = result(method::TOOLS_CALL, "notes", raw);
        assert!(memchr::memmem::find(got.as_bytes(), b"1e999").is_some(), "numbers are not rounded");
        let raw = RawJson::trusted(br#"{ "uri" : "not an object of mine" }"#.as_slice().into());
        assert_eq!(result(method::COMPLETION_COMPLETE, "notes", raw.clone()), raw);
    }

    #[test]
    fn descriptors_name_their_feature() {
        let item = |value: Value| serde_json::from_value::<ObjectMembers>(value).ok();
        let read = |text: &str| serde_json::from_str::<ObjectMembers>(text).unwrap();
        assert!(item(json!(5)).is_none());
        let (tool, alias) = descriptor(method::TOOLS_LIST, "a", read(r#"{"name": "b", "title": "B"}"#)).unwrap();
        assert_eq!((text(&tool, "name").as_deref(), alias), (Some("a__b"), None));
        let (tool, alias) = descriptor(method::PROMPTS_LIST, "a", read(r#"{"name": "b.c"}"#)).unwrap();
        let (rest, own) = alias.unwrap();
        assert_eq!((text(&tool, "name").unwrap(), own.as_str()), (format!("a__{rest}"), "b.c"));
        let (template, _) =
            descriptor(method::RESOURCES_TEMPLATES_LIST, "a", read(r#"{"uriTemplate": "x://{y}"}"#)).unwrap();
        assert_eq!(text(&template, "uriTemplate").as_deref(), Some("a+x://{y}"));
        assert!(descriptor(method::TOOLS_LIST, "a", read("{}")).is_err());
    }
}
