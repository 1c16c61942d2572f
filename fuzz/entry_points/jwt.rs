//! Access tokens: only the one signed by the issuer is accepted (AUS-13).

use super::{
    endpoint::{Endpoint, INITIALIZE, post},
    tokens::Keys,
};
use http::{HeaderValue, StatusCode};
use std::sync::LazyLock;

static KEYS: LazyLock<Keys> = LazyLock::new(Keys::new);
static ENDPOINT: LazyLock<Endpoint> = LazyLock::new(|| Endpoint::new(KEYS.options()));
static TOKEN: LazyLock<String> = LazyLock::new(|| KEYS.token());

pub fn seeds() -> Vec<Vec<u8>> {
    vec![TOKEN.as_bytes().to_vec()]
}

pub fn judge(data: &[u8]) {
    let Ok(header) = HeaderValue::from_bytes(&[b"Bearer ", data].concat()) else { return };
    let is_right = data.trim_ascii() == TOKEN.as_bytes();
    let answer = ENDPOINT.send(post().header("authorization", header), INITIALIZE.as_bytes());
    if is_right {
        assert_eq!(answer.status, StatusCode::OK);
    } else {
        assert!([StatusCode::UNAUTHORIZED, StatusCode::BAD_REQUEST].contains(&answer.status), "{}", answer.status);
        assert!(answer.headers.contains_key("www-authenticate"));
    }
}
