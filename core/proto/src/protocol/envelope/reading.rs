//! Parses frames. An invalid message is either answered with an error or, if it is a response, only
//! reported.

use super::{
    Frame, FrameBounds, Malformed, Message, NoResult, Notification, Request, Response, message_members::MessageMembers,
    prepare_for,
};
use crate::protocol::{
    RawJson, RequestId, RpcError,
    error::code,
    json_scan::{behind_string, next_structural},
    method::Method,
};
use bytes::Bytes;
use memchr::memchr;
use serde::{
    Deserializer,
    de::{Error as _, SeqAccess, Visitor},
};
use serde_json::{error::Category, value::RawValue};
use std::{borrow::Cow, fmt, slice};

/// A text without the byte order mark of UTF-8, with which programs of Windows begin.
#[doc(hidden)]
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

impl Frame {
    /// Parses a frame.
    pub fn parse(frame: &Bytes, bounds: FrameBounds) -> Self {
        prepare_for(frame.len());
        let frame = &frame.slice_ref(without_mark(frame));
        // Most messages are valid. What is wrong with the others takes more passes to explain.
        if let Some(wire) = str::from_utf8(frame).ok().and_then(|text| MessageMembers::scan(text, bounds)) {
            return Self::Single(message(frame, &wire));
        }
        if let Some(excess) = excess(frame, bounds) {
            return Self::unread(frame, RpcError::invalid_request(format!("The message {excess}")));
        }
        match frame.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'[') => parse_batch(frame, bounds.elements),
            _ => Self::Single(parse_message(frame, frame)),
        }
    }

    /// Its messages.
    #[doc(hidden)]
    pub fn messages(&self) -> &[Result<Message, Malformed>] {
        match self {
            Self::Single(message) => slice::from_ref(message),
            Self::Batch(messages) => messages,
        }
    }

    /// The requests among its messages.
    #[doc(hidden)]
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        self.messages().iter().flatten().filter_map(|message| match message {
            Message::Request(request) => Some(request),
            _ => None,
        })
    }

    /// A frame of which only the beginning was received or should be read; `error` has the reason.
    #[doc(hidden)]
    pub fn unread(beginning: &[u8], error: RpcError) -> Self {
        Self::Single(unread(beginning, error))
    }
}

fn parse_batch(frame: &Bytes, max: usize) -> Frame {
    let refused = |error| Frame::Single(Err(Malformed { id: None, error }));
    let mut deserializer = serde_json::Deserializer::from_slice(frame);
    let elements =
        deserializer.deserialize_seq(Elements { max }).and_then(|elements| deserializer.end().map(|()| elements));
    match elements {
        Ok(elements) if elements.is_empty() => refused(RpcError::invalid_request("The batch is empty")),
        Ok(elements) => {
            Frame::Batch(elements.iter().map(|element| parse_message(frame, element.get().as_bytes())).collect())
        }
        // With raw elements, only their number can be wrong.
        Err(error) if error.is_data() => {
            refused(RpcError::invalid_request(format!("A batch can contain at most {max} messages")))
        }
        Err(error) => refused(unreadable(&error)),
    }
}

/// Reads an array up to a maximum number of elements, because a small element takes far more space
/// in memory than on the wire.
struct Elements {
    max: usize,
}

impl<'de> Visitor<'de> for Elements {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of at most {} messages", self.max)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = array.next_element()? {
            if elements.len() == self.max {
                return Err(A::Error::custom("too many"));
            }
            elements.push(element);
        }
        Ok(elements)
    }
}

fn parse_message(buffer: &Bytes, text: &[u8]) -> Result<Message, Malformed> {
    // Only an element of a batch can be an array here. Serde would read it as the members in order.
    if text.first() == Some(&b'[') {
        return Err(Malformed { id: None, error: not_an_object() });
    }
    let wire = match str::from_utf8(text).map_or_else(|_| serde_json::from_slice(text), serde_json::from_str) {
        Ok(wire) => wire,
        // Serde's message repeats a string or number, whatever its length.
        Err(error) if error.is_data() && !text.trim_ascii_start().starts_with(b"{") => {
            return Err(Malformed { id: None, error: not_an_object() });
        }
        Err(error) => return unread(text, unreadable(&error)),
    };
    message(buffer, &wire)
}

