//! POST bodies: each gets a protocol response, and never an internal error.

use super::endpoint::{Endpoint, INITIALIZE, modern, post};
use http::StatusCode;
use serde_json::{Value, json};
use std::sync::LazyLock;

static ENDPOINT: LazyLock<Endpoint> = LazyLock::new(|| Endpoint::new(Default::default()));

pub fn seeds() -> Vec<Vec<u8>> {
    let call = json!({"name": "echo", "arguments": {"text": "x", "list": [1, 2.5, null]}});
    let (_, call) = modern("tools/call", call);
    vec![INITIALIZE.as_bytes().to_vec(), call.to_string().into_bytes()]
}

pub fn judge(data: &[u8]) {
    let (as_call, _) = modern("tools/call", json!({"name": "echo"}));
    for head in [post(), as_call] {
        let answer = ENDPOINT.send(head, data);
        let status = answer.status;
        assert!(!status.is_server_error(), "{status}: {:?}", answer.body);
        if status == StatusCode::ACCEPTED {
            assert!(answer.body.is_empty());
            continue;
        }
        let messages = match answer.json() {
            Value::Array(messages) => messages,
            one => vec![one],
        };
        for message in messages {
            assert_eq!(message["jsonrpc"], "2.0", "{message}");
            assert!(message["result"].is_object() != message["error"]["code"].is_i64(), "{message}");
        }
    }
}
