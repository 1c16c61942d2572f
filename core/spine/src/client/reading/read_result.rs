//! Reads results and parameters as models.

use crate::{
    client::ClientError,
    composition::rewriting::{self, ObjectMembers},
    protocol::{
        RawJson,
        describe::{Described, FieldDescription, Type},
        members::members,
    },
};
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

/// Parses a result.
pub(in crate::client) fn read<T: DeserializeOwned + Described>(result: &RawJson) -> Result<T, ClientError> {
    readable(result).map_err(ClientError::InvalidResponse)
}

/// Parses a page of a list of this name. It must have items, although the model treats none as an
/// empty list.
pub(in crate::client) fn read_page<T: DeserializeOwned + Described>(
    list: &str,
    page: &RawJson,
) -> Result<T, ClientError> {
    if matches!(members(page.as_bytes(), [list]), Ok([None])) {
        return Err(ClientError::InvalidResponse(format!("missing field `{list}`")));
    }
    read(page)
}

/// Parses a result or parameters. Numbers that are too large for the types of their members are
/// read as the largest ones.
#[doc(hidden)]
pub fn readable<T: DeserializeOwned + Described>(json: &RawJson) -> Result<T, String> {
    json.read().or_else(|problem| {
        let held = json.parse().ok().map(|written| held(T::TYPE, written));
        held.and_then(|held| serde_json::from_str(held.get()).ok()).ok_or(problem)
    })
}

/// The value with numbers that the type can hold.
fn held(ty: Type, written: &RawValue) -> Box<RawValue> {
    let text = written.get();
    let held = match text.as_bytes().first() {
        Some(b'{') => serde_json::from_str::<ObjectMembers>(text).ok().and_then(|mut members| {
            let fields = fields_of(ty, &members);
            for (name, value) in &mut members {
                let field = fields.iter().find(|field| field.json == name);
                *value = held(field.map_or(Type::Json, |field| field.ty), value);
            }
            to_raw_value(&members).ok()
        }),
        Some(b'[') => serde_json::from_str::<Vec<&RawValue>>(text).ok().and_then(|items| {
            let of = match ty {
                Type::List(of) | Type::OneOrList(of) => *of,
                _ => Type::Json,
            };
            to_raw_value(&items.into_iter().map(|item| held(of, item)).collect::<Vec<_>>()).ok()
        }),
        Some(b'-' | b'0'..=b'9') => held_number(ty, text),
        _ => None,
    };
    held.unwrap_or_else(|| written.to_owned())
}

/// The largest number, if this one is larger.
pub(super) fn held_number(ty: Type, text: &str) -> Option<Box<RawValue>> {
    let number: f64 = text.parse().ok()?;
    let largest = match ty {
        Type::Integer if number >= u64::MAX as f64 && text.parse::<u64>().is_err() => u64::MAX.to_string(),
        _ if number.is_infinite() => format!("{:e}", f64::MAX.copysign(number)),
        _ => return None,
    };
    RawValue::from_string(largest).ok()
}

fn fields_of(ty: Type, members: &ObjectMembers) -> &'static [FieldDescription] {
    match ty {
        Type::Model(model) => model.fields,
        Type::Union(union) => {
            let tag = union.tag.and_then(|tag| rewriting::text(members, tag));
            let is_it = |name: &str| tag.as_deref().map_or_else(|| members.contains_key(name), |tag| tag == name);
            let variant = union.variants.iter().rev().find(|(name, _)| is_it(name));
            variant.map_or(&[], |(_, ty)| fields_of(*ty, members))
        }
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::model::{CallToolResult, ContentBlock, ListResourcesResult};

    fn raw(text: String) -> RawJson {
        RawJson::from_text(text.into()).unwrap()
    }

    #[test]
    fn numbers_that_are_too_large_are_the_largest_ones() {
        let long = "9".repeat(400);
        let list = raw(format!(
            r#"{{"resources":[{{"uri":"a:b","name":"r","size":{long}}},{{"uri":"a:b","name":"r","size":18446744073709551616,"_meta":{{"n":-1e999}}}}]}}"#
        ));
        let read: ListResourcesResult = read(&list).unwrap();
        assert!(read.resources.iter().all(|resource| resource.size == Some(u64::MAX)));
        assert_eq!(read.resources[1].meta.as_ref().unwrap()["n"], f64::MIN);
        let block = format!(r#"{{"type":"text","text":"t","annotations":{{"priority":{long}}}}}"#);
        let call: CallToolResult = super::read(&raw(format!(r#"{{"content":[{block}]}}"#))).unwrap();
        let ContentBlock::Text(block) = &call.content[0] else { panic!("{call:?}") };
        assert_eq!(block.annotations.as_ref().unwrap().priority, Some(f64::MAX));
    }

    #[test]
    fn what_else_is_wrong_stays_an_error() {
        let error = read::<CallToolResult>(&raw(r#"{"content":[],"isError":"yes"}"#.to_owned())).unwrap_err();
        assert_eq!(error.to_string(), "Invalid response: isError: must be true or false, not \"yes\"");
    }
}
