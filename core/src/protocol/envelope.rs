//! The JSON-RPC envelope. Only the outermost object is read; params and results stay slices of the receive buffer.

use super::{RawJson, RequestId, RpcError, error::code};
use bytes::{BufMut, Bytes, BytesMut};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{error::Category, value::RawValue};

/// A JSON-RPC message.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Expects a response.
    Request(Request),
    /// Is never answered.
    Notification(Notification),
    /// Answers a request.
    Response(Response),
}

/// A message with an id and a method.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Repeated by the response.
    pub id: RequestId,
    /// What to do.
    pub method: Box<str>,
    /// An object, if present (arrays are refused: every MCP method names its parameters).
    pub params: Option<RawJson>,
}

/// A message with a method and no id.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    /// What happened.
    pub method: Box<str>,
    /// An object, if present.
    pub params: Option<RawJson>,
}

/// A message with a result or an error.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The request that is answered; `None` only on errors whose request could not be read.
    pub id: Option<RequestId>,
    /// What came of it.
    pub outcome: Result<RawJson, RpcError>,
}

/// What one frame (a line, a body, an event) holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// One message, or why it is none.
    Single(Result<Message, Malformed>),
    /// A batch array, never empty; whether it is legal is for the engine to say.
    Batch(Vec<Result<Message, Malformed>>),
}

/// Text that is no message, with the error that answers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Malformed {
    /// The id, if it could be read.
    pub id: Option<RequestId>,
    /// -32700 or -32600.
    pub error: RpcError,
}

impl Frame {
    /// Reads a frame. `max_nesting` bounds how deep arrays and objects may lie in each other.
    pub fn parse(frame: &Bytes, max_nesting: usize) -> Self {
        if nests_deeper_than(frame, max_nesting) {
            let message = format!("The message nests deeper than {max_nesting} levels");
            return Self::Single(Err(Malformed { id: None, error: RpcError::invalid_request(message) }));
        }
        match frame.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'[') => Self::parse_batch(frame),
            _ => Self::Single(parse_message(frame, frame)),
        }
    }

    fn parse_batch(frame: &Bytes) -> Self {
        match serde_json::from_slice::<Vec<&RawValue>>(frame) {
            Ok(elements) if !elements.is_empty() => {
                Self::Batch(elements.iter().map(|element| parse_message(frame, element.get().as_bytes())).collect())
            }
            Ok(_) => Self::Single(Err(Malformed { id: None, error: RpcError::invalid_request("The batch is empty") })),
            Err(error) => Self::Single(Err(Malformed { id: None, error: unreadable(&error) })),
        }
    }
}

/// The members of a message as they stand; presence is kept apart from `null`.
#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Keeps a member that is `null` apart from one that is absent.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn parse_message(buffer: &Bytes, text: &[u8]) -> Result<Message, Malformed> {
    // Only an element of a batch can be one here; it would be read as the members in their order.
    if text.first() == Some(&b'[') {
        let error = RpcError::invalid_request("Not a JSON-RPC message: an array inside a batch");
        return Err(Malformed { id: None, error });
    }
    let wire: Wire<'_> =
        serde_json::from_slice(text).map_err(|error| Malformed { id: None, error: unreadable(&error) })?;
    let id = match wire.id {
        Some(raw) => Some(RequestId::from_json(raw.get()).ok_or_else(|| Malformed {
            id: None,
            error: RpcError::invalid_request("The id must be a string or an integer"),
        })?),
        None => None,
    };
    let refuse = |message: &str| Malformed { id: id.clone(), error: RpcError::invalid_request(message) };
    if wire.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        return Err(refuse("The member jsonrpc must be \"2.0\""));
    }
    if let Some(method) = wire.method {
        if wire.result.is_some() || wire.error.is_some() {
            return Err(refuse("A message with a method cannot have a result or an error"));
        }
        let method: Box<str> =
            serde_json::from_str(method.get()).map_err(|_| refuse("The member method must be a string"))?;
        let params = match wire.params {
            Some(raw) if raw.get().starts_with('{') => Some(RawJson::slice_of(buffer, raw)),
            Some(_) => return Err(refuse("The member params must be an object")),
            None => None,
        };
        return Ok(match id {
            Some(id) => Message::Request(Request { id, method, params }),
            None => Message::Notification(Notification { method, params }),
        });
    }
    match (wire.result, wire.error) {
        (Some(result), None) if id.is_some() => {
            Ok(Message::Response(Response { id, outcome: Ok(RawJson::slice_of(buffer, result)) }))
        }
        (None, Some(error)) => {
            let object = Some(error.get()).filter(|text| text.starts_with('{'));
            let error = object
                .and_then(|text| serde_json::from_str(text).ok())
                .ok_or_else(|| refuse("The member error must be an object with an integer code and a message"))?;
            Ok(Message::Response(Response { id, outcome: Err(error) }))
        }
        (Some(_), Some(_)) => Err(refuse("A response has either a result or an error")),
        (Some(_), None) => Err(refuse("A result needs the id of its request")),
        (None, None) => Err(refuse("The message has no method, no result and no error")),
    }
}

