//! Checks JSON against a described type, in one pass that allocates nothing: nearly everything that
//! servers send is well-typed, and some of it is large.

use super::{
    describe::{FieldDescription, Presence, Type, Union},
    json_scan::behind_string,
    members::{Key, behind_brace, each_member, length},
};

/// The variants of a union without a tag are checked together.
const MAX_VARIANTS: usize = 4;

/// Below this length, a number without an exponent is not too large for floating point.
const MAX_PLAIN_DIGITS: usize = 300;

/// Returns whether `json`, which must be valid JSON, is of a type. Required members must be there,
/// and `null` only where it is a value. Unknown members may be anything. `needed` names a member of
/// an object that counts as required.
pub fn is_well_typed(ty: Type, needed: Option<&str>, json: &[u8]) -> bool {
    let text = json.trim_ascii_start();
    match ty {
        Type::Model(_) => behind_object(&[("", ty)], needed, text),
        _ => behind(ty, text),
    }
    .is_some()
}

/// The text behind the value that `text` begins with, if that is of the type.
fn behind(ty: Type, text: &[u8]) -> Option<&[u8]> {
    match ty {
        Type::Json => behind_any(text),
        Type::String | Type::OneOf(_) => text.strip_prefix(b"\"").map(behind_string),
        Type::Values(values) => {
            let after = behind_string(text.strip_prefix(b"\"")?);
            let name = text.get(1..text.len() - after.len() - 1)?;
            (values.open || values.values.iter().any(|(known, _)| known.as_bytes() == name)).then_some(after)
        }
        Type::Boolean => text.strip_prefix(b"true").or_else(|| text.strip_prefix(b"false")),
        Type::Integer | Type::Duration => behind_digits(text),
        Type::Number => behind_number(text),
        Type::Object => text.first().filter(|first| **first == b'{').and(behind_any(text)),
        Type::OrFalse(of) => text.strip_prefix(b"false").or_else(|| behind(*of, text)),
        Type::OneOrList(of) if !text.starts_with(b"[") => behind(*of, text),
        Type::OneOrList(of) | Type::List(of) => behind_list(*of, text),
        Type::Map(of) => behind_members(text, |_, value| behind(*of, value)),
        Type::Model(_) => behind_object(&[("", ty)], None, text),
        Type::Union(union) => behind_union(union, text),
    }
}

fn behind_any(text: &[u8]) -> Option<&[u8]> {
    Some(&text[length(text)..]).filter(|after| after.len() < text.len())
}

/// An integer as nearly all are written. Others may still be integers, such as `5.0`.
fn behind_digits(text: &[u8]) -> Option<&[u8]> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let after = &text[digits..];
    (digits > 0 && !matches!(after.first(), Some(b'.' | b'e' | b'E'))).then_some(after)
}

/// A number that floating point can represent.
fn behind_number(text: &[u8]) -> Option<&[u8]> {
    text.first().filter(|first| **first == b'-' || first.is_ascii_digit())?;
    let after = behind_any(text)?;
    let number = &text[..text.len() - after.len()];
    let is_plain = number.len() < MAX_PLAIN_DIGITS && !number.iter().any(|byte| matches!(byte, b'e' | b'E'));
    let is_finite = || str::from_utf8(number).ok()?.trim_end().parse().ok().filter(|number: &f64| number.is_finite());
    (is_plain || is_finite().is_some()).then_some(after)
}

fn behind_list(of: Type, text: &[u8]) -> Option<&[u8]> {
    let mut rest = text.strip_prefix(b"[")?.trim_ascii_start();
    while *rest.first()? != b']' {
        rest = behind(of, rest)?.trim_ascii_start();
        rest = rest.strip_prefix(b",").unwrap_or(rest).trim_ascii_start();
    }
    Some(&rest[1..])
}

/// The text behind an object, if `visit` finds the text behind each value.
fn behind_members<'a>(
    text: &'a [u8],
    mut visit: impl FnMut(Key<'_>, &'a [u8]) -> Option<&'a [u8]>,
) -> Option<&'a [u8]> {
    text.strip_prefix(b"{")?;
    let mut is_typed = true;
    let after = each_member(behind_brace(text), |key, value| {
        visit(key, value).unwrap_or_else(|| {
            is_typed = false;
            // Ends the visits.
            &[]
        })
    });
    is_typed.then_some(after)
}

