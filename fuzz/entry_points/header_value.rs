//! Mirrored parameters: header values round-trip, and no input breaks the decoder.

use trunkline_proto::http::mirror::{decode, encode};

pub fn seeds() -> Vec<Vec<u8>> {
    super::corpus("header_value")
}

pub fn judge(data: &[u8]) {
    if let Ok(text) = decode(data) {
        assert_eq!(encode(&text).map(|value| decode(value.as_bytes())), Ok(Ok(text)));
    }
    if let Ok(text) = std::str::from_utf8(data) {
        assert_eq!(encode(text).map(|value| decode(value.as_bytes())), Ok(Ok(text.to_owned())));
    }
}