fn unreadable(error: &serde_json::Error) -> RpcError {
    match error.classify() {
        Category::Data => RpcError::invalid_request(format!("Not a JSON-RPC message: {error}")),
        _ => RpcError::new(code::PARSE_ERROR, format!("Parse error: {error}")),
    }
}

/// Counts brackets outside strings; whether they match is for the parser.
fn nests_deeper_than(text: &[u8], limit: usize) -> bool {
    let (mut depth, mut position) = (0_usize, 0);
    while let Some(&byte) = text.get(position) {
        match byte {
            b'"' => {
                position += 1;
                while let Some(&byte) = text.get(position) {
                    match byte {
                        b'"' => break,
                        b'\\' => position += 1,
                        _ => {}
                    }
                    position += 1;
                }
            }
            b'{' | b'[' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        position += 1;
    }
    false
}

/// The id of a response of which only the beginning is there, if it stands before the long part, as it mostly does.
pub(crate) fn id_at_the_beginning(text: &[u8]) -> Option<RequestId> {
    let text = std::str::from_utf8(text).unwrap_or_else(|error| {
        let (whole, _) = text.split_at(error.valid_up_to());
        std::str::from_utf8(whole).unwrap_or_default()
    });
    let members = text.trim_start().strip_prefix('{')?;
    let mut rest = members;
    loop {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let key = values.next()?.ok()?.get();
        rest = rest[values.byte_offset()..].trim_start().strip_prefix(':')?;
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let value = values.next()?.ok()?.get();
        match key {
            // A number that the text ends with may go on.
            "\"id\"" if rest[values.byte_offset()..].trim_start().starts_with([',', '}']) => {
                return RequestId::from_json(value);
            }
            "\"jsonrpc\"" => rest = rest[values.byte_offset()..].trim_start().strip_prefix(',')?,
            _ => return None,
        }
    }
}

/// Writes a request.
pub fn encode_request(id: &RequestId, method: &str, params: Option<&[u8]>) -> Bytes {
    let mut text = begin(params.map_or(0, <[u8]>::len) + method.len());
    text.put_slice(b",\"id\":");
    put_json(&mut text, id);
    put_method(&mut text, method, params);
    text.freeze()
}

/// Writes a notification.
pub fn encode_notification(method: &str, params: Option<&[u8]>) -> Bytes {
    let mut text = begin(params.map_or(0, <[u8]>::len) + method.len());
    put_method(&mut text, method, params);
    text.freeze()
}

/// Writes the notification that a request is no longer wanted.
pub fn cancellation(id: &RequestId, reason: &str) -> Bytes {
    let params = serde_json::json!({"requestId": id, "reason": reason}).to_string();
    encode_notification(super::method::CANCELLED, Some(params.as_bytes()))
}

/// Writes a response with a result.
pub fn encode_result(id: &RequestId, result: &[u8]) -> Bytes {
    let mut text = begin(result.len());
    text.put_slice(b",\"id\":");
    put_json(&mut text, id);
    text.put_slice(b",\"result\":");
    text.put_slice(result);
    text.put_u8(b'}');
    text.freeze()
}

/// Writes a response with an error; without an id where none could be read (ambiguity 15 of the requirements).
pub fn encode_error(id: Option<&RequestId>, error: &RpcError) -> Bytes {
    let mut text = begin(error.message.len());
    if let Some(id) = id {
        text.put_slice(b",\"id\":");
        put_json(&mut text, id);
    }
    text.put_slice(b",\"error\":");
    put_json(&mut text, error);
    text.put_u8(b'}');
    text.freeze()
}

fn begin(payload: usize) -> BytesMut {
    let mut text = BytesMut::with_capacity(payload + 96);
    text.put_slice(b"{\"jsonrpc\":\"2.0\"");
    text
}

fn put_method(text: &mut BytesMut, method: &str, params: Option<&[u8]>) {
    text.put_slice(b",\"method\":");
    put_json(text, method);
    if let Some(params) = params {
        text.put_slice(b",\"params\":");
        text.put_slice(params);
    }
    text.put_u8(b'}');
}

/// Ids, methods and errors are strings, integers and `Value`s: they always serialize, and memory always takes them.
fn put_json(text: &mut BytesMut, value: &(impl Serialize + ?Sized)) {
    let start = text.len();
    if serde_json::to_writer((&mut *text).writer(), value).is_err() {
        text.truncate(start);
        text.put_slice(b"null");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Frame {
        Frame::parse(&Bytes::copy_from_slice(text.as_bytes()), 128)
    }

    fn refused(text: &str) -> Malformed {
        match parse(text) {
            Frame::Single(Err(malformed)) => malformed,
            other => panic!("{text} was taken as {other:?}"),
        }
    }

    #[test]
    fn rpc_01_messages_of_every_kind() {
        let Frame::Single(Ok(Message::Request(request))) =
            parse(r#" {"id":"a","method":"tools/list","params":{"cursor": "x"},"jsonrpc":"2.0","extra":[1]}"#)
        else {
            panic!()
        };
        assert_eq!(request.id, RequestId::from("a"));
        assert_eq!(request.params.unwrap().as_bytes(), br#"{"cursor": "x"}"#);
        assert!(matches!(
            parse(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
            Frame::Single(Ok(Message::Notification(_)))
        ));
        assert!(matches!(
            parse(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
            Frame::Single(Ok(Message::Response(Response { outcome: Ok(_), .. })))
        ));
        assert!(matches!(
            parse(r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}"#),
            Frame::Single(Ok(Message::Response(Response { id: None, outcome: Err(_) })))
        ));
    }

    /// RPC-08 to RPC-10 too: what a response must have, and what it must not have at once.
    #[test]
    fn malformed_input_gets_the_right_code_and_keeps_a_readable_id() {
        for (text, code, id) in [
            ("", -32700, None),
            ("{", -32700, None),
            ("nonsense", -32700, None),
            ("{\"jsonrpc\":\"2.0\"} trailing", -32700, None),
            ("\"text\"", -32600, None),
            ("[]", -32600, None),
            ("[", -32700, None),
            (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, -32600, Some(7)),
            (r#"{"id":7,"method":"ping"}"#, -32600, Some(7)),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, -32600, Some(7)),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#, -32600, Some(7)),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":null}"#, -32600, Some(7)),
            (r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":""}}"#, -32600, Some(7)),
            (r#"{"jsonrpc":"2.0","id":7,"error":{"code":"x","message":""}}"#, -32600, Some(7)),
            (r#"{"jsonrpc":"2.0","id":7,"error":[1,"x"]}"#, -32600, Some(7)),
            (r#"{"jsonrpc":"2.0","id":7,"error":{"code":1.5,"message":""}}"#, -32600, Some(7)),
            (r#"{"jsonrpc":"2.0","id":7,"error":{"code":1}}"#, -32600, Some(7)),
            (r#"{"jsonrpc":"2.0","id":7,"error":{"message":""}}"#, -32600, Some(7)),
            (r#"{"jsonrpc":"2.0","result":{}}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":7}"#, -32600, Some(7)),
            (r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#, -32600, None),
        ] {
            let malformed = refused(text);
            assert_eq!(malformed.error.code, code, "{text}: {}", malformed.error);
            assert_eq!(malformed.id, id.map(RequestId::Integer), "{text}");
        }
    }

    #[test]
    fn rpc_02_text_that_is_not_utf8_is_a_parse_error() {
        let frame = Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}");
        assert!(
            matches!(Frame::parse(&frame, 128), Frame::Single(Err(Malformed { error, .. })) if error.code == -32700)
        );
    }

    #[test]
    fn nesting_is_bounded_and_brackets_in_strings_do_not_count() {
        let deep = |levels: usize| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":{}{}}}}}"#,
                "[".repeat(levels),
                "]".repeat(levels)
            )
        };
        assert!(matches!(parse(&deep(126)), Frame::Single(Ok(_))));
        assert_eq!(refused(&deep(127)).error.code, -32600);
        assert_eq!(refused(&"[".repeat(100_000)).error.code, -32600);
        let quoted = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}\""}}"#, "[".repeat(500));
        assert!(matches!(parse(&quoted), Frame::Single(Ok(_))));
    }

    #[test]
    fn rpc_14_batches_keep_each_element_apart() {
        let Frame::Batch(elements) =
            parse(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}, 5, {"jsonrpc":"2.0","method":"x"}]"#)
        else {
            panic!()
        };
        assert!(matches!(elements[0], Ok(Message::Request(_))));
        assert_eq!(elements[1].as_ref().unwrap_err().error.code, -32600);
        assert!(matches!(elements[2], Ok(Message::Notification(_))));
    }

    #[test]
    fn the_id_of_a_response_that_is_cut_off() {
        let id = |text: &str| id_at_the_beginning(text.as_bytes());
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"te"#), Some(RequestId::Integer(7)));
        assert_eq!(id(r#" { "id" : "a\"b" , "jsonrpc""#), Some(RequestId::from("a\"b")));
        for hidden in [r#"{"jsonrpc":"2.0","id":7"#, r#"{"result":{"id":7},"id":8"#, "[1]", "", "{", r#"{"id""#] {
            assert_eq!(id(hidden), None, "{hidden}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let id = RequestId::from("7");
        let Frame::Single(Ok(Message::Request(request))) =
            Frame::parse(&encode_request(&id, "a\"b", Some(b"{\"x\":1}")), 128)
        else {
            panic!()
        };
        assert_eq!((&*request.method, request.id), ("a\"b", id.clone()));
        assert_eq!(&encode_result(&id, b"{}")[..], br#"{"jsonrpc":"2.0","id":"7","result":{}}"#);
        assert_eq!(
            &encode_error(None, &RpcError::new(-32700, "x"))[..],
            br#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}"#
        );
        assert_eq!(&encode_notification("n", None)[..], br#"{"jsonrpc":"2.0","method":"n"}"#);
    }
}
