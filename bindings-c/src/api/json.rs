//! JSON.

use std::borrow::Cow;
use std::ffi::c_void;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::edge::prelude::*;
use crate::json::{find, typed};

/// Finds the value at a JSON pointer (RFC 6901) such as "/content/0/text"; "" is the whole. `value`
/// is a slice of `json`: JSON again, so a string keeps its quotes. `TRUNKLINE_NOT_FOUND` if there
/// is nothing at that place, `TRUNKLINE_INVALID_ARGUMENT` if `json` is not JSON.
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

/// The text of the string at a JSON pointer, without quotes and escapes. `value` is yours:
/// `trunkline_text_free`. `TRUNKLINE_NOT_FOUND` also if the value is not a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_get_text(
    json: trunkline_str,
    pointer: trunkline_str,
    value: *mut *mut trunkline_text,
) -> trunkline_result {
    guard_result(|| {
        let (json, pointer, value) = (text!(json), text!(pointer), out!(value));
        let found: Text = typed::<Cow<'_, str>>(json, pointer, "a string").map(|text| Text::copy(text.as_bytes()))?;
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

/// The truth value at a JSON pointer. `TRUNKLINE_NOT_FOUND` also if the value is neither true nor
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

/// Writes a text as a JSON string, quotes and escapes included. `json` is yours:
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

/// Writes bytes as a JSON string in Base64, such as the `data` of an image or a `blob`. `json` is
/// yours: `trunkline_text_free`.
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
