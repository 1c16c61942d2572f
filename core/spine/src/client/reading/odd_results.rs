//! Leniency towards odd results of servers, decided here for all languages: what is usable is
//! delivered, and what is not is named in a warning. `null` counts as missing, an optional member
//! of the wrong type is ignored, and an item that cannot be used does not cost the others of its
//! list.

use super::{
    odd_value::{Fault, number_in_digits},
    read_result::held_number,
};
use crate::{
    client::ClientError,
    composition::rewriting::{self, ObjectMembers},
    printable::{MAX_LENGTH, line},
    protocol::{
        RawJson,
        describe::{FieldDescription, ObjectDescription, Presence, Type, Union},
        method,
        operation::CLIENT,
        well_typed::{is_nullable, is_well_typed},
    },
};
use serde_json::value::{RawValue, to_raw_value};
use std::{borrow::Cow, fmt};

/// Required members that have an obvious value, also instead of a wrong one: the type, the member
/// and the value.
const MEMBER_DEFAULTS: &[(&str, &str, &str)] = &[
    ("Tool", "inputSchema", r#"{"type":"object"}"#),
    ("Implementation", "version", r#""""#),
    ("LogMessage", "level", r#""info""#),
];

/// A result may be odd in thousands of places; the log names the first ones.
const MAX_WARNINGS: usize = 16;

/// The result as every language can read it; unchanged, and as written, if it has no oddities.
/// `server` is its sender for the log.
///
/// # Errors
/// If what it lacks leaves nothing to deliver.
pub(in crate::client) fn usable(server: Option<&str>, method: &str, result: RawJson) -> Result<RawJson, ClientError> {
    // Only calls of tools become tasks.
    let method = if method == method::TASKS_RESULT { method::TOOLS_CALL } else { method };
    let Some(operation) = CLIENT.iter().find(|operation| operation.method == method) else { return Ok(result) };
    let Some(Type::Model(model)) = operation.result else { return Ok(result) };
    let list = model.fields.iter().find(|field| field.presence == Presence::List).map(|field| field.json);
    if is_well_typed(Type::Model(model), list, result.as_bytes()) {
        return Ok(result);
    }
    let Ok(mut members) = result.parse::<ObjectMembers>() else { return Ok(result) };
    // A task whose result follows later (2025-11-25).
    if method == method::TOOLS_CALL && members.contains_key("task") && !members.contains_key("content") {
        return Ok(result);
    }
    match list.filter(|list| !members.get(*list).is_some_and(|items| is_list(items))) {
        Some(list) if operation.item.is_some() && members.contains_key(list) => {
            let text = format!("the list of {method} has a page without the array {list:?}");
            return Err(ClientError::InvalidResponse(text));
        }
        // Some servers leave it out next to structured content, or if there is none.
        Some(list) if method == method::TOOLS_CALL && !members.contains_key(list) => {
            rewriting::set(&mut members, list, &[(); 0]);
        }
        // Readers of a list refuse a page without items.
        Some(list) if !members.contains_key(list) && operation.item.is_none() => {
            return Err(refused(method, &Fault::missing(list)));
        }
        _ => {}
    }
    mended(server, method, model, members)
}

/// The result that has these members, without its oddities.
///
/// # Errors
/// If what it lacks leaves nothing to deliver.
pub(in crate::client) fn mended(
    server: Option<&str>,
    method: &str,
    model: &ObjectDescription,
    members: ObjectMembers,
) -> Result<RawJson, ClientError> {
    let mender = Mender { oddities: Oddities::new(server, method), is_request: false };
    mender.mended(model, members).map_err(|fault| refused(method, &fault))
}

/// The same for the parameters of a request or notification.
pub(in crate::client) fn mended_params(
    server: Option<&str>,
    method: &str,
    model: &ObjectDescription,
    members: ObjectMembers,
) -> Result<RawJson, Fault> {
    Mender { oddities: Oddities::new(server, method), is_request: true }.mended(model, members)
}

fn refused(method: &str, fault: &Fault) -> ClientError {
    ClientError::InvalidResponse(format!("the result of {method}: {fault}"))
}

/// Returns whether a member limits what a user may enter in a form. Ignoring it would let through
/// what the server does not expect.
fn is_constraint(model: &ObjectDescription, field: &FieldDescription) -> bool {
    matches!(model.name, "FormSchema" | "Field" | "Choices") && !matches!(field.json, "title" | "description")
}

/// Returns whether a value is an array, or `null` instead of an empty one.
fn is_list(value: &RawValue) -> bool {
    matches!(value.get().as_bytes().first(), Some(b'[' | b'n'))
}

/// A mended value; `None` if it is usable as it was written.
type Mended = Result<Option<Box<RawValue>>, Fault>;

/// Logs the oddities of one message, or of the pages of one list.
pub(super) struct Oddities<'m> {
    pub(super) server: Option<&'m str>,
    method: &'m str,
    number: usize,
}

impl<'m> Oddities<'m> {
    pub(super) fn new(server: Option<&'m str>, method: &'m str) -> Self {
        Self { server, method, number: 0 }
    }

    /// Logs an oddity. `item` is the name of the item of a list that has it.
    pub(super) fn warn(&mut self, item: Option<&str>, problem: fmt::Arguments<'_>) {
        self.number += 1;
        if self.number <= MAX_WARNINGS {
            let (server, method, item) = (self.server, self.method, item.map(|item| line(item, MAX_LENGTH)));
            let problem = line(&problem.to_string(), MAX_LENGTH);
            tracing::warn!(target: "trunkline::client::calls", server, method, item, "{problem}");
        }
    }
}

impl Drop for Oddities<'_> {
    fn drop(&mut self) {
        if let Some(more) = self.number.checked_sub(MAX_WARNINGS).filter(|more| *more > 0) {
            let (server, method) = (self.server, self.method);
            tracing::warn!(target: "trunkline::client::calls", server, method, "the message has {more} more oddities");
        }
    }
}

/// Mends one result, or the parameters of one message.
struct Mender<'m> {
    oddities: Oddities<'m>,
    /// Set for parameters. A conversation without one of its messages, or a form without one of its
    /// fields, is another request: items of required lists are not left out.
    is_request: bool,
}