fn message(buffer: &Bytes, wire: &MessageMembers<'_>) -> Result<Message, Malformed> {
    if wire.method.is_none() && (wire.result.is_some() || wire.error.is_some()) {
        return Ok(Message::Response(parse_response(buffer, wire)));
    }
    let id = wire.id.and_then(RequestId::from_json);
    let refuse = |message: &str| Malformed { id: id.clone(), error: RpcError::invalid_request(message) };
    if wire.id.is_some() && id.is_none() {
        return Err(refuse("The id must be a string or an integer"));
    }
    check_version(wire).map_err(&refuse)?;
    let method = wire.method.ok_or_else(|| refuse("The message has no method, no result and no error"))?;
    if wire.result.is_some() || wire.error.is_some() {
        return Err(refuse("A message with a method cannot have a result or an error"));
    }
    let method = match Method::known_name(method.trim_matches('"')) {
        Some(known) => Cow::Borrowed(known),
        None => serde_json::from_str(method).map_err(|_| refuse("The member method must be a string"))?,
    };
    let params = match wire.params {
        Some(object) if object.starts_with('{') => Some(kept(buffer, object)),
        Some("null") | None => None,
        Some(_) => return Err(refuse("The member params must be an object")),
    };
    Ok(match id {
        Some(id) => Message::Request(Request { id, method, params }),
        None => Message::Notification(Notification { method, params }),
    })
}

/// Overhead below which a member is not copied.
const MAX_OVERHEAD: usize = 4096;

/// The JSON of a member. A slice keeps the whole buffer alive, so a small part of it is copied. The
/// memory held by a message is thus about the size of its members.
fn kept(buffer: &Bytes, text: &str) -> RawJson {
    if buffer.len() > text.len().saturating_mul(2).saturating_add(MAX_OVERHEAD) {
        return RawJson::trusted(Bytes::copy_from_slice(text.as_bytes()));
    }
    RawJson::trusted(buffer.slice_ref(text.as_bytes()))
}

