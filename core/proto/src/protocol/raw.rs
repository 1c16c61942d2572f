//! JSON text that nobody has had to read yet.

use super::{finite, serde_words::reworded, surrogates};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

/// The text of one JSON value: a slice of the buffer it arrived in, parsed where someone reads it.
#[derive(Clone, PartialEq, Eq)]
pub struct RawJson(Bytes);

/// The text.
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
    /// Text that is already known to be one JSON value in UTF-8.
    #[doc(hidden)]
    pub fn trusted(text: Bytes) -> Self {
        Self(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        // It was UTF-8 when it was made.
        str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The part of `buffer` that `raw` borrows from it.
    #[doc(hidden)]
    pub fn slice_of(buffer: &Bytes, raw: &RawValue) -> Self {
        Self(buffer.slice_ref(raw.get().as_bytes()))
    }

    /// Writes a value as JSON.
    ///
    /// # Errors
    /// If the value cannot be serialized as JSON: a map with keys that are not strings, or a number
    /// that is NaN or infinite, whose place the error names.
    pub fn from_value(value: &impl Serialize) -> serde_json::Result<Self> {
        let text = serde_json::to_vec(value)?;
        // Such a number was written as `null`, so that most values are not looked at again.
        if memchr::memmem::find(&text, b"null").is_some() {
            finite::check(value)?;
        }
        Ok(Self(text.into()))
    }

    /// Checks that the text is exactly one JSON value. Halves of surrogate pairs in its strings
    /// become U+FFFD.
    ///
    /// # Errors
    /// Where it is not.
    pub fn from_text(text: Bytes) -> serde_json::Result<Self> {
        let text = match surrogates::mended(&text) {
            Cow::Owned(mended) => mended.into(),
            Cow::Borrowed(_) => text,
        };
        serde_json::from_slice::<&RawValue>(&text)?;
        Ok(Self(text))
    }

    /// Reads the value as a type.
    ///
    /// # Errors
    /// If the value has another shape.
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> serde_json::Result<T> {
        serde_json::from_slice(&self.0)
    }

    /// As [`Self::parse`]; the error says in words which member is wrong and what was expected
    /// there.
    #[doc(hidden)]
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, String> {
        self.parse().map_err(|error| {
            // The path costs time, so it is only looked for when something is wrong.
            let mut again = serde_json::Deserializer::from_slice(&self.0);
            let located = serde_path_to_error::deserialize::<_, T>(&mut again).err();
            let path = located.map(|error| error.path().to_string()).filter(|path| path != ".");
            let words = error.to_string();
            if let Some(problem) = too_deep(&words) {
                return problem.to_owned();
            }
            // A line and a column say nothing to whoever did not write the text.
            let words = words.rfind(" at line ").filter(|_| error.is_data()).map_or(&*words, |end| &words[..end]);
            match path {
                Some(path) => {
                    // Objects of the model name the member themselves.
                    let member = path.rsplit('.').next().unwrap_or_default();
                    let own = words.strip_prefix(&format!("`{member}`: ")).unwrap_or(words);
                    format!("{path}: {}", shortened(&reworded(own)))
                }
                None => shortened(&reworded(words)),
            }
        })
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
    #[doc(hidden)]
    pub fn buffer(&self) -> &Bytes {
        &self.0
    }

    /// The buffer behind the text.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }
}

/// The words for serde's error about JSON that nests deeper than can be read.
#[doc(hidden)]
pub fn too_deep(words: &str) -> Option<&'static str> {
    let is_it = words.starts_with("recursion limit exceeded");
    is_it.then_some("it nests deeper than 128 levels, the most that max_nesting allows")
}

/// Such errors repeat the unexpected value, which may be of any length.
fn shortened(words: &str) -> String {
    const HALF: usize = 100;
    let length = words.chars().count();
    if length <= 2 * HALF {
        return words.to_owned();
    }
    words.chars().take(HALF).chain(['…']).chain(words.chars().skip(length - HALF)).collect()
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
