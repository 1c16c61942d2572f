//! Unparsed JSON.

use super::{finite, located, surrogates};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

/// One JSON value as text: a slice of the receive buffer that is parsed on demand.
#[derive(Clone, PartialEq, Eq)]
pub struct RawJson(Bytes);

/// Writes the JSON.
impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawJson({self})")
    }
}

impl RawJson {
    /// Wraps text that is known to be one JSON value in UTF-8.
    #[doc(hidden)]
    pub fn trusted(text: Bytes) -> Self {
        Self(text)
    }

    /// The JSON as a string.
    pub fn as_str(&self) -> &str {
        // The bytes were valid UTF-8 at creation.
        str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The part of `buffer` that `raw` borrows from it.
    #[doc(hidden)]
    pub fn slice_of(buffer: &Bytes, raw: &RawValue) -> Self {
        Self(buffer.slice_ref(raw.get().as_bytes()))
    }

    /// Serializes a value to JSON.
    ///
    /// # Errors
    /// If the value cannot be represented in JSON: a map with keys that are not strings, or a
    /// number that is NaN or infinite, whose path the error names.
    pub fn from_value(value: &impl Serialize) -> serde_json::Result<Self> {
        let text = serde_json::to_vec(value)?;
        // Such a number was written as `null`, so values without `null` need no second check.
        if memchr::memmem::find(&text, b"null").is_some() {
            finite::check(value, &text)?;
        }
        Ok(Self(text.into()))
    }

    /// Checks that the text is exactly one JSON value. Lone surrogates in its strings become
    /// U+FFFD.
    ///
    /// # Errors
    /// If it is not.
    pub fn from_text(text: Bytes) -> serde_json::Result<Self> {
        let text = match surrogates::mended(&text) {
            Cow::Owned(mended) => mended.into(),
            Cow::Borrowed(_) => text,
        };
        serde_json::from_slice::<&RawValue>(&text)?;
        Ok(Self(text))
    }

    /// Deserializes the value into a type.
    ///
    /// # Errors
    /// If the value has a different shape.
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> serde_json::Result<T> {
        // Checking the encoding of the whole text at once is faster than checking each string.
        serde_json::from_str(self.as_str())
    }

    /// As [`Self::parse`], but the error says which member is wrong and what was expected there.
    #[doc(hidden)]
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, String> {
        located::from_str(self.as_str()).map_err(|error| error.describe())
    }

    /// The JSON as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns whether it may have this member, or contain this string. A quick test to avoid
    /// parsing: what is written with escapes counts as well.
    #[doc(hidden)]
    pub fn may_mention(&self, text: &str) -> bool {
        memchr::memmem::find(&self.0, text.as_bytes()).is_some() || self.may_have_escaped_names()
    }

    /// Returns whether a name in it may be written with escapes, so that a search for it as text
    /// does not find it.
    #[doc(hidden)]
    pub fn may_have_escaped_names(&self) -> bool {
        let Some(first) = memchr::memchr(b'\\', &self.0) else { return false };
        ["\\u", "\\/"].iter().any(|escape| memchr::memmem::find(&self.0[first..], escape.as_bytes()).is_some())
    }

    /// An object that can always be represented; `{}` otherwise.
    #[doc(hidden)]
    pub fn object(value: &impl Serialize) -> Self {
        Self::from_value(value).unwrap_or_else(|_| Self::empty_object())
    }

    /// `{}`
    pub fn empty_object() -> Self {
        Self(Bytes::from_static(b"{}"))
    }

    /// The underlying buffer, to take slices of it.
    #[doc(hidden)]
    pub fn buffer(&self) -> &Bytes {
        &self.0
    }

    /// The underlying buffer.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text: Box<str> = Box::<RawValue>::deserialize(deserializer)?.into();
        Ok(Self(String::from(text).into()))
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.parse::<&RawValue>().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn it_is_shown_as_its_text() {
        let raw = RawJson::from_value(&json!({"name": "ä"})).unwrap();
        assert_eq!((raw.as_str(), &*raw.to_string()), (r#"{"name":"ä"}"#, r#"{"name":"ä"}"#));
        assert_eq!(format!("{raw:?}"), r#"RawJson({"name":"ä"})"#);
    }

    #[test]
    fn text_has_no_halves_of_surrogate_pairs() {
        let raw = RawJson::from_text(Bytes::from_static(br#"{"\ud83d": "\ud83d\ude00\ude00"}"#)).unwrap();
        assert_eq!(raw.parse::<serde_json::Value>().unwrap(), json!({"\u{fffd}": "\u{1f600}\u{fffd}"}));
    }

    #[test]
    fn what_does_not_fit_is_said_with_its_place_and_without_its_length() {
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "it is only read")]
        struct Params {
            name: String,
            inner: Option<Inner>,
        }
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "it is only read")]
        struct Inner {
            size: u32,
        }
        let said = |value| RawJson::from_value(&value).unwrap().read::<Params>().unwrap_err();
        assert_eq!(said(json!({})), "`name` is missing");
        assert_eq!(said(json!({"name": 7})), "name: must be a string, not 7");
        assert_eq!(said(json!({"name": "x", "inner": {}})), "inner: `size` is missing");
        // Miri takes minutes for the longer one.
        let length = if cfg!(miri) { 1000 } else { 100_000 };
        let long = said(json!({"name": "x", "inner": {"size": "ä".repeat(length)}}));
        assert_eq!(long, "inner.size: must be a non-negative integer, not a string");
    }
}
