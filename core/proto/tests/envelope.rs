//! The envelope parser, given anything.

use proptest::prelude::*;
use trunkline_proto::protocol::{
    RequestId,
    envelope::{self, Frame, FrameBounds, Message, NoResult},
};

/// Text that is nearly a message: its parts, put together in any way.
fn nearly_messages() -> impl Strategy<Value = Vec<u8>> {
    let parts = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        " ",
        "\n",
        "\"jsonrpc\":\"2.0\"",
        "\"id\":1",
        "\"id\":\"1\"",
        "\"id\":null",
        "\"id\":-0",
        "\"id\":1e9",
        "\"method\":\"ping\"",
        "\"method\":5",
        "\"params\":{}",
        "\"params\":[]",
        "\"result\":{}",
        "\"result\":null",
        "\"error\":{\"code\":1,\"message\":\"x\"}",
        "\"error\":{}",
        "\"_meta\":{}",
        "null",
        "true",
        "0",
        "9999999999999999999",
        "\\ud800",
        "\u{0}",
    ]);
    let whole = prop::collection::vec(parts.clone(), 0..12).prop_map(|parts| parts.concat().into_bytes());
    let object = prop::collection::vec(parts, 0..6).prop_map(|parts| format!("{{{}}}", parts.join(",")).into_bytes());
    prop_oneof![whole, object, prop::collection::vec(any::<u8>(), 0..64)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// RPC-01, RPC-03, RPC-04, RPC-08, RPC-12: nothing makes the parser fail, and what it takes for
    /// a message says so when it is written again.
    #[test]
    fn any_bytes_are_a_message_or_a_refusal(bytes in nearly_messages(), nesting in 1_usize..200) {
        let elements = match Frame::parse(&bytes.clone().into(), FrameBounds { nesting, elements: 3, ..FrameBounds::NONE }) {
            Frame::Single(one) => vec![one],
            Frame::Batch(elements) => {
                prop_assert!(!elements.is_empty());
                elements
            }
        };
        for element in elements {
            match element {
                Err(malformed) => prop_assert!(matches!(malformed.error.code, -32700 | -32600), "{}", malformed.error),
                Ok(message) => {
                    let text = match &message {
                        Message::Request(request) => envelope::encode_request(&request.id, &request.method, request.params.as_ref().map(|params| params.as_bytes())),
                        Message::Notification(one) => envelope::encode_notification(&one.method, one.params.as_ref().map(|params| params.as_bytes())),
                        Message::Response(response) => match (&response.id, &response.outcome) {
                            (Some(id), Ok(result)) => envelope::encode_result(id, result.as_bytes()),
                            (id, Err(NoResult::Error(error))) => envelope::encode_error(id.as_ref(), error),
                            // Nobody writes one.
                            (_, Err(NoResult::InvalidResponse(_))) => continue,
                            (None, Ok(_)) => return Err(TestCaseError::fail("a result without an id")),
                        },
                    };
                    prop_assert_eq!(Frame::parse(&text, FrameBounds { nesting: 200, elements: 3, ..FrameBounds::NONE }), Frame::Single(Ok(message)));
                }
            }
        }
    }

    /// RPC-03, RPC-07: an id is kept digit for digit and letter for letter.
    #[test]
    fn ids_are_written_as_they_were_read(text in any::<String>(), number in any::<i128>()) {
        for json in [serde_json::to_string(&text).unwrap(), number.to_string()] {
            let written = RequestId::from_json(&json).unwrap().to_raw();
            prop_assert_eq!(written.as_str(), json);
        }
    }
}
