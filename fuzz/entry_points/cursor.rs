//! Cursors: one that this server did not issue is refused (PAG-09) and does no harm.

use super::endpoint::{Endpoint, assert_invalid_params};
use serde_json::{Value, json};
use std::sync::LazyLock;

static ENDPOINT: LazyLock<Endpoint> = LazyLock::new(|| Endpoint::new(Default::default()));

pub fn seeds() -> Vec<Vec<u8>> {
    let first = ENDPOINT.ask("tools/list", json!({}));
    vec![first["result"]["nextCursor"].as_str().expect("no next page").as_bytes().to_vec()]
}

pub fn judge(data: &[u8]) {
    let answer = ENDPOINT.ask("tools/list", json!({"cursor": String::from_utf8_lossy(data)}));
    if answer["result"]["tools"] == Value::Null {
        assert_invalid_params(&answer);
    }
}