impl Mender<'_> {
    fn mended(mut self, model: &ObjectDescription, mut members: ObjectMembers) -> Result<RawJson, Fault> {
        self.members(model, &mut members, &Place::Root)?;
        Ok(RawJson::object(&members))
    }

    /// Mends the members of an object.
    fn members(
        &mut self,
        model: &ObjectDescription,
        members: &mut ObjectMembers,
        place: &Place<'_>,
    ) -> Result<(), Fault> {
        for field in model.fields {
            let is_needed =
                matches!(field.presence, Presence::Required | Presence::List) || is_constraint(model, field);
            let place = Place::Member(place, field.json, is_needed);
            if let Err(fault) = self.member(field, members, &place) {
                let default = MEMBER_DEFAULTS.iter().find(|(of, member, _)| (*of, *member) == (model.name, field.json));
                let default = default.and_then(|(.., json)| RawValue::from_string((*json).to_owned()).ok());
                let Some(value) = default else { return Err(fault) };
                self.warn(&place, format_args!("{fault}: the library assumes {value}"));
                members.insert(field.json.to_owned(), value);
            }
        }
        Ok(())
    }

    fn member(
        &mut self,
        field: &FieldDescription,
        members: &mut ObjectMembers,
        place: &Place<'_>,
    ) -> Result<(), Fault> {
        let given = members.get(field.json);
        let Some(value) = given.filter(|value| value.get() != "null") else {
            match (given.is_some(), field.presence) {
                (true, _) if is_nullable(field) => {}
                (_, Presence::Required) => return Err(Fault::missing(field.json)),
                (true, Presence::List) => rewriting::set(members, field.json, &[(); 0]),
                (true, _) => drop(members.shift_remove(field.json)),
                (false, _) => {}
            }
            return Ok(());
        };
        match self.value(field.readable(), value, place) {
            Ok(None) => {}
            Ok(Some(mended)) => drop(members.insert(field.json.to_owned(), mended)),
            Err(fault) if place.is_needed() => return Err(fault.within(field.json)),
            Err(fault) => {
                self.warn(place, format_args!("ignored {place}: {fault}"));
                members.shift_remove(field.json);
            }
        }
        Ok(())
    }

    fn value(&mut self, ty: Type, value: &RawValue, place: &Place<'_>) -> Mended {
        let text = value.get();
        if is_well_typed(ty, None, text.as_bytes()) {
            return Ok(None);
        }
        match (ty, text.as_bytes()[0]) {
            (Type::List(of) | Type::OneOrList(of), b'[') => self.list(*of, value, place),
            (Type::OneOrList(of) | Type::OrFalse(of), _) => self.value(*of, value, place),
            (Type::Map(of), b'{') => self.map(*of, value, place),
            (Type::Model(model), b'{') => self.object(model, value, place),
            (Type::Union(union), b'{') => self.union(union, value, place),
            (Type::Integer | Type::Duration, _) => match number_in_digits(text) {
                Some(digits) => Ok(RawValue::from_string(digits).ok()),
                None => Err(Fault::mistyped(ty, text)),
            },
            (Type::Number, b'-' | b'0'..=b'9') => Ok(held_number(ty, text)),
            // The name may be written with escapes.
            (Type::Values(values), b'"') => match serde_json::from_str::<String>(text) {
                Ok(name) if values.values.iter().any(|(known, _)| *known == name) => Ok(None),
                _ => Err(Fault::mistyped(ty, text)),
            },
            _ => Err(Fault::mistyped(ty, text)),
        }
    }

    /// Leaves out the items that cannot be used.
    fn list(&mut self, of: Type, value: &RawValue, place: &Place<'_>) -> Mended {
        let items: Vec<&RawValue> = read(value)?;
        let needs_all = self.is_request && place.is_needed();
        let mut kept = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let place = Place::Item(place, index, item);
            match self.value(of, item, &place) {
                Err(fault) if needs_all => return Err(fault.at(index)),
                Ok(mended) => kept.push(mended.map_or(Cow::Borrowed(item), Cow::Owned)),
                Err(fault) => self.warn(&place, format_args!("left out {place}: {fault}")),
            }
        }
        Ok(to_raw_value(&kept).ok())
    }

    fn map(&mut self, of: Type, value: &RawValue, place: &Place<'_>) -> Mended {
        let needs_all = self.is_request && place.is_needed();
        let mut kept = ObjectMembers::new();
        for (name, item) in read::<ObjectMembers>(value)? {
            let place = Place::Member(place, &name, false);
            match self.value(of, &item, &place) {
                Err(fault) if needs_all => return Err(fault.within(&name)),
                Ok(mended) => kept.insert(name.clone(), mended.unwrap_or(item)),
                Err(fault) => {
                    self.warn(&place, format_args!("left out {place}: {fault}"));
                    None
                }
            };
        }
        Ok(to_raw_value(&kept).ok())
    }

    fn object(&mut self, model: &ObjectDescription, value: &RawValue, place: &Place<'_>) -> Mended {
        let mut members: ObjectMembers = read(value)?;
        self.members(model, &mut members, place)?;
        Ok(to_raw_value(&members).ok())
    }

    fn union(&mut self, union: &Union, value: &RawValue, place: &Place<'_>) -> Mended {
        let Some(tag) = union.tag else { return self.untagged(union, value, place) };
        let members: ObjectMembers = read(value)?;
        let kind = members.get(tag).map(|kind| kind.get()).filter(|kind| *kind != "null");
        let Some(kind) = kind else { return Err(Fault::missing(tag)) };
        let Ok(kind) = serde_json::from_str::<String>(kind) else {
            return Err(Fault::mistyped(Type::String, kind).within(tag));
        };
        match union.variants.iter().find(|(name, _)| *name == kind) {
            Some((_, ty)) => self.value(*ty, value, place),
            None if union.open => Ok(None),
            None => Err(Fault::unknown(union).within(tag)),
        }
    }

    /// The last variant that is there counts, and its members. Those of the others may be wrong.
    fn untagged(&mut self, union: &Union, value: &RawValue, place: &Place<'_>) -> Mended {
        let mut members: ObjectMembers = read(value)?;
        let field_of = |(member, ty): &(&str, Type)| match ty {
            Type::Model(model) => model.fields.iter().find(|field| field.json == *member).map(|field| (*model, field)),
            _ => None,
        };
        let variants: Vec<_> = union.variants.iter().filter_map(field_of).collect();
        let given = |field: &FieldDescription| members.get(field.json).filter(|value| value.get() != "null");
        let is_typed = |value: &RawValue, ty| is_well_typed(ty, None, value.get().as_bytes());
        let typed = |(_, field): &&(_, &FieldDescription)| given(field).is_some_and(|value| is_typed(value, field.ty));
        let chosen = variants.iter().rev().find(typed);
        let Some((model, chosen)) = chosen.or_else(|| variants.iter().rev().find(|(_, field)| given(field).is_some()))
        else {
            return Err(Fault::none_of(union));
        };
        for (_, field) in variants.iter().filter(|(_, field)| field.json != chosen.json) {
            let field = FieldDescription { presence: Presence::Optional, ..**field };
            self.member(&field, &mut members, &Place::Member(place, field.json, false))?;
        }
        self.members(model, &mut members, place)?;
        Ok(to_raw_value(&members).ok())
    }

    fn warn(&mut self, place: &Place<'_>, problem: fmt::Arguments<'_>) {
        self.oddities.warn(place.name().as_deref(), problem);
    }
}

