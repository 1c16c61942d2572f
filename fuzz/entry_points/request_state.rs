//! Request states of 2026-07-28, which clients send back: a modified one is refused (MRTR-08).

use super::endpoint::{Endpoint, assert_invalid_params};
use serde_json::json;
use std::sync::LazyLock;

static ENDPOINT: LazyLock<Endpoint> = LazyLock::new(|| Endpoint::new(Default::default()));
static SEALED: LazyLock<String> = LazyLock::new(|| {
    let first = ENDPOINT.ask("tools/call", json!({"name": "ask", "arguments": {}}));
    first["result"]["requestState"].as_str().unwrap_or_else(|| panic!("no state: {first}")).to_owned()
});

pub fn seeds() -> Vec<Vec<u8>> {
    vec![SEALED.as_bytes().to_vec()]
}

pub fn judge(data: &[u8]) {
    let state = String::from_utf8_lossy(data);
    let answers = json!({"name": {"action": "accept", "content": {"name": "Ada"}}});
    let params = json!({"name": "ask", "arguments": {}, "requestState": state, "inputResponses": answers});
    let answer = ENDPOINT.ask("tools/call", params);
    if state != *SEALED {
        assert_invalid_params(&answer);
    }
}
