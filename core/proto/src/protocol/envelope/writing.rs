//! Serializes messages.

use super::prepare_for;
use crate::protocol::{RequestId, RpcError};
use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;

/// Serializes a request.
pub fn encode_request(id: &RequestId, method: &str, params: Option<&[u8]>) -> Bytes {
    encode_call(Some(id), method, params)
}

/// Serializes a notification.
pub fn encode_notification(method: &str, params: Option<&[u8]>) -> Bytes {
    encode_call(None, method, params)
}

fn encode_call(id: Option<&RequestId>, method: &str, params: Option<&[u8]>) -> Bytes {
    let mut text = begin(id, params.map_or(0, <[u8]>::len) + method.len());
    text.put_slice(b",\"method\":");
    put_json(&mut text, method);
    if let Some(params) = params {
        text.put_slice(b",\"params\":");
        text.put_slice(params);
    }
    text.put_u8(b'}');
    text.freeze()
}

/// Serializes the notification that cancels a request.
pub fn cancellation(id: &RequestId, reason: &str) -> Bytes {
    let reason = serde_json::Value::from(reason);
    let params = format!(r#"{{"requestId":{},"reason":{reason}}}"#, id.to_raw());
    encode_notification(crate::protocol::method::CANCELLED, Some(params.as_bytes()))
}

/// Serializes a response with a result.
pub fn encode_result(id: &RequestId, result: &[u8]) -> Bytes {
    let mut text = begin(Some(id), result.len());
    text.put_slice(b",\"result\":");
    text.put_slice(result);
    text.put_u8(b'}');
    text.freeze()
}

/// Serializes a response with an error; without an id if none could be read (ambiguity 15 of the
/// requirements).
pub fn encode_error(id: Option<&RequestId>, error: &RpcError) -> Bytes {
    let mut text = begin(id, error.message.len());
    text.put_slice(b",\"error\":");
    put_json(&mut text, error);
    text.put_u8(b'}');
    text.freeze()
}

fn begin(id: Option<&RequestId>, payload: usize) -> BytesMut {
    prepare_for(payload);
    let mut text = BytesMut::with_capacity(payload + 96);
    text.put_slice(b"{\"jsonrpc\":\"2.0\"");
    if let Some(id) = id {
        text.put_slice(b",\"id\":");
        put_json(&mut text, &id.as_written());
    }
    text
}

/// Ids, methods and errors are strings, integers and `Value`s, so serializing them to memory never
/// fails.
fn put_json(text: &mut BytesMut, value: &(impl Serialize + ?Sized)) {
    let start = text.len();
    if serde_json::to_writer((&mut *text).writer(), value).is_err() {
        text.truncate(start);
        text.put_slice(b"null");
    }
}
