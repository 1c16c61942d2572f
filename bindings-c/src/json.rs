//! JSON: values that pass through unchanged, and the functions for values at a pointer, of which
//! `generated/values.rs` has those for numbers and booleans.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use trunkline::protocol::{integers, surrogates::mended};

use crate::edge::prelude::*;

/// A JSON value, deserialized.
pub(crate) fn read<T: DeserializeOwned>(argument: &str, json: &str) -> Result<T, Failure> {
    serde_json::from_slice(&mended(json.as_bytes())).map_err(|reason| Failure::not_json(argument, &reason))
}

/// JSON to read values from.
pub(crate) fn parsed(argument: &str, json: &str) -> Result<Value, Failure> {
    read(argument, json)
}

/// JSON to read values from; the empty string means none.
pub(crate) fn parsed_or_none(argument: &str, json: &str) -> Result<Option<Value>, Failure> {
    (!json.is_empty()).then(|| parsed(argument, json)).transpose()
}

/// Required JSON that passes through unchanged.
pub(crate) fn required<'a>(argument: &str, json: &'a str) -> Result<&'a RawValue, Failure> {
    raw(argument, json)?.ok_or_else(|| Failure::invalid(format!("the argument `{argument}` must be JSON; it is empty")))
}

/// JSON that passes through unchanged; the empty string means none.
pub(crate) fn raw<'a>(argument: &str, json: &'a str) -> Result<Option<&'a RawValue>, Failure> {
    let value = (!json.is_empty()).then(|| serde_json::from_str(json));
    value.transpose().map_err(|reason| Failure::not_json(argument, &reason))
}

pub(crate) fn typed<T: DeserializeOwned>(json: &str, pointer: &str, wanted: &str) -> Result<T, Failure> {
    let json = mended(find(json, pointer)?.as_bytes());
    let value = serde_json::from_slice(&json).or_else(|_| integers::from_value(&serde_json::from_slice(&json)?));
    value.map_err(|_| Failure::not_found(format!("the value at \"{pointer}\" is not {wanted}")))
}

/// Builds the params of a request; JSON members pass through unchanged.
#[derive(Default)]
pub(crate) struct ParamsBuilder(String);

impl ParamsBuilder {
    pub(crate) fn text(self, name: &str, text: &str) -> Self {
        self.member(name, &Value::from(text).to_string())
    }

    /// A required member; `argument` is its name in C.
    pub(crate) fn required(self, name: &str, argument: &str, json: &str) -> Result<Self, Failure> {
        Ok(self.member(name, required(argument, json)?.get()))
    }

    /// A member that is omitted if the argument is empty.
    pub(crate) fn optional(self, name: &str, argument: &str, json: &str) -> Result<Self, Failure> {
        Ok(match raw(argument, json)? {
            Some(json) => self.member(name, json.get()),
            None => self,
        })
    }

    /// The object; `None` if it has no members.
    pub(crate) fn raw(self) -> Result<Option<Box<RawValue>>, Failure> {
        let object = (!self.0.is_empty()).then(|| RawValue::from_string(self.0 + "}"));
        object.transpose().map_err(Failure::internal)
    }

    fn member(self, name: &str, json: &str) -> Self {
        let before = if self.0.is_empty() { "{" } else { "," };
        Self(format!("{}{before}\"{name}\":{json}", self.0))
    }
}

/// The value at a JSON pointer, as written.
pub(crate) fn find<'a>(json: &'a str, pointer: &str) -> Result<&'a str, Failure> {
    let mut tokens = pointer.split('/');
    if tokens.next() != Some("") {
        return Err(Failure::invalid("a JSON pointer must be empty or start with \"/\""));
    }
    let mut value = json.trim_matches([' ', '\t', '\n', '\r']);
    if pointer.is_empty() {
        serde_json::from_str::<IgnoredAny>(value).map_err(|reason| Failure::not_json("json", &reason))?;
    }
    for token in tokens {
        let token = token.replace("~1", "/").replace("~0", "~");
        let mut deserializer = serde_json::Deserializer::from_str(value);
        let found = match value.as_bytes().first() {
            Some(b'{') => deserializer.deserialize_map(PointerStep(&token)),
            Some(b'[') => deserializer.deserialize_seq(PointerStep(&token)),
            _ => IgnoredAny::deserialize(&mut deserializer).map(|_| None),
        };
        let found = found.and_then(|found| deserializer.end().map(|()| found));
        let found = found.map_err(|reason| Failure::not_json("json", &reason))?;
        value = found.ok_or_else(|| Failure::not_found(format!("there is nothing at \"{pointer}\"")))?.get();
    }
    Ok(value)
}

