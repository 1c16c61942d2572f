//! Finds members of JSON objects without parsing the others.

use super::{
    RawJson, RequestId,
    json_scan::{behind_string, next_structural, unescaped},
};
use bytes::Bytes;
use serde::Deserialize;
use std::borrow::Cow;

/// The value of a member, as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberValue<'a>(&'a [u8]);

impl<'a> MemberValue<'a> {
    /// The value as JSON.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Returns whether the value is an object.
    pub fn is_object(self) -> bool {
        self.0.starts_with(b"{")
    }

    /// The string, if the value is one.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        let inner = self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        match inner.contains(&b'\\') {
            false => str::from_utf8(inner).ok().map(Cow::Borrowed),
            true => self.parse().ok().map(Cow::Owned),
        }
    }

    /// The id or token, if the value is one.
    pub fn id(self) -> Option<RequestId> {
        str::from_utf8(self.0).ok().and_then(RequestId::from_json)
    }

    /// Deserializes the value.
    ///
    /// # Errors
    /// If the value has a different shape.
    pub fn parse<T: Deserialize<'a>>(self) -> serde_json::Result<T> {
        serde_json::from_slice(self.0)
    }

    /// The value as a slice of the buffer that it is a part of.
    pub fn in_buffer(self, buffer: &Bytes) -> RawJson {
        RawJson::trusted(buffer.slice_ref(self.0))
    }
}

/// Finds members of an object by name. `json` must be valid JSON; anything but an object has no
/// members.
///
/// # Errors
/// If the object has one of these members twice: which one counts would depend on the reader.
pub fn members<'a, const N: usize>(
    json: &'a [u8],
    names: [&str; N],
) -> Result<[Option<MemberValue<'a>>; N], DuplicateMember> {
    let mut found = [None; N];
    let mut rest = json.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
    while let Some(key) = rest.trim_ascii_start().strip_prefix(b"\"") {
        let after = behind_string(key);
        let key = &key[..key.len().saturating_sub(after.len() + 1)];
        let value = after.trim_ascii_start().strip_prefix(b":").unwrap_or_default().trim_ascii_start();
        let (value, after) = value.split_at(length(value));
        let index = match key.contains(&b'\\') {
            false => names.iter().position(|name| key == name.as_bytes()),
            true => names.iter().position(|name| unescaped(key) == *name),
        };
        if let Some(index) = index
            && found[index].replace(MemberValue(value)).is_some()
        {
            return Err(DuplicateMember(names[index].to_owned()));
        }
        rest = after.trim_ascii_start().strip_prefix(b",").unwrap_or_default();
    }
    Ok(found)
}

/// An object has this member twice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the member {0} is there twice")]
pub struct DuplicateMember(pub String);

/// The length of the value at the beginning of a text.
fn length(text: &[u8]) -> usize {
    match text.first() {
        Some(b'"') => text.len() - behind_string(&text[1..]).len(),
        Some(b'{' | b'[') => {
            let (mut depth, mut rest) = (0_usize, text);
            while let Some((byte, after)) = next_structural(rest) {
                rest = after;
                match byte {
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' if depth <= 1 => break,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
            }
            text.len() - rest.len()
        }
        _ => text.iter().position(|byte| b",}] \t\r\n".contains(byte)).unwrap_or(text.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    fn found<'a>(json: &'a str, name: &str) -> Option<&'a str> {
        let [found] = members(json.as_bytes(), [name]).unwrap();
        found.map(|value| str::from_utf8(value.as_bytes()).unwrap())
    }

    #[test]
    fn values_are_found_as_they_are_written() {
        let json = r#" { "a" : "x\"}" , "b":[1,{"a":2}], "c":{ } ,"d":-1.5e3 ,"e" : null,"f\u0067":true} "#;
        for (name, value) in
            [("a", r#""x\"}""#), ("b", r#"[1,{"a":2}]"#), ("c", "{ }"), ("d", "-1.5e3"), ("e", "null"), ("fg", "true")]
        {
            assert_eq!(found(json, name), Some(value));
        }
        assert_eq!(found(json, "x"), None);
        for other in ["{}", "[\"a\",1]", "5", "\"a\"", ""] {
            assert_eq!(found(other, "a"), None);
        }
    }

    #[test]
    fn a_member_that_is_there_twice_is_an_error() {
        let json = br#"{"a":1,"b":2,"\u0061":3}"#;
        assert_eq!(members(json, ["a"]), Err(DuplicateMember("a".into())));
        assert!(members(json, ["b"]).is_ok());
    }

    #[test]
    fn strings_are_borrowed_where_they_can_be() {
        let [plain, escaped, number] = members(br#"{"a":"\u00e4","b":"b","c":1}"#, ["b", "a", "c"]).unwrap();
        assert!(matches!(plain.unwrap().as_str(), Some(Cow::Borrowed("b"))));
        assert_eq!(escaped.unwrap().as_str().as_deref(), Some("ä"));
        assert_eq!(number.unwrap().as_str(), None);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            r#"[\\"{}\[\],: a]{0,40}"#.prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((r#"[\\"{}:a-c]{0,20}"#, inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_same_is_found_as_by_parsing(
            values in prop::collection::vec((r#"[\\"{}:a-c]{0,20}"#, any_json()), 0..5),
            is_pretty: bool,
        ) {
            let object: Map<String, Value> = values.into_iter().collect();
            let value = Value::Object(object.clone());
            let text = if is_pretty { format!("{value:#}") } else { value.to_string() };
            for (name, expected) in &object {
                let [value] = members(text.as_bytes(), [name]).unwrap();
                prop_assert_eq!(&value.unwrap().parse::<Value>().unwrap(), expected);
            }
            prop_assert_eq!(members(text.as_bytes(), ["no such member"]), Ok([None]));
        }

        #[test]
        fn other_text_does_no_harm(text in r#"[\\"{}\[\],: 1a]{0,60}"#) {
            let _ = members(text.as_bytes(), ["a", "1"]);
        }
    }

    #[test]
    fn long_strings_are_skipped() {
        let json = json!({"long": "\\\"".repeat(10_000), "next": 1}).to_string();
        assert_eq!(found(&json, "next"), Some("1"));
    }
}