fn check_version(wire: &MessageMembers<'_>) -> Result<(), &'static str> {
    match wire.jsonrpc {
        Some("\"2.0\"") => Ok(()),
        _ => Err("The member jsonrpc must be \"2.0\""),
    }
}

fn parse_response(buffer: &Bytes, wire: &MessageMembers<'_>) -> Response {
    let id = wire.id.and_then(RequestId::from_json);
    let outcome = parse_outcome(buffer, wire, id.is_some());
    Response { id, outcome }
}

/// Some peers always write both members, with `null` for the unused one.
fn parse_outcome(buffer: &Bytes, wire: &MessageMembers<'_>, has_id: bool) -> Result<RawJson, NoResult> {
    let invalid = |problem: &str| NoResult::InvalidResponse(problem.to_owned());
    check_version(wire).map_err(invalid)?;
    let error = wire.error.filter(|error| *error != "null");
    let result = wire.result.filter(|result| error.is_none() || *result != "null");
    match (result, error) {
        (Some(result), None) if has_id => Ok(kept(buffer, result)),
        (Some(_), None) => Err(invalid("A result needs the id of its request")),
        (None, Some(error)) => {
            let object = Some(error).filter(|text| text.starts_with('{'));
            let problem = "The member error must be an object with an integer code and a message";
            let error = object.and_then(|text| serde_json::from_str(text).ok());
            Err(error.map_or_else(|| invalid(problem), NoResult::Error))
        }
        (Some(_), Some(_)) => Err(invalid("A response has either a result or an error")),
        (None, None) => Err(invalid("The member error is null, and there is no result")),
    }
}

/// The readable part of an invalid message.
#[derive(Debug, Default, PartialEq)]
pub struct Beginning {
    /// Its id, if readable.
    pub id: Option<RequestId>,
    /// True for a response.
    pub response: bool,
}

impl Beginning {
    /// Reads the members before the long or broken one, which usually include id and method.
    pub fn of(text: &[u8]) -> Self {
        let mut found = Self::default();
        found.read(text);
        found
    }

    fn read(&mut self, text: &[u8]) -> Option<()> {
        let text = std::str::from_utf8(text).unwrap_or_else(|error| {
            let (whole, _) = text.split_at(error.valid_up_to());
            std::str::from_utf8(whole).unwrap_or_default()
        });
        let (mut rest, mut has_method) = (text.trim_start().strip_prefix('{')?, false);
        loop {
            let (key, after) = first_value(rest)?;
            match key {
                "\"result\"" | "\"error\"" => {
                    self.response = !has_method;
                    return None;
                }
                "\"jsonrpc\"" | "\"id\"" | "\"method\"" => {}
                _ => return None,
            }
            let (value, after) = first_value(after.strip_prefix(':')?)?;
            if key == "\"id\"" {
                // With two ids, it is unclear which one is meant.
                if self.id.take().is_some() {
                    return None;
                }
                self.id = RequestId::from_json(value);
            }
            has_method |= key == "\"method\"";
            rest = after.strip_prefix(',')?;
        }
    }
}

/// Splits text into its first JSON value and the rest. A value at the very end of the text may be
/// incomplete.
fn first_value(text: &str) -> Option<(&str, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let value = values.next()?.ok()?.get();
    let after = text[values.byte_offset()..].trim_start();
    (!after.is_empty()).then_some((value, after))
}

/// The error for an invalid message. Its first character decides whether it is answered.
fn unread(text: &[u8], error: RpcError) -> Result<Message, Malformed> {
    match Beginning::of(text) {
        Beginning { id, response: true } => {
            Ok(Message::Response(Response { id, outcome: Err(NoResult::InvalidResponse(error.message)) }))
        }
        Beginning { id, .. } => Err(Malformed { id, error }),
    }
}

fn not_an_object() -> RpcError {
    RpcError::invalid_request("Not a JSON-RPC message: it must be an object")
}

fn unreadable(error: &serde_json::Error) -> RpcError {
    match error.classify() {
        Category::Data => RpcError::invalid_request(format!("Not a JSON-RPC message: {error}")),
        _ => RpcError::new(code::PARSE_ERROR, format!("Parse error: {error}")),
    }
}

/// The reason why a frame exceeds its limits, if it does.
pub fn excess(text: &[u8], bounds: FrameBounds) -> Option<String> {
    // Each level and each value takes at least one byte.
    if text.len() <= bounds.nesting.min(bounds.values).min(bounds.number) {
        return None;
    }
    if has_longer_number(text, bounds.number) {
        return Some(format!("has a number of more than {} characters", bounds.number));
    }
    scan(text, bounds).err()
}

/// Returns whether a run of characters outside strings is longer than a number may be.
fn has_longer_number(mut text: &[u8], longest: usize) -> bool {
    let is_in_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    while text.len() > longest {
        let (outside, string) = text.split_at(memchr(b'"', text).unwrap_or(text.len()));
        if outside.split(|byte| !is_in_number(byte)).any(|run| run.len() > longest) {
            return true;
        }
        text = string.get(1..).map_or(&[], behind_string);
    }
    false
}

/// Counts the JSON values of a frame, including members of objects.
pub fn count_values(text: &[u8]) -> usize {
    scan(text, FrameBounds::NONE).unwrap_or(usize::MAX)
}

/// Counts brackets and commas outside strings. The parser checks whether they are well-placed.
fn scan(text: &[u8], bounds: FrameBounds) -> Result<usize, String> {
    let (mut depth, mut values, mut rest) = (0_usize, 1_usize, text);
    while let Some((byte, after)) = next_structural(rest) {
        rest = after;
        match byte {
            b'{' | b'[' => {
                depth += 1;
                values += 1;
                if depth > bounds.nesting {
                    return Err(format!("nests deeper than {} levels", bounds.nesting));
                }
            }
            b',' => values += 1,
            _ => depth = depth.saturating_sub(1),
        }
    }
    if values > bounds.values {
        return Err(format!("has more than {} JSON values", bounds.values));
    }
    Ok(values)
}

#[cfg(test)]
mod tests;
