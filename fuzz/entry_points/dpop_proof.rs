//! Proofs of possession: a modified one is refused, and a valid one works once (XAU-70).

use super::{
    endpoint::{Endpoint, INITIALIZE, post},
    tokens::Keys,
};
use http::{HeaderValue, StatusCode};
use std::sync::LazyLock;

static KEYS: LazyLock<Keys> = LazyLock::new(Keys::new);
static ENDPOINT: LazyLock<Endpoint> = LazyLock::new(|| Endpoint::new(KEYS.options()));
/// A bound token and a used proof.
static USED: LazyLock<(String, String)> = LazyLock::new(|| {
    let (token, proof) = KEYS.bound("used");
    assert_eq!(send(&token, &HeaderValue::from_str(&proof).expect("not a header")), StatusCode::OK);
    (token, proof)
});

pub fn seeds() -> Vec<Vec<u8>> {
    vec![USED.1.as_bytes().to_vec()]
}

pub fn judge(data: &[u8]) {
    let Ok(proof) = HeaderValue::from_bytes(data) else { return };
    let status = send(&USED.0, &proof);
    assert!([StatusCode::UNAUTHORIZED, StatusCode::BAD_REQUEST].contains(&status), "{status}");
}

fn send(token: &str, proof: &HeaderValue) -> StatusCode {
    let head = post().header("authorization", format!("DPoP {token}")).header("dpop", proof);
    ENDPOINT.send(head, INITIALIZE.as_bytes()).status
}