/// The text behind an object of one of these models.
fn behind_object<'a>(models: &[(&str, Type)], needed: Option<&str>, text: &'a [u8]) -> Option<&'a [u8]> {
    // For each model, a bit for each member that has to be there and was not found yet.
    let mut missing = [u64::MAX; MAX_VARIANTS];
    for (missing, fields) in missing.iter_mut().zip(models.iter().map(fields_of)) {
        let is_required = |field: &FieldDescription| field.presence == Presence::Required || Some(field.json) == needed;
        let required = fields.iter().enumerate().filter(|(_, field)| is_required(field));
        *missing = required.fold(0, |all, (index, _)| all | bit(index));
    }
    let after = behind_members(text, |key, value| {
        let mut known = None;
        for (missing, fields) in missing.iter_mut().zip(models.iter().map(fields_of)) {
            if let Some(index) = key.index_in(fields) {
                *missing &= !bit(index);
                known = Some(&fields[index]);
            }
        }
        known.map_or_else(|| behind_any(value), |field| behind_member(field, value))
    })?;
    missing.contains(&0).then_some(after)
}

fn fields_of((_, ty): &(&str, Type)) -> &'static [FieldDescription] {
    match ty {
        Type::Model(model) => model.fields,
        _ => &[],
    }
}

fn bit(index: usize) -> u64 {
    1_u64.checked_shl(index as u32).unwrap_or_default()
}

fn behind_member<'a>(field: &FieldDescription, text: &'a [u8]) -> Option<&'a [u8]> {
    match text.strip_prefix(b"null") {
        None => behind(field.readable(), text),
        Some(after) => is_nullable(field).then_some(after),
    }
}

/// Returns whether `null` is a value of a member: where it is declared, and where any value is
/// required. Elsewhere it means that the member is missing.
pub fn is_nullable(field: &FieldDescription) -> bool {
    field.nullable || (field.presence == Presence::Required && matches!(field.readable(), Type::Json))
}

