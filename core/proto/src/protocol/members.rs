//! Finds members of JSON objects without parsing the others.

use super::{
    RawJson, RequestId,
    describe::FieldDescription,
    json_scan::{behind_string, next_structural, skip_string, unescaped},
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
pub fn members<'a, const N: usize>(json: &'a [u8], names: [&str; N]) -> MembersFound<'a, N> {
    let mut found = Found::new(names);
    each_member(behind_brace(json), |key, text| found.add(key, text));
    found.all()
}

/// Finds members of an object that is itself a member of `json`. `None` if there is no such object.
///
/// # Errors
/// If `json` has the member twice; in the result, if that object has one of its members twice.
pub fn members_of_member<'a, const N: usize>(
    json: &'a [u8],
    name: &str,
    names: [&str; N],
) -> Result<MembersOfMember<'a, N>, DuplicateMember> {
    members_at_both_depths(json, [], name, names).1
}

/// [`members`] and [`members_of_member`] in one pass.
pub fn members_at_both_depths<'a, const M: usize, const N: usize>(
    json: &'a [u8],
    outer_names: [&str; M],
    name: &str,
    names: [&str; N],
) -> (MembersFound<'a, M>, Result<MembersOfMember<'a, N>, DuplicateMember>) {
    let (mut outer, mut object, mut inner) = (Found::new(outer_names), Found::new([name]), None);
    each_member(behind_brace(json), |key, text| {
        if key.index_among(&[name]).is_none() {
            return outer.add(key, text);
        }
        if !text.starts_with(b"{") {
            return object.add(key, text);
        }
        let mut found = Found::new(names);
        let after = each_member(&text[1..], |key, text| found.add(key, text));
        object.put(0, &text[..text.len() - after.len()]);
        inner = Some(found);
        after
    });
    let of_object = object.all().map(|[object]| object.zip(inner).map(|(object, found)| (object, found.all())));
    (outer.all(), of_object)
}

/// An object, and the members that were found in it.
pub type MembersOfMember<'a, const N: usize> = Option<(MemberValue<'a>, MembersFound<'a, N>)>;

/// The values of members, in the order of their names.
pub type MembersFound<'a, const N: usize> = Result<[Option<MemberValue<'a>>; N], DuplicateMember>;

struct Found<'a, 'n, const N: usize> {
    names: [&'n str; N],
    values: [Option<MemberValue<'a>>; N],
    /// The index of a member that occurs twice.
    duplicate: Option<usize>,
}

impl<'a, 'n, const N: usize> Found<'a, 'n, N> {
    fn new(names: [&'n str; N]) -> Self {
        Self { names, values: [None; N], duplicate: None }
    }

    /// Adds a member whose value `text` begins with. Returns the text behind the value.
    fn add(&mut self, key: Key<'_>, text: &'a [u8]) -> &'a [u8] {
        let (value, after) = text.split_at(length(text));
        if let Some(index) = key.index_among(&self.names) {
            self.put(index, value);
        }
        after
    }

    fn put(&mut self, index: usize, value: &'a [u8]) {
        if self.values[index].replace(MemberValue(value)).is_some() {
            self.duplicate.get_or_insert(index);
        }
    }

    fn all(self) -> MembersFound<'a, N> {
        match self.duplicate {
            Some(index) => Err(DuplicateMember(self.names[index].to_owned())),
            None => Ok(self.values),
        }
    }
}

/// A key between its quotes.
pub(super) struct Key<'a> {
    text: &'a [u8],
    is_escaped: bool,
}

impl Key<'_> {
    pub(super) fn is(&self, name: &str) -> bool {
        self.index_among(&[name]).is_some()
    }

    /// The field that it names.
    pub(super) fn index_in(&self, fields: &[FieldDescription]) -> Option<usize> {
        if !self.is_escaped {
            return fields.iter().position(|field| self.text == field.json.as_bytes());
        }
        let key = unescaped(self.text);
        fields.iter().position(|field| key == field.json)
    }

    fn index_among(&self, names: &[&str]) -> Option<usize> {
        if !self.is_escaped {
            return names.iter().position(|name| self.text == name.as_bytes());
        }
        let key = unescaped(self.text);
        names.iter().position(|name| key == *name)
    }
}

/// Visits the members of the object whose first member `rest` begins with, and returns the text
/// behind the object. `visit` gets a key and the text from its value on, and returns the text
/// behind the value.
pub(super) fn each_member<'a>(mut rest: &'a [u8], mut visit: impl FnMut(Key<'a>, &'a [u8]) -> &'a [u8]) -> &'a [u8] {
    while let Some(key) = rest.trim_ascii_start().strip_prefix(b"\"") {
        let (after, is_escaped) = skip_string(key);
        let key = Key { text: &key[..key.len().saturating_sub(after.len() + 1)], is_escaped };
        let value = after.trim_ascii_start().strip_prefix(b":").unwrap_or_default().trim_ascii_start();
        let after = visit(key, value).trim_ascii_start();
        rest = after.strip_prefix(b",").unwrap_or(after);
    }
    rest.trim_ascii_start().strip_prefix(b"}").unwrap_or_default()
}

pub(super) fn behind_brace(json: &[u8]) -> &[u8] {
    json.trim_ascii_start().strip_prefix(b"{").unwrap_or_default()
}

/// An object has this member twice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the member {0} is there twice")]
pub struct DuplicateMember(pub String);

/// The length of the value at the beginning of a text.
pub(super) fn length(text: &[u8]) -> usize {
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
mod tests;
