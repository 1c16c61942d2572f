//! JSON.

use std::ffi::c_void;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::edge::ffi::borrow_mut;
use crate::edge::prelude::*;
use crate::json::{find, next, typed};

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
    guard_result(|| {
        let (json, pointer, value) = (text!(json), text!(pointer), out!(value));
        value.finish(trunkline_str::slice(find(json, pointer)?))
    })
}

/// The string at a JSON pointer, without quotes and escapes. The caller owns `value`; free it with
/// `trunkline_text_free`. `TRUNKLINE_NOT_FOUND` also if the value is not a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_get_text(
    json: trunkline_str,
    pointer: trunkline_str,
    value: *mut *mut trunkline_text,
) -> trunkline_result {
    guard_result(|| {
        let (json, pointer, value) = (text!(json), text!(pointer), out!(value));
        let found: Text = typed::<String>(json, pointer, "a string").map(|text| Text::copy(text.as_bytes()))?;
        value.finish(found.give())
    })
}

/// The number at a JSON pointer. `TRUNKLINE_NOT_FOUND` also if the value is not a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_get_number(
    json: trunkline_str,
    pointer: trunkline_str,
    value: *mut f64,
) -> trunkline_result {
    guard_result(|| {
        let (json, pointer, value) = (text!(json), text!(pointer), out!(value));
        value.finish(typed(json, pointer, "a number")?)
    })
}

/// The integer at a JSON pointer, exactly: a double has only 53 bits. `TRUNKLINE_NOT_FOUND` also if
/// the value is not an integer, or exceeds 64 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_get_int64(
    json: trunkline_str,
    pointer: trunkline_str,
    value: *mut i64,
) -> trunkline_result {
    guard_result(|| {
        let (json, pointer, value) = (text!(json), text!(pointer), out!(value));
        value.finish(typed(json, pointer, "a 64-bit integer")?)
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
        let (json, pointer, kind) = (text!(json), text!(pointer), out!(kind));
        kind.finish(match find(json, pointer)?.as_bytes().first() {
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
        let (json, pointer, count) = (text!(json), text!(pointer), out!(count));
        let (value, mut cursor, mut number) = (find(json, pointer)?.as_bytes(), 0, 0);
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
        let (json, value, key) = (bytes!(json), out!(value), out_or_null!(key));
        // SAFETY: the conventions of the header: NULL, or a number of the caller's.
        let cursor = unsafe { borrow_mut(cursor, "cursor") }?;
        let (name, found) =
            next(json, cursor)?.ok_or_else(|| Failure::not_found("there are no more elements".to_owned()))?;
        key(trunkline_str::slice(name));
        value.finish(trunkline_str::slice(found))
    })
}

/// The boolean at a JSON pointer. `TRUNKLINE_NOT_FOUND` also if the value is neither true nor
/// false.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_get_bool(
    json: trunkline_str,
    pointer: trunkline_str,
    value: *mut bool,
) -> trunkline_result {
    guard_result(|| {
        let (json, pointer, value) = (text!(json), text!(pointer), out!(value));
        value.finish(typed(json, pointer, "true or false")?)
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
    guard(error, || {
        let (text, json) = (text!(text), out!(json));
        let written = serde_json::to_vec(text).map_err(|reason| Failure::internal(reason.to_string()))?;
        json.finish(Text::new(written).give())
    })
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
        let (data, json) = (trunkline_str { data: data.cast(), len }, out!(json));
        json.finish(Text::new(format!("\"{}\"", STANDARD.encode(bytes!(data))).into_bytes()).give())
    })
}
