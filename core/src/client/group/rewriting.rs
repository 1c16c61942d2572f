//! Names and URIs in the messages of a group: those of a server become those of the group, and
//! back.

use super::names;
use crate::{
    client::ClientError,
    protocol::{RawJson, meta, method},
};
use indexmap::IndexMap;
use memchr::memmem;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// The members of an object, in order.
pub(super) type ObjectMembers = IndexMap<String, Box<RawValue>>;

const NAME: &str = "name";
const URI: &str = "uri";
const META: &str = "_meta";
const TASK_ID: &str = "taskId";

pub(super) fn text(object: &ObjectMembers, member: &str) -> Option<String> {
    serde_json::from_str(object.get(member)?.get()).ok()
}

/// Sets a member; one that was there keeps its place.
pub(super) fn set(object: &mut ObjectMembers, member: &str, value: &impl Serialize) -> Result<(), ClientError> {
    let value = to_raw_value(value).map_err(|error| ClientError::Invalid(error.to_string()))?;
    object.insert(member.to_owned(), value);
    Ok(())
}

/// Takes the progress token of a request out of its parameters; other metadata stays.
pub(super) fn take_progress_token(params: &mut ObjectMembers) -> Result<Option<Box<RawValue>>, ClientError> {
    let Some(given) = params.get(META) else { return Ok(None) };
    let Ok(mut given) = serde_json::from_str::<ObjectMembers>(given.get()) else { return Ok(None) };
    let token = given.shift_remove(meta::PROGRESS_TOKEN);
    if given.is_empty() {
        params.shift_remove(META);
    } else {
        set(params, META, &given)?;
    }
    Ok(token)
}

/// A descriptor of a list under the name of the group; the server's own name where the two need a
/// table.
pub(super) fn descriptor(
    method: &str,
    prefix: &str,
    mut item: ObjectMembers,
) -> Result<(ObjectMembers, Option<(String, String)>), ClientError> {
    let member = match method {
        method::RESOURCES_LIST => URI,
        method::RESOURCES_TEMPLATES_LIST => "uriTemplate",
        method::TASKS_LIST => TASK_ID,
        _ => NAME,
    };
    let own = text(&item, member)
        .ok_or_else(|| ClientError::InvalidResponse(format!("an item of {method} has no \"{member}\"")))?;
    if member == TASK_ID {
        set(&mut item, member, &names::public_task(prefix, &own))?;
        return Ok((item, None));
    }
    if member != NAME {
        set(&mut item, member, &names::public_uri(prefix, &own))?;
        return Ok((item, None));
    }
    let public = names::public(prefix, &own);
    let alias = names::split(&public).filter(|(_, rest)| *rest != own).map(|(_, rest)| (rest.to_owned(), own));
    set(&mut item, NAME, &public)?;
    Ok((item, alias))
}

/// Gives a task the id that it has in the group: that id.
pub(super) fn task(prefix: &str, task: &mut ObjectMembers) -> Option<String> {
    let public = names::public_task(prefix, &text(task, TASK_ID)?);
    set(task, TASK_ID, &public).ok()?;
    Some(public)
}

/// A tool of a server that may make tasks of its calls, in the words of 2025-11-25, which the
/// client of a group speaks.
pub(super) fn may_be_task(tool: &mut ObjectMembers) -> Result<(), ClientError> {
    set(tool, "execution", &IndexMap::from([("taskSupport", "optional")]))
}

/// A result of a server with the URIs of the group.
pub(super) fn result(method: &str, prefix: &str, result: RawJson) -> RawJson {
    // Most results name no resource, and need no reading.
    if memmem::find(result.as_bytes(), br#""uri""#).is_none() {
        return result;
    }
    let rewritten = match method {
        method::TOOLS_CALL => in_list(&result, "content", |block| in_block(block, prefix)),
        method::PROMPTS_GET => in_list(&result, "messages", |message| {
            let mut block: ObjectMembers = serde_json::from_str(message.get("content")?.get()).ok()?;
            in_block(&mut block, prefix)?;
            set(message, "content", &block).ok()
        }),
        method::RESOURCES_READ => in_list(&result, "contents", |contents| in_contents(contents, prefix)),
        _ => None,
    };
    rewritten.unwrap_or(result)
}

/// The parameters of a server's notification as the group sends them on; `None` if they are not an
/// object. The subscription that they name is one of the server's connection, which nobody else
/// knows.
pub(super) fn notified(method: &str, prefix: &str, params: &RawJson) -> Option<RawJson> {
    if method == method::TASKS_STATUS {
        let mut state: ObjectMembers = params.parse().ok()?;
        task(prefix, &mut state)?;
        return RawJson::from_value(&state).ok();
    }
    if memmem::find(params.as_bytes(), meta::SUBSCRIPTION_ID.as_bytes()).is_none() {
        return Some(params.clone());
    }
    let mut params: ObjectMembers = params.parse().ok()?;
    if let Some(given) = params.get(META) {
        let mut given: ObjectMembers = serde_json::from_str(given.get()).ok()?;
        given.shift_remove(meta::SUBSCRIPTION_ID);
        if given.is_empty() {
            params.shift_remove(META);
        } else {
            set(&mut params, META, &given).ok()?;
        }
    }
    RawJson::from_value(&params).ok()
}

fn in_list(
    result: &RawJson,
    member: &str,
    mut rewrite: impl FnMut(&mut ObjectMembers) -> Option<()>,
) -> Option<RawJson> {
    let mut object: ObjectMembers = result.parse().ok()?;
    let mut items: Vec<ObjectMembers> = serde_json::from_str(object.get(member)?.get()).ok()?;
    for item in &mut items {
        // Nothing to rewrite in this one.
        let _ = rewrite(item);
    }
    set(&mut object, member, &items).ok()?;
    RawJson::from_value(&object).ok()
}

fn in_block(block: &mut ObjectMembers, prefix: &str) -> Option<()> {
    match text(block, "type")?.as_str() {
        "resource_link" => in_contents(block, prefix),
        "resource" => {
            let mut resource: ObjectMembers = serde_json::from_str(block.get("resource")?.get()).ok()?;
            in_contents(&mut resource, prefix)?;
            set(block, "resource", &resource).ok()
        }
        _ => None,
    }
}

fn in_contents(object: &mut ObjectMembers, prefix: &str) -> Option<()> {
    let uri = text(object, URI)?;
    set(object, URI, &names::public_uri(prefix, &uri)).ok()
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

    #[test]
    fn results_without_resources_stay_as_they_came() {
        let result_text = br#"{ "content" : [ ] , "structuredContent" : { "uri" : 1e999 } }"#;
        let raw = RawJson::trusted(result_text.as_slice().into());
        let got = result(method::TOOLS_CALL, "notes", raw);
        assert!(memmem::find(got.as_bytes(), b"1e999").is_some(), "numbers are not rounded");
        let raw = RawJson::trusted(br#"{ "uri" : "not an object of mine" }"#.as_slice().into());
        assert_eq!(result(method::COMPLETION_COMPLETE, "notes", raw.clone()), raw);
    }

    #[test]
    fn descriptors_say_which_name_they_stand_for() {
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
