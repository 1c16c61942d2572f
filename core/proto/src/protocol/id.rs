//! JSON-RPC request ids, kept exactly as received (RPC-03, RPC-07).

use super::RawJson;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::value::RawValue;
use std::fmt;

/// The id of a request: a string or an integer. `1` and `"1"` are different ids.
///
/// It does not implement `Serialize`: a `serde_json::Value` cannot hold integers of more than 308
/// digits, so `json!` would panic. [`RequestId::to_raw`] is its JSON.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RequestId {
    /// An integer that fits 64 bits.
    Integer(i64),
    /// A longer integer, digit for digit.
    BigInteger(Box<str>),
    /// A string.
    String(Box<str>),
}

impl RequestId {
    /// Parses an id from its JSON. `null`, fractions and other types are not ids.
    pub fn from_json(text: &str) -> Option<Self> {
        if text.starts_with('"') {
            return serde_json::from_str(text).ok().map(Self::String);
        }
        if let Ok(integer) = text.parse::<i64>() {
            return (text != "-0").then_some(Self::Integer(integer));
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| Self::BigInteger(text.into()))
    }

    /// The id as JSON, digit for digit.
    pub fn to_raw(&self) -> RawJson {
        RawJson::trusted(serde_json::to_vec(&self.as_written()).unwrap_or_default().into())
    }

    /// Writes the id digit for digit into the JSON of a message.
    pub(crate) fn as_written(&self) -> impl Serialize {
        struct Written<'a>(&'a RequestId);

        impl Serialize for Written<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.0 {
                    RequestId::Integer(integer) => serializer.serialize_i64(*integer),
                    RequestId::BigInteger(digits) => {
                        let digits: &RawValue = serde_json::from_str(digits).map_err(serde::ser::Error::custom)?;
                        digits.serialize(serializer)
                    }
                    RequestId::String(string) => serializer.serialize_str(string),
                }
            }
        }
        Written(self)
    }

    /// The number of bytes it holds on the heap.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Integer(_) => 0,
            Self::BigInteger(text) | Self::String(text) => text.len(),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_json(text.get()).ok_or_else(|| D::Error::custom("an id is a string or an integer"))
    }
}

/// Ids of tests are short.
#[cfg(test)]
impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_written().serialize(serializer)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(integer) => write!(f, "{integer}"),
            Self::BigInteger(digits) => f.write_str(digits),
            Self::String(string) => write!(f, "{string:?}"),
        }
    }
}

impl From<i64> for RequestId {
    fn from(integer: i64) -> Self {
        Self::Integer(integer)
    }
}

impl From<&str> for RequestId {
    fn from(string: &str) -> Self {
        Self::String(string.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rpc_03_ids_are_kept_exactly() {
        for text in ["0", "-7", "9223372036854775807", "18446744073709551616", "\"1\"", "\"\"", "\"a\\\"b\""] {
            let id = RequestId::from_json(text).unwrap();
            assert_eq!(id.to_raw().as_str(), text);
        }
        assert_ne!(RequestId::from_json("1"), RequestId::from_json("\"1\""));
    }

    #[test]
    fn rpc_04_other_types_are_no_ids() {
        for text in ["null", "1.5", "1e3", "true", "{}", "[]", "-", "-0"] {
            assert_eq!(RequestId::from_json(text), None, "{text}");
        }
    }
}
