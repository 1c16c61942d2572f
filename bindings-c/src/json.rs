//! The little JSON that a C program needs to read arguments and results and to write answers.

use std::borrow::Cow;
use std::ffi::c_void;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::{Failure, trunkline_error, trunkline_result};
use crate::ffi::{bytes, guard, out, quietly, text};
use crate::text::{Text, trunkline_str, trunkline_text};

/// JSON that goes through as it is; empty text means none.
pub(crate) fn raw<'a>(argument: &str, json: &'a str) -> Result<Option<&'a RawValue>, Failure> {
    if json.is_empty() {
        return Ok(None);
    }
    serde_json::from_str(json).map(Some).map_err(|reason| Failure::not_json(argument, &reason))
}

/// Finds the value at a JSON pointer (RFC 6901) such as "/content/0/text"; "" is the whole. `value`
/// is a slice of `json`: JSON again, so a string keeps its quotes. `TRUNKLINE_NOT_FOUND` if there
/// is nothing at that place, `TRUNKLINE_INVALID` if `json` is not JSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_get(
    json: trunkline_str,
    pointer: trunkline_str,
    value: *mut trunkline_str,
) -> trunkline_result {
    quietly(|| {
        let (json, pointer, value) = (text!(json), text!(pointer), out!(value));
        value.put(trunkline_str::slice(find(json, pointer)?));
        Ok(())
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
    quietly(|| {
        let (json, pointer, value) = (text!(json), text!(pointer), out!(value));
        let found: Text = typed::<Cow<'_, str>>(json, pointer, "a string").map(|text| Text::copy(text.as_bytes()))?;
        value.put(found.give());
        Ok(())
    })
}

/// The number at a JSON pointer. `TRUNKLINE_NOT_FOUND` also if the value is not a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_get_number(
    json: trunkline_str,
    pointer: trunkline_str,
    value: *mut f64,
) -> trunkline_result {
    quietly(|| {
        let (json, pointer, value) = (text!(json), text!(pointer), out!(value));
        value.put(typed(json, pointer, "a number")?);
        Ok(())
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
    quietly(|| {
        let (json, pointer, value) = (text!(json), text!(pointer), out!(value));
        value.put(typed(json, pointer, "true or false")?);
        Ok(())
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
        json.put(Text::new(written).give());
        Ok(())
    })
}

/// Writes bytes as a JSON string in Base64, such as the `data` of an image or a `blob`. `json` is yours: `trunkline_text_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_base64(
    data: *const c_void,
    len: usize,
    json: *mut *mut trunkline_text,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (data, json) = (trunkline_str { data: data.cast(), len }, out!(json));
        json.put(Text::new(format!("\"{}\"", STANDARD.encode(bytes!(data))).into_bytes()).give());
        Ok(())
    })
}

fn typed<'a, T: Deserialize<'a>>(json: &'a str, pointer: &str, wanted: &str) -> Result<T, Failure> {
    let value = find(json, pointer)?;
    serde_json::from_str(value).map_err(|_| Failure::not_found(format!("the value at \"{pointer}\" is not {wanted}")))
}

/// The value at a JSON pointer, as it is written.
pub(crate) fn find<'a>(json: &'a str, pointer: &str) -> Result<&'a str, Failure> {
    let mut tokens = pointer.split('/');
    if tokens.next() != Some("") {
        return Err(Failure::invalid("a JSON pointer is empty or starts with \"/\""));
    }
    let mut value = json.trim_matches([' ', '\t', '\n', '\r']);
    if pointer.is_empty() {
        serde_json::from_str::<IgnoredAny>(value).map_err(|reason| Failure::not_json("json", &reason))?;
    }
    for token in tokens {
        let token = token.replace("~1", "/").replace("~0", "~");
        let mut deserializer = serde_json::Deserializer::from_str(value);
        let found = match value.as_bytes().first() {
            Some(b'{') => deserializer.deserialize_map(Step(&token)),
            Some(b'[') => deserializer.deserialize_seq(Step(&token)),
            _ => IgnoredAny::deserialize(&mut deserializer).map(|_| None),
        };
        let found = found.and_then(|found| deserializer.end().map(|()| found));
        let found = found.map_err(|reason| Failure::not_json("json", &reason))?;
        value = found.ok_or_else(|| Failure::not_found(format!("there is nothing at \"{pointer}\"")))?.get();
    }
    Ok(value)
}

/// One step of a pointer: the member or element of that name, as it is written. The rest is
/// skipped, not built.
struct Step<'t>(&'t str);

/// A member's name, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Visitor<'de> for Step<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(Key(key)) = map.next_key()? {
            if key == self.0 {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let wanted = self.0.parse::<usize>().ok();
        let (mut index, mut found) = (0, None);
        while let Some(element) = elements.next_element()? {
            if Some(index) == wanted {
                found = Some(element);
            }
            index += 1;
        }
        Ok(found)
    }
}