fn read<'a, T: serde::Deserialize<'a>>(value: &'a RawValue) -> Result<T, Fault> {
    serde_json::from_str(value.get()).map_err(|error| Fault::unreadable(&error))
}

/// A place in a result or in parameters, such as `tools[3].annotations`.
enum Place<'p> {
    Root,
    /// The object, the name of its member, and whether the object is of no use without it.
    Member(&'p Place<'p>, &'p str, bool),
    Item(&'p Place<'p>, usize, &'p RawValue),
}

impl Place<'_> {
    fn is_needed(&self) -> bool {
        matches!(self, Self::Member(.., true))
    }

    /// The name of the item of a list that it is in.
    fn name(&self) -> Option<String> {
        match self {
            Self::Root => None,
            Self::Member(outer, ..) => outer.name(),
            Self::Item(outer, _, item) => outer.name().or_else(|| name_of(item)),
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Member(Self::Root, member, _) => f.write_str(member),
            Self::Member(outer, member, _) => write!(f, "{outer}.{member}"),
            Self::Item(outer, index, _) => write!(f, "{outer}[{index}]"),
        }
    }
}

fn name_of(item: &RawValue) -> Option<String> {
    let members: ObjectMembers = serde_json::from_str(item.get()).ok()?;
    ["name", "uri", "uriTemplate", "taskId"].into_iter().find_map(|key| rewriting::text(&members, key))
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use super::*;
    use crate::tests::kept_log::KeptLog;
    use serde_json::{Value, json};

    fn read(method: &str, given: &Value) -> Value {
        usable(None, method, RawJson::from_value(given).unwrap()).unwrap().parse().unwrap()
    }

    /// A value of a type whose optional members are `null`, or, if `deep`, have such values.
    fn with_nulls(ty: Type, deep: bool) -> Value {
        match ty {
            Type::Boolean => json!(false),
            Type::Integer | Type::Number | Type::Duration => json!(1),
            Type::Json | Type::Object => json!({}),
            Type::Values(values) => json!(values.values[0].0),
            Type::String | Type::OneOf(_) => json!("a:b"),
            Type::List(of) => json!([with_nulls(*of, deep)]),
            Type::Map(of) => json!({"a": with_nulls(*of, deep)}),
            Type::OneOrList(of) | Type::OrFalse(of) => with_nulls(*of, deep),
            Type::Union(union) => {
                let mut value = with_nulls(union.variants[0].1, deep);
                if let Some(tag) = union.tag {
                    value[tag] = json!(union.variants[0].0);
                }
                value
            }
            Type::Model(model) => {
                let mut value = json!({});
                for field in model.fields {
                    let is_parent = matches!(field.ty, Type::List(_) | Type::Map(_) | Type::Model(_) | Type::Union(_));
                    let is_needed = matches!(field.presence, Presence::Required | Presence::List);
                    value[field.json] = match is_needed || (deep && is_parent) {
                        true => with_nulls(field.readable(), deep),
                        false => Value::Null,
                    };
                }
                value
            }
        }
    }

    /// The paths of the members that are `null`.
    fn null_members(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::Null => found.push(path.to_owned()),
            Value::Array(items) => items.iter().for_each(|item| null_members(item, path, found)),
            Value::Object(members) => {
                members.iter().for_each(|(name, member)| null_members(member, &format!("{path}.{name}"), found));
            }
            _ => {}
        }
    }

    /// A gateway passes on what is read here, and servers must not send `null` for a missing
    /// member.
    #[test]
    fn no_member_that_is_null_is_kept_unless_it_is_a_value() {
        let mut kept = Vec::new();
        for (operation, deep) in CLIENT.iter().flat_map(|operation| [(operation, false), (operation, true)]) {
            let Some(ty) = operation.result else { continue };
            let (read, texts) = logged(operation.method, &with_nulls(ty, deep));
            assert!(texts.is_empty(), "{}: {texts:?}", operation.name);
            null_members(&read, operation.name, &mut kept);
        }
        kept.sort_unstable();
        kept.dedup();
        assert_eq!(kept, ["call_tool.structuredContent", "get_task.ttlMs", "list_tasks.tasks.ttlMs"]);
    }

    /// Returns the result as read, and the warnings.
    fn logged(method: &str, given: &Value) -> (Value, Vec<String>) {
        let log = KeptLog::default();
        let read = tracing::subscriber::with_default(log.clone(), || read(method, given));
        (read, log.take())
    }

    fn check_warnings<const N: usize>(rows: [(&str, Value, Value, &str); N]) {
        for (method, given, read_as, warning) in rows {
            let (read, texts) = logged(method, &given);
            assert_eq!(read, read_as, "{given}");
            assert!(texts.iter().any(|text| text.contains(warning)), "{warning}: {texts:?}");
        }
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
            ("tools/call", json!({}), json!({"content": []})),
            ("custom/method", json!({"content": null}), json!({"content": null})),
        ] {
            assert_eq!(logged(method, &given), (read_as, vec![]), "{given}");
        }
    }

    #[test]
    fn an_item_that_cannot_be_used_does_not_cost_the_others() {
        let (read, texts) = logged(
            "tools/list",
            &json!({"tools": [
                {"name": "good", "inputSchema": {"type": "object"}},
                {"name": "bare"}, {"name": "void", "inputSchema": null}, {"title": "nameless"}, {"name": 7}, 7,
            ]}),
        );
        let any = json!({"type": "object"});
        let tool = |name: &str| json!({"name": name, "inputSchema": any});
        assert_eq!(read, json!({"tools": [tool("good"), tool("bare"), tool("void")]}));
        assert_eq!(texts.len(), 5, "{texts:?}");
        for part in [
            "item=bare",
            "item=void",
            "left out tools[3]: `name` is missing",
            "left out tools[4]: `name` must be a string, not 7",
            "left out tools[5]: must be an object, not 7",
        ] {
            assert!(texts.iter().any(|text| text.contains(part)), "{part}: {texts:?}");
        }
    }

    #[test]
    fn what_is_odd_in_a_call_is_left_out_with_a_warning() {
        let block = |more: Value| {
            let mut block = json!({"type": "text", "text": "t"});
            block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"content": [block]})
        };
        check_warnings([
            (
                "tools/call",
                json!({"content": [], "isError": "yes"}),
                json!({"content": []}),
                "ignored isError: must be true or false, not a string",
            ),
            (
                "tools/call",
                json!({"content": [], "_meta": []}),
                json!({"content": []}),
                "ignored _meta: must be an object, not an array",
            ),
            (
                "tools/call",
                block(json!({"annotations": 5})),
                block(json!({})),
                "ignored content[0].annotations: must be an object, not 5",
            ),
            (
                "tools/call",
                block(json!({"annotations": {"priority": "1", "own": true}})),
                block(json!({"annotations": {"own": true}})),
                "ignored content[0].annotations.priority: must be a number, not a string",
            ),
            (
                "tools/call",
                block(json!({"annotations": {"audience": ["user", 5]}})),
                block(json!({"annotations": {"audience": ["user"]}})),
                "left out content[0].annotations.audience[1]: must be a string, not 5",
            ),
            (
                "tools/call",
                json!({"content": [7, "x"]}),
                json!({"content": []}),
                "left out content[1]: must be an object, not a string",
            ),
            (
                "tools/call",
                json!({"content": [{"type": "text", "text": {}}]}),
                json!({"content": []}),
                "left out content[0]: `text` must be a string, not an object",
            ),
            (
                "tools/call",
                json!({"content": [{"type": "resource", "resource": {"uri": "a:b"}}]}),
                json!({"content": []}),
                "left out content[0]: `resource` needs `text` or `blob`",
            ),
        ]);
    }

    #[test]
    fn what_is_odd_in_other_results_is_left_out_as_well() {
        check_warnings([
            (
                "resources/list",
                json!({"resources": [{"uri": "a:b", "name": "r", "size": "5", "icons": [{"src": "a:b"}, {"sizes": []}]}]}),
                json!({"resources": [{"uri": "a:b", "name": "r", "icons": [{"src": "a:b"}]}]}),
                "left out resources[0].icons[1]: `src` is missing",
            ),
            (
                "resources/read",
                json!({"contents": [{"uri": "a:b", "text": 5, "blob": "AA=="}]}),
                json!({"contents": [{"uri": "a:b", "blob": "AA=="}]}),
                "ignored contents[0].text: must be a string, not 5",
            ),
            (
                "prompts/get",
                json!({"messages": [{"role": "user", "content": "hi"}]}),
                json!({"messages": []}),
                "left out messages[0]: `content` must be an object, not a string",
            ),
            (
                "completion/complete",
                json!({"completion": {"values": ["a", 5], "hasMore": "no"}}),
                json!({"completion": {"values": ["a"]}}),
                "ignored completion.hasMore: must be true or false, not a string",
            ),
            (
                "tasks/result",
                json!({"content": [], "isError": 1}),
                json!({"content": []}),
                "ignored isError: must be true or false, not 1",
            ),
        ]);
    }

    /// Numbers that no machine type can represent keep their digits.
    #[test]
    fn an_integer_may_have_a_fraction_of_zero_and_any_length() {
        let size = |written: &str| {
            let text =
                format!(r#"{{"resources":[{{"uri":"a:b","name":"r","size":{written}}}],"_meta":{{"n":1e999}}}}"#);
            RawJson::from_text(text.into()).unwrap()
        };
        let long = "9".repeat(400);
        for (written, read) in [("5.0", "5"), ("1e3", "1000"), (&long, &long)] {
            assert_eq!(usable(None, "resources/list", size(written)).unwrap(), size(read));
        }
    }

    #[test]
    fn a_result_with_nothing_to_deliver_is_refused() {
        for (method, given, problem) in [
            (
                "tools/call",
                json!({"content": "hi"}),
                "the result of tools/call: `content` must be an array, not a string",
            ),
            // A list under another name is not an empty one.
            ("prompts/get", json!({"message": []}), "the result of prompts/get: `messages` is missing"),
            ("tools/list", json!({"tools": {}}), "the list of tools/list has a page without the array \"tools\""),
            (
                "completion/complete",
                json!({"completion": 5}),
                "the result of completion/complete: `completion` must be an object, not 5",
            ),
            (
                "completion/complete",
                json!({"completion": {"values": "a"}}),
                "`completion.values` must be an array, not a string",
            ),
        ] {
            let error = usable(None, method, RawJson::from_value(&given).unwrap()).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn the_log_names_the_first_oddities_and_counts_the_others() {
        let (read, texts) = logged("resources/list", &json!({"resources": vec![5; 1_000]}));
        assert_eq!((read, texts.len()), (json!({"resources": []}), MAX_WARNINGS + 1));
        assert!(texts[MAX_WARNINGS].contains("984 more"), "{texts:?}");
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
            assert_eq!(usable(None, method, raw).unwrap().as_str(), text);
        }
    }
}