fn behind_union<'a>(union: &Union, text: &'a [u8]) -> Option<&'a [u8]> {
    let Some(tag) = union.tag else { return behind_object(union.variants, None, text) };
    let mut found = None;
    // Most write it first.
    let _ = behind_members(text, |key, value| {
        if !key.is(tag) {
            return behind_any(value);
        }
        let after = behind_string(value.strip_prefix(b"\"")?);
        found = value.get(1..value.len() - after.len() - 1);
        None
    });
    let found = found?;
    match union.variants.iter().find(|(name, _)| name.as_bytes() == found) {
        Some((_, ty)) => behind(*ty, text),
        // A known name may be written with escapes.
        None => (union.open && !found.contains(&b'\\')).then(|| behind_any(text)).flatten(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{
        describe::Described,
        model::{CallToolResult, ListResourcesResult, ListToolsResult, LogMessage, Progress, ReadResourceResult, Task},
    };

    fn is_typed<T: Described>(json: &str) -> bool {
        is_well_typed(T::TYPE, None, json.as_bytes())
    }

    #[test]
    fn what_servers_should_send_is_well_typed() {
        for json in [
            r#"{}"#,
            r#" { "content" : [ ] , "isError" : false , "_meta" : { } } "#,
            r#"{"content":[{"type":"text","text":"a \"b\" null"},{"text":"after","type":"text"}],"structuredContent":null}"#,
            r#"{"content":[{"type":"video","text":5},{"type":"text","text":"t","annotations":{"audience":["user","robot"],"priority":-1e-3}}]}"#,
            r#"{"content":[{"type":"resource","resource":{"uri":"a:b","text":"t"}},{"type":"resource","resource":{"blob":"t","uri":"a:b"}}]}"#,
            r#"{"content":[{"ty\u0070e":"text","te\u0078t":"t"}],"own":null}"#,
        ] {
            assert!(is_typed::<CallToolResult>(json), "{json}");
        }
        assert!(is_typed::<ListToolsResult>(
            r#"{"tools":[{"name":"a","inputSchema":{"a":[null,{"b":"]"}]},"outputSchema":{},"icons":[{"src":"a:b","sizes":["any"]}]}],"ttlMs":5}"#
        ));
        assert!(is_typed::<ListResourcesResult>(
            r#"{"resources":[{"name":"a","uri":"a:b","size":12345678901234567890123}]}"#
        ));
        assert!(is_typed::<Progress>(r#"{"progress":1e308,"total":-0.5E2}"#));
        assert!(is_typed::<LogMessage>(r#"{"level":"info","data":null}"#));
        assert!(is_typed::<Task>(
            r#"{"taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":null}"#
        ));
    }

    #[test]
    fn what_is_odd_is_found_wherever_it_is() {
        for json in [
            r#"[]"#,
            r#"null"#,
            r#"{"content":"x"}"#,
            r#"{"content":null}"#,
            r#"{"content":[null]}"#,
            r#"{"content":[],"isError":null}"#,
            r#"{"content":[],"isError":"true"}"#,
            r#"{"content":[],"isErr\u006fr":"true"}"#,
            r#"{"content":[],"_meta":[]}"#,
            r#"{"content":[{"text":"t"}]}"#,
            r#"{"content":[{"type":5,"text":"t"}]}"#,
            r#"{"content":[{"type":"text"}]}"#,
            r#"{"content":[{"type":"t\u0065xt"}]}"#,
            r#"{"content":[{"type":"text","text":"t","annotations":{"audience":"user"}}]}"#,
            r#"{"content":[{"type":"text","text":"t","annotations":{"priority":"1"}}]}"#,
            r#"{"content":[{"type":"resource","resource":{"uri":"a:b"}}]}"#,
            r#"{"content":[{"type":"resource","resource":{"uri":"a:b","text":5,"blob":"t"}}]}"#,
            r#"{"content":[{"type":"resource_link","uri":"a:b","name":"a","size":5.0}]}"#,
        ] {
            assert!(!is_typed::<CallToolResult>(json), "{json}");
        }
        for schema in ["null", "[]", "true", r#""x""#] {
            let json = format!(r#"{{"tools":[{{"name":"a","inputSchema":{schema}}}]}}"#);
            assert!(!is_typed::<ListToolsResult>(&json), "{json}");
        }
        assert!(!is_typed::<ListToolsResult>(r#"{"tools":[{"name":"a","inputSchema":{},"outputSchema":null}]}"#));
        for total in ["1e999", "-1E400", &"9".repeat(400)] {
            assert!(!is_typed::<Progress>(&format!(r#"{{"progress":1,"total":{total}}}"#)));
        }
        for time in ["-1", "null"] {
            assert!(!is_typed::<ReadResourceResult>(&format!(r#"{{"contents":[],"ttlMs":{time}}}"#)));
        }
    }

    #[test]
    fn a_member_may_be_needed() {
        let has_content = |json: &str| is_well_typed(CallToolResult::TYPE, Some("content"), json.as_bytes());
        assert!(has_content(r#"{"content":[]}"#) && !has_content("{}"));
    }

    /// Each member has a bit of a word.
    #[test]
    fn models_have_few_members_and_unions_few_variants() {
        fn check(ty: Type) {
            match ty {
                Type::Model(model) => {
                    assert!(model.fields.len() < 64, "{}", model.name);
                    model.fields.iter().for_each(|field| check(field.ty));
                }
                Type::Union(union) => {
                    assert!(union.tag.is_some() || union.variants.len() <= MAX_VARIANTS, "{}", union.name);
                    union.variants.iter().for_each(|(_, ty)| check(*ty));
                }
                Type::List(of) | Type::Map(of) | Type::OneOrList(of) | Type::OrFalse(of) => check(*of),
                _ => {}
            }
        }
        for operation in crate::protocol::operation::CLIENT {
            operation.result.into_iter().for_each(check);
        }
    }
}
