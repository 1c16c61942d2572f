//! The JSON functions that a C program needs: values that pass through unchanged, and values at a
//! pointer.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use trunkline::protocol::surrogates::mended;

use crate::edge::failure::Failure;

/// A JSON value, deserialized.
pub(crate) fn read<T: DeserializeOwned>(argument: &str, json: &str) -> Result<T, Failure> {
    serde_json::from_slice(&mended(json.as_bytes())).map_err(|reason| Failure::not_json(argument, &reason))
}

/// JSON to read values from.
pub(crate) fn parsed(argument: &str, json: &str) -> Result<Value, Failure> {
    read(argument, json)
}

/// A JSON object, as a map of its members.
pub(crate) fn object<T: DeserializeOwned>(argument: &str, json: &str) -> Result<BTreeMap<String, T>, Failure> {
    read(argument, json)
}

/// JSON to read values from; the empty string means none.
pub(crate) fn parsed_or_none(argument: &str, json: &str) -> Result<Option<Value>, Failure> {
    if json.is_empty() { Ok(None) } else { parsed(argument, json).map(Some) }
}

/// Required JSON that passes through unchanged.
pub(crate) fn required<'a>(argument: &str, json: &'a str) -> Result<&'a RawValue, Failure> {
    raw(argument, json)?.ok_or_else(|| Failure::invalid(format!("the argument `{argument}` must be JSON; it is empty")))
}

/// JSON that passes through unchanged; the empty string means none.
pub(crate) fn raw<'a>(argument: &str, json: &'a str) -> Result<Option<&'a RawValue>, Failure> {
    if json.is_empty() {
        return Ok(None);
    }
    serde_json::from_str(json).map(Some).map_err(|reason| Failure::not_json(argument, &reason))
}

pub(crate) fn typed<T: DeserializeOwned>(json: &str, pointer: &str, wanted: &str) -> Result<T, Failure> {
    let value = mended(find(json, pointer)?.as_bytes());
    serde_json::from_slice(&value)
        .map_err(|_| Failure::not_found(format!("the value at \"{pointer}\" is not {wanted}")))
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
        if self.0.is_empty() {
            return Ok(None);
        }
        let object = RawValue::from_string(self.0 + "}");
        object.map(Some).map_err(|reason| Failure::internal(reason.to_string()))
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

/// The name of a member, borrowed if it has no escapes.
#[derive(Deserialize)]
struct PointerKey<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Visitor<'de> for PointerStep<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(PointerKey(key)) = map.next_key()? {
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
