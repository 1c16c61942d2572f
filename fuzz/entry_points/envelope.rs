//! Frames: any input is parsed within its limits, and a parsed request round-trips.

use bytes::Bytes;
use trunkline_proto::protocol::envelope::{Frame, FrameBounds, Message, count_values, encode_request};

const BOUNDS: FrameBounds = FrameBounds { nesting: 64, values: 10_000, number: 1_000, elements: 100 };

pub fn seeds() -> Vec<Vec<u8>> {
    super::corpus("envelope")
}

pub fn judge(data: &[u8]) {
    let frame = Frame::parse(&Bytes::copy_from_slice(data), BOUNDS);
    let read = match &frame {
        Frame::Single(one) => std::slice::from_ref(one),
        Frame::Batch(several) => several,
    };
    assert!((1..=BOUNDS.elements).contains(&read.len()));
    for message in read {
        match message {
            Ok(Message::Request(request)) => {
                assert!(count_values(data) <= BOUNDS.values);
                let params = request.params.as_ref().map(|params| params.as_bytes());
                let written = encode_request(&request.id, &request.method, params);
                let again = Frame::parse(&written, FrameBounds::NONE);
                assert_eq!(again, Frame::Single(Ok(Message::Request(request.clone()))));
            }
            Ok(_) => {}
            Err(malformed) => assert!(matches!(malformed.error.code, -32700 | -32600)),
        }
    }
}