/// The element of an array, or the member of an object and its name, at `cursor`, as written. Start
/// with 0; the cursor then moves past it. `None` at the end. Reads only that part of the bytes, so
/// that iterating over all of them takes linear time.
pub(crate) fn next<'a>(json: &'a [u8], cursor: &mut usize) -> Result<Option<(&'a str, &'a str)>, Failure> {
    let wrong = |problem: &str, at: usize| Failure::invalid(format!("json: {problem} at byte {at}"));
    let begin = skip_space(json, 0);
    let close = match json.get(begin) {
        Some(b'[') => b']',
        Some(b'{') => b'}',
        _ => return Err(wrong("expected an array or an object", begin)),
    };
    let at = skip_space(json, if *cursor == 0 { begin + 1 } else { *cursor });
    if json.get(at) == Some(&close) {
        return Ok(None);
    }
    let (key, from) = if close == b'}' {
        let (key, end) = value_at(json, at)?;
        let colon = skip_space(json, end);
        if !key.starts_with('"') || json.get(colon) != Some(&b':') {
            return Err(wrong("expected a name and a colon", at));
        }
        (&key[1..key.len() - 1], colon + 1)
    } else {
        ("", at)
    };
    let (value, end) = value_at(json, from)?;
    let end = skip_space(json, end);
    *cursor = match json.get(end) {
        Some(b',') if json.get(skip_space(json, end + 1)) != Some(&close) => end + 1,
        Some(byte) if *byte == close => end,
        _ => return Err(wrong("expected a comma or the end", end)),
    };
    Ok(Some((key, value)))
}

/// The first value at or after `from`, as written, and the position after it.
fn value_at(json: &[u8], from: usize) -> Result<(&str, usize), Failure> {
    let rest = json.get(from..).ok_or_else(|| Failure::invalid("the cursor does not belong to this JSON"))?;
    let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<&RawValue>();
    match values.next() {
        Some(Ok(value)) => Ok((value.get(), from + values.byte_offset())),
        Some(Err(reason)) => Err(Failure::not_json("json", &reason)),
        None => Err(Failure::invalid(format!("json: unexpected end at byte {from}"))),
    }
}

fn skip_space(json: &[u8], from: usize) -> usize {
    let space = json.iter().skip(from).take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    from + space.count()
}

/// One step of a pointer: the member or element with that name, as written. The rest is skipped
/// without being built.
struct PointerStep<'t>(&'t str);

/// Returns whether the name of a member, as written, is `token`. A lone surrogate in it is U+FFFD.
fn is_named(name: &RawValue, token: &str) -> bool {
    let written = &name.get()[1..name.get().len() - 1];
    let is_escaped =
        || serde_json::from_slice::<String>(&mended(name.get().as_bytes())).is_ok_and(|name| name == token);
    written == token || written.contains('\\') && is_escaped()
}

impl<'de> Visitor<'de> for PointerStep<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some((name, value)) = map.next_entry()? {
            found = is_named(name, self.0).then_some(value).or(found);
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let wanted = self.0.parse::<usize>().ok().filter(|index| index.to_string() == self.0);
        let (mut index, mut found) = (0, None);
        while let Some(element) = elements.next_element()? {
            found = found.or((Some(index) == wanted).then_some(element));
            index += 1;
        }
        Ok(found)
    }
}

/// The kinds of JSON values.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum trunkline_json_kind {
    TRUNKLINE_JSON_NULL = 0,
    TRUNKLINE_JSON_BOOL = 1,
    TRUNKLINE_JSON_NUMBER = 2,
    TRUNKLINE_JSON_STRING = 3,
    TRUNKLINE_JSON_ARRAY = 4,
    TRUNKLINE_JSON_OBJECT = 5,
}

