//! Session ids: no session can be found by guessing or by a part of its id (HTTP-31).

use super::endpoint::{Endpoint, INITIALIZE, post};
use http::{HeaderValue, StatusCode};
use std::sync::LazyLock;

static ENDPOINT: LazyLock<Endpoint> = LazyLock::new(|| Endpoint::new(Default::default()));
static SESSION: LazyLock<HeaderValue> = LazyLock::new(|| {
    let answer = ENDPOINT.send(post(), INITIALIZE.as_bytes());
    answer.headers["mcp-session-id"].clone()
});

pub fn seeds() -> Vec<Vec<u8>> {
    vec![SESSION.as_bytes().to_vec()]
}

pub fn judge(data: &[u8]) {
    // Other bytes cannot arrive over HTTP: see `http_head`.
    let Ok(id) = HeaderValue::from_bytes(data) else { return };
    let is_right = id == *SESSION;
    let answer = ENDPOINT.send(post().header("mcp-session-id", id), br#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    if is_right {
        assert_eq!(answer.status, StatusCode::OK);
    } else {
        assert!([StatusCode::NOT_FOUND, StatusCode::BAD_REQUEST].contains(&answer.status), "{}", answer.status);
    }
}
