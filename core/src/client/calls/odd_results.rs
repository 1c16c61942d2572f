//! Leniency towards odd results of servers, decided here for all languages: `null` counts as
//! missing, and an item that cannot be used does not cost the others of its list.

use crate::{
    composition::rewriting::{self, ObjectMembers},
    protocol::{
        RawJson,
        describe::{FieldDescription, ObjectDescription, Presence, Type},
        method,
        operation::{CLIENT, Operation},
    },
};
use memchr::memmem;
use serde_json::value::RawValue;

/// Required members that have an obvious value: the type, the member and the value.
const MENDED: &[(&str, &str, &str)] = &[("Tool", "inputSchema", r#"{"type":"object"}"#)];

/// The result without odd members and items; unchanged, and as written, if it has none.
pub(in crate::client) fn without_oddities(method: &str, result: RawJson) -> RawJson {
    let Some(operation) = CLIENT.iter().find(|operation| operation.method == method) else { return result };
    let Some(Type::Model(model)) = operation.result else { return result };
    let mentions = |text: &str| memmem::find(result.as_bytes(), text.as_bytes()).is_some();
    let lacks_content = || method == method::TOOLS_CALL && !mentions("\"content\"");
    // Most results need no parsing.
    if operation.item.is_none() && !mentions("null") && !lacks_content() {
        return result;
    }
    let Ok(mut members) = result.parse::<ObjectMembers>() else { return result };
    // A task whose result follows later (2025-11-25).
    if members.contains_key("task") {
        return result;
    }
    // Some servers leave out the content next to structured content.
    let adds_content =
        method == method::TOOLS_CALL && !members.contains_key("content") && members.contains_key("structuredContent");
    if adds_content {
        rewriting::set(&mut members, "content", &[(); 0]);
    }
    let is_changed = mend_members(model.fields, &mut members) | mend_items(operation, &mut members) | adds_content;
    if is_changed { RawJson::object(&members) } else { result }
}

/// Mends the items of a list, and leaves out those that lack what they need.
fn mend_items(operation: &Operation, members: &mut ObjectMembers) -> bool {
    let (Some(Type::Model(model)), Some(member)) = (operation.item, operation.list_member()) else { return false };
    let items = members.get(member).and_then(|items| serde_json::from_str::<Vec<Box<RawValue>>>(items.get()).ok());
    let Some(items) = items else { return false };
    let mut is_changed = false;
    let kept: Vec<_> = items
        .into_iter()
        .enumerate()
        .filter_map(|(index, item)| match mended_item(model, &item) {
            Ok(None) => Some(item),
            Ok(Some(mended)) => {
                is_changed = true;
                Some(mended)
            }
            Err(problem) => {
                is_changed = true;
                let name = name_of(&item);
                tracing::warn!(target: "trunkline::client::calls", method = operation.method, index, name, "left out an item of a list: {problem}");
                None
            }
        })
        .collect();
    if is_changed {
        rewriting::set(members, member, &kept);
    }
    is_changed
}

/// The item with its oddities mended; `None` if it has none.
///
/// # Errors
/// If it lacks a member without which it is of no use.
fn mended_item(model: &ObjectDescription, item: &RawValue) -> Result<Option<Box<RawValue>>, String> {
    let mut members: ObjectMembers =
        serde_json::from_str(item.get()).map_err(|_| format!("it is not a {}", model.name))?;
    let mut is_changed = mend_members(model.fields, &mut members);
    for field in model.fields.iter().filter(|field| field.presence == Presence::Required) {
        let given = members.get(field.json).map(|value| value.get());
        let is_usable = match field.ty {
            Type::String => given.is_some_and(|given| given.starts_with('"')),
            _ => given.is_some_and(|given| given != "null"),
        };
        if is_usable {
            continue;
        }
        let default = MENDED.iter().find(|(of, member, _)| (*of, *member) == (model.name, field.json));
        let Some(value) = default.and_then(|(_, _, value)| RawValue::from_string((*value).to_owned()).ok()) else {
            return Err(match given {
                None | Some("null") => format!("`{}` is missing", field.json),
                Some(_) => format!("`{}` is not a string", field.json),
            });
        };
        let name = name_of(item);
        tracing::warn!(target: "trunkline::client::calls", name, "`{}` is missing: the library assumes {value}", field.json);
        members.insert(field.json.to_owned(), value);
        is_changed = true;
    }
    Ok(is_changed.then(|| serde_json::value::to_raw_value(&members).unwrap_or_default()))
}

fn name_of(item: &RawValue) -> Option<String> {
    let members: ObjectMembers = serde_json::from_str(item.get()).ok()?;
    ["name", "uri", "taskId"].into_iter().find_map(|key| rewriting::text(&members, key))
}

/// Removes members that are `null`, in nested objects as well, or makes them empty arrays. Returns
/// whether it changed anything.
fn mend_members(fields: &[FieldDescription], members: &mut ObjectMembers) -> bool {
    let mut is_changed = false;
    for field in fields {
        let is_null = members.get(field.json).is_some_and(|value| value.get() == "null");
        match (field.presence, field.ty) {
            (Presence::List, _) if is_null => {
                rewriting::set(members, field.json, &[(); 0]);
                is_changed = true;
            }
            // `null` is one of the values.
            (_, Type::Json | Type::Integer) => {}
            _ if is_null => {
                members.shift_remove(field.json);
                is_changed = true;
            }
            (_, ty) => is_changed |= mend_value(ty, members, field.json),
        }
    }
    is_changed
}

fn mend_value(ty: Type, members: &mut ObjectMembers, member: &str) -> bool {
    let Some(value) = members.get(member).filter(|value| value.get().contains("null")) else { return false };
    let mended = match ty {
        Type::List(of) => serde_json::from_str::<Vec<Box<RawValue>>>(value.get()).ok().and_then(|mut items| {
            let changed = items.iter_mut().filter_map(|item| mended_object(*of, item).map(|mended| *item = mended));
            let is_changed = changed.count() > 0;
            is_changed.then(|| serde_json::value::to_raw_value(&items).unwrap_or_default())
        }),
        _ => mended_object(ty, value),
    };
    mended.map(|mended| members.insert(member.to_owned(), mended)).is_some()
}

fn mended_object(ty: Type, value: &RawValue) -> Option<Box<RawValue>> {
    let mut members: ObjectMembers = serde_json::from_str(value.get()).ok()?;
    let is_changed = match ty {
        Type::Model(model) => mend_members(model.fields, &mut members),
        Type::Union(union) => union.variants.iter().fold(false, |is_changed, (tag, ty)| {
            let is_variant = union.tag.is_none_or(|member| rewriting::text(&members, member).as_deref() == Some(*tag));
            match ty {
                Type::Model(model) if is_variant => mend_members(model.fields, &mut members) || is_changed,
                _ => is_changed,
            }
        }),
        _ => false,
    };
    is_changed.then(|| serde_json::value::to_raw_value(&members).unwrap_or_default())
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use super::*;
    use crate::tests::kept_log::KeptLog;
    use serde_json::{Value, json};

    fn read(method: &str, given: &Value) -> Value {
        without_oddities(method, RawJson::from_value(given).unwrap()).parse().unwrap()
    }

    #[test]
    fn null_counts_as_missing() {
        for (method, given, read_as) in [
            ("tools/call", json!({"content": null, "isError": null}), json!({"content": []})),
            ("tools/call", json!({"structuredContent": null}), json!({"structuredContent": null, "content": []})),
            (
                "tools/call",
                json!({"content": [{"type": "text", "text": "t", "annotations": null, "own": null}]}),
                json!({"content": [{"type": "text", "text": "t", "own": null}]}),
            ),
            (
                "prompts/list",
                json!({"prompts": [{"name": "p", "arguments": null}], "nextCursor": null}),
                json!({"prompts": [{"name": "p"}]}),
            ),
            (
                "resources/read",
                json!({"contents": [{"uri": "a:b", "text": null, "blob": "AA=="}]}),
                json!({"contents": [{"uri": "a:b", "blob": "AA=="}]}),
            ),
            ("prompts/get", json!({"messages": null}), json!({"messages": []})),
            // A list under another name is not an empty one.
            ("prompts/get", json!({"message": []}), json!({"message": []})),
            ("custom/method", json!({"content": null}), json!({"content": null})),
        ] {
            assert_eq!(read(method, &given), read_as, "{given}");
        }
    }

    #[test]
    fn an_item_that_cannot_be_used_does_not_cost_the_others() {
        let log = KeptLog::default();
        let read = tracing::subscriber::with_default(log.clone(), || {
            read(
                "tools/list",
                &json!({"tools": [
                    {"name": "good", "inputSchema": {"type": "object"}},
                    {"name": "bare"}, {"name": "void", "inputSchema": null}, {"title": "nameless"}, {"name": 7}, 7,
                ]}),
            )
        });
        let any = json!({"type": "object"});
        let tool = |name: &str| json!({"name": name, "inputSchema": any});
        assert_eq!(read, json!({"tools": [tool("good"), tool("bare"), tool("void")]}));
        let texts = log.take();
        assert_eq!(texts.len(), 5, "{texts:?}");
        for part in ["bare", "void", "`name` is missing", "`name` is not a string", "not a Tool"] {
            assert!(texts.iter().any(|text| text.contains(part)), "{part}: {texts:?}");
        }
    }

    #[test]
    fn results_without_oddities_stay_as_they_were_written() {
        for (method, text) in [
            ("tools/list", r#"{ "tools" : [ {"name":"a","inputSchema":{"default":null,"n":1e999}} ] , "x":null}"#),
            ("tools/call", r#"{"content": [{"type":"text","text":"null"}], "structuredContent": null}"#),
            ("tools/call", r#"{"task":{"taskId":"t","status":"working","ttl":null}}"#),
            ("tasks/get", r#"{"taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":null}"#),
        ] {
            let raw = RawJson::from_text(text.into()).unwrap();
            assert_eq!(without_oddities(method, raw).as_str(), text);
        }
    }
}