/// Finds the value at a JSON pointer (RFC 6901) such as "/content/0/text"; "" is the whole
/// document. `value` is a slice of `json`: still JSON, so a string keeps its quotes.
/// `TRUNKLINE_NOT_FOUND` if there is nothing there, `TRUNKLINE_INVALID_ARGUMENT` if `json` is not
/// valid JSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_get(
    json: trunkline_str,
    pointer: trunkline_str,
    value: *mut trunkline_str,
) -> trunkline_result {
    guard_result(|| out!(value).finish(trunkline_str::slice(find(text!(json), text!(pointer))?)))
}

/// The string at a JSON pointer, without quotes and escapes. The caller owns `value`; free it with
/// `trunkline_text_free`. `TRUNKLINE_NOT_FOUND` if there is no string there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_get_text(
    json: trunkline_str,
    pointer: trunkline_str,
    value: *mut *mut trunkline_text,
) -> trunkline_result {
    guard_result(|| {
        let (value, text) = (out!(value), typed::<String>(text!(json), text!(pointer), "a string")?);
        value.finish(Text::new(text).give())
    })
}

/// The kind of the value at a JSON pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_get_kind(
    json: trunkline_str,
    pointer: trunkline_str,
    kind: *mut trunkline_json_kind,
) -> trunkline_result {
    guard_result(|| {
        out!(kind).finish(match find(text!(json), text!(pointer))?.as_bytes().first() {
            Some(b'{') => trunkline_json_kind::TRUNKLINE_JSON_OBJECT,
            Some(b'[') => trunkline_json_kind::TRUNKLINE_JSON_ARRAY,
            Some(b'"') => trunkline_json_kind::TRUNKLINE_JSON_STRING,
            Some(b't' | b'f') => trunkline_json_kind::TRUNKLINE_JSON_BOOL,
            Some(b'n') => trunkline_json_kind::TRUNKLINE_JSON_NULL,
            _ => trunkline_json_kind::TRUNKLINE_JSON_NUMBER,
        })
    })
}

/// The number of elements of the array, or of members of the object, at a JSON pointer.
/// `TRUNKLINE_INVALID_ARGUMENT` if the value is neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_get_count(
    json: trunkline_str,
    pointer: trunkline_str,
    count: *mut usize,
) -> trunkline_result {
    guard_result(|| {
        let (count, value) = (out!(count), find(text!(json), text!(pointer))?.as_bytes());
        let (mut cursor, mut number) = (0, 0);
        while next(value, &mut cursor)?.is_some() {
            number += 1;
        }
        count.finish(number)
    })
}

/// Iterates over an array or an object, one element or member per call, in linear time; `json` is
/// the array or object itself, such as a value from `trunkline_json_get`. `cursor` starts at 0.
/// `key` is the name of a member as written between its quotes, empty in an array; it may be NULL.
/// `value` is JSON. Both are slices of `json`. `TRUNKLINE_NOT_FOUND` at the end,
/// `TRUNKLINE_INVALID_ARGUMENT` if `json` is neither an array nor an object, or is invalid up to
/// this point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_next(
    json: trunkline_str,
    cursor: *mut usize,
    key: *mut trunkline_str,
    value: *mut trunkline_str,
) -> trunkline_result {
    guard_result(|| {
        let value = out!(value);
        let found = next(bytes!(json), handle_mut!(cursor))?;
        let (name, found) = found.ok_or_else(|| Failure::not_found("there are no more elements"))?;
        out_or_null!(key)(trunkline_str::slice(name));
        value.finish(trunkline_str::slice(found))
    })
}

/// Writes a JSON string, adding quotes and escapes. The caller owns `json`; free it with
/// `trunkline_text_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_string(
    text: trunkline_str,
    json: *mut *mut trunkline_text,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || out!(json).finish(Text::new(serde_json::to_vec(text!(text)).map_err(Failure::internal)?).give()))
}

/// Writes bytes as a Base64 JSON string, such as the `data` of an image or a `blob`. The caller
/// owns `json`; free it with `trunkline_text_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_base64(
    data: *const c_void,
    len: usize,
    json: *mut *mut trunkline_text,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let data = trunkline_str { data: data.cast(), len };
        out!(json).finish(Text::new(format!("\"{}\"", STANDARD.encode(bytes!(data)))).give())
    })
}
