//! JSON text that nobody has had to read yet.

use super::surrogates;
use bytes::Bytes;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

/// The text of one JSON value: a slice of the buffer it arrived in, parsed where someone reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawJson(Bytes);

impl RawJson {
    /// Text that is already known to be one JSON value in UTF-8.
    pub(crate) fn trusted(text: Bytes) -> Self {
        Self(text)
    }

    /// The part of `buffer` that `raw` borrows from it.
    pub(crate) fn slice_of(buffer: &Bytes, raw: &RawValue) -> Self {
        Self(buffer.slice_ref(raw.get().as_bytes()))
    }

    /// Writes a value as JSON.
    ///
    /// # Errors
    /// If the value cannot be JSON (a map with keys that are not strings, say).
    pub fn from_value(value: &impl Serialize) -> serde_json::Result<Self> {
        serde_json::to_vec(value).map(|text| Self(text.into()))
    }

    /// Checks that the text is exactly one JSON value.
    ///
    /// # Errors
    /// Where it is not.
    pub fn from_text(text: Bytes) -> serde_json::Result<Self> {
        serde_json::from_slice::<&RawValue>(&text)?;
        Ok(Self(text))
    }

    /// The same for text of a host, whose strings may hold halves of surrogate pairs: JavaScript's do. They have no UTF-8 form, so
    /// nobody could read the text; each becomes U+FFFD.
    ///
    /// # Errors
    /// As [`Self::from_text`].
    pub(crate) fn from_host_text(text: Bytes) -> serde_json::Result<Self> {
        Self::from_text(match surrogates::mended(&text) {
            Some(mended) => mended.into(),
            None => text,
        })
    }

    /// Reads the value as a type.
    ///
    /// # Errors
    /// If the value has another shape.
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> serde_json::Result<T> {
        serde_json::from_slice(&self.0)
    }

    /// The text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// `{}`
    pub fn empty_object() -> Self {
        Self(Bytes::from_static(b"{}"))
    }

    /// The buffer behind the text, for slices of it.
    pub(crate) fn buffer(&self) -> &Bytes {
        &self.0
    }

    /// The buffer behind the text.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.parse::<&RawValue>().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}
