use super::*;
use crate::protocol::envelope::{encode_error, encode_notification, encode_request, encode_result};
use proptest::prelude::*;
use serde_json::Value;

const BOUNDS: FrameBounds = FrameBounds { nesting: 128, values: 10_000, number: 1_000, elements: 99 };

fn parse(text: &str) -> Frame {
    Frame::parse(&Bytes::copy_from_slice(text.as_bytes()), BOUNDS)
}

fn refused(text: &str) -> Malformed {
    match parse(text) {
        Frame::Single(Err(malformed)) => malformed,
        other => panic!("{text} was taken as {other:?}"),
    }
}

#[test]
fn rpc_01_messages_of_every_kind() {
    let Frame::Single(Ok(Message::Request(request))) =
        parse(r#" {"id":"a","method":"tools/list","params":{"cursor": "x"},"jsonrpc":"2.0","extra":[1]}"#)
    else {
        panic!()
    };
    assert_eq!(request.id, RequestId::from("a"));
    assert_eq!(request.params.unwrap().as_bytes(), br#"{"cursor": "x"}"#);
    assert!(matches!(
        parse(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
        Frame::Single(Ok(Message::Notification(_)))
    ));
    assert!(matches!(
        parse(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        Frame::Single(Ok(Message::Response(Response { outcome: Ok(_), .. })))
    ));
    assert!(matches!(
        parse(r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}"#),
        Frame::Single(Ok(Message::Response(Response { id: None, outcome: Err(_) })))
    ));
}

#[test]
fn a_byte_order_mark_and_params_that_are_null_are_nothing() {
    for text in [
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":null}"#,
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}",
        "\u{feff} {\"method\":\"ping\",\"id\":7,\"jsonrpc\":\"2.0\",\"params\": null}",
    ] {
        let Frame::Single(Ok(Message::Request(request))) = parse(text) else { panic!("{text}") };
        assert_eq!((request.id, request.params), (RequestId::Integer(7), None));
    }
    let Frame::Batch(batch) = parse("\u{feff}[{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":null}]") else {
        panic!()
    };
    assert!(matches!(&batch[..], [Ok(Message::Notification(Notification { params: None, .. }))]));
}

/// Also RPC-08 to RPC-10: the members that a response must have, and those that exclude each other.
#[test]
fn malformed_input_gets_the_right_code_and_keeps_a_readable_id() {
    for (text, code, id) in [
        ("", -32700, None),
        ("{", -32700, None),
        ("nonsense", -32700, None),
        ("{\"jsonrpc\":\"2.0\"} trailing", -32700, None),
        ("\"text\"", -32600, None),
        ("[]", -32600, None),
        ("[", -32700, None),
        (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, -32600, Some(7)),
        (r#"{"id":7,"method":"ping"}"#, -32600, Some(7)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, -32600, Some(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#, -32600, Some(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":7}"#, -32600, Some(7)),
        (r#"{"jsonrpc":"2.0","id":7}"#, -32600, Some(7)),
        (r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","method":"ping"}"#, -32600, Some(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}"#, -32600, Some(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","#, -32700, Some(7)),
    ] {
        let malformed = refused(text);
        assert_eq!(malformed.error.code, code, "{text}: {}", malformed.error);
        assert_eq!(malformed.id, id.map(RequestId::Integer), "{text}");
    }
}

/// RPC-08 to RPC-10: the members that a response must have, and those that exclude each other. A
/// response is never answered, whatever is wrong with it.
#[test]
fn responses_that_make_no_sense_are_responses_still() {
    for (text, id, problem) in [
        (r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":""}}"#, Some(7), "either"),
        (r#"{"jsonrpc":"2.0","id":7,"error":{"code":"x","message":""}}"#, Some(7), "integer code"),
        (r#"{"jsonrpc":"2.0","id":7,"error":[1,"x"]}"#, Some(7), "integer code"),
        (r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000.0,"message":""}}"#, Some(7), "integer code"),
        (r#"{"jsonrpc":"2.0","id":7,"error":{"code":1}}"#, Some(7), "a message"),
        (r#"{"jsonrpc":"2.0","id":7,"error":{"message":""}}"#, Some(7), "integer code"),
        (r#"{"jsonrpc":"2.0","id":7,"error":null}"#, Some(7), "no result"),
        (r#"{"jsonrpc":"2.0","result":{}}"#, None, "the id"),
        (r#"{"jsonrpc":"2.0","id":null,"result":{}}"#, None, "the id"),
        (r#"{"id":7,"result":{}}"#, Some(7), "jsonrpc"),
        (r#"{"jsonrpc":"2.0","id":7,"result":{},"result":{}}"#, Some(7), "duplicate"),
        (r#"{"jsonrpc":"2.0","id":7,"result":{"#, Some(7), "Parse error"),
    ] {
        let Frame::Single(Ok(Message::Response(response))) = parse(text) else { panic!("{text}") };
        assert_eq!(response.id, id.map(RequestId::Integer), "{text}");
        let Err(NoResult::InvalidResponse(said)) = response.outcome else { panic!("{text}") };
        assert!(said.contains(problem), "{text}: {said}");
    }
    let deep = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"a":{}{}}}}}"#, "[".repeat(127), "]".repeat(127));
    let Frame::Single(Ok(Message::Response(response))) = parse(&deep) else { panic!() };
    assert_eq!((response.id, response.outcome.is_err()), (Some(RequestId::Integer(7)), true));
}

#[test]
fn a_member_that_is_null_beside_the_other_is_absent() {
    let outcome = |text| match parse(text) {
        Frame::Single(Ok(Message::Response(response))) => response.outcome.map(|result| result.as_bytes().to_vec()),
        other => panic!("{other:?}"),
    };
    assert_eq!(outcome(r#"{"jsonrpc":"2.0","id":7,"result":{},"error":null}"#), Ok(b"{}".to_vec()));
    let error = outcome(r#"{"jsonrpc":"2.0","id":null,"result":null,"error":{"code":1,"message":"x"}}"#);
    assert_eq!(error, Err(NoResult::Error(RpcError::new(1, "x"))));
}

#[test]
fn what_is_refused_does_not_repeat_what_was_sent() {
    for text in [format!("\"{}\"", "x".repeat(100_000)), format!("[[{}]]", "1,".repeat(9)), "1".repeat(300)] {
        let long = match parse(&text) {
            Frame::Single(Err(malformed)) => malformed.error.message.len(),
            Frame::Batch(elements) => elements.iter().map(|e| e.as_ref().unwrap_err().error.message.len()).sum(),
            other => panic!("{other:?}"),
        };
        assert!(long < 200, "{long}");
    }
}

#[test]
fn rpc_14_the_elements_of_a_batch_are_bounded() {
    let bounds = FrameBounds { elements: 3, ..BOUNDS };
    let batch = |count: usize| Bytes::from(format!("[{}]", vec!["1"; count].join(",")));
    assert!(matches!(Frame::parse(&batch(3), bounds), Frame::Batch(elements) if elements.len() == 3));
    let Frame::Single(Err(refused)) = Frame::parse(&batch(4), bounds) else { panic!() };
    assert_eq!((refused.id, refused.error.code), (None, -32600));
    assert!(refused.error.message.contains("at most 3"), "{}", refused.error);
    // Elements beyond the limit are not even parsed.
    assert!(matches!(Frame::parse(&Bytes::from_static(b"[1,1,1,1,nonsense"), bounds), Frame::Single(Err(_))));
}

#[test]
fn rpc_02_text_that_is_not_utf8_is_a_parse_error() {
    let frame = Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}");
    assert!(
        matches!(Frame::parse(&frame, BOUNDS), Frame::Single(Err(Malformed { error, .. })) if error.code == -32700)
    );
}

#[test]
fn nesting_is_bounded_and_brackets_in_strings_do_not_count() {
    let deep = |levels: usize| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":{}{}}}}}"#,
            "[".repeat(levels),
            "]".repeat(levels)
        )
    };
    assert!(matches!(parse(&deep(126)), Frame::Single(Ok(_))));
    assert_eq!(refused(&deep(127)).error.code, -32600);
    assert_eq!(refused(&"[".repeat(100_000)).error.code, -32600);
    let quoted = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}\""}}"#, "[".repeat(500));
    assert!(matches!(parse(&quoted), Frame::Single(Ok(_))));
}

#[test]
fn rpc_14_batches_keep_each_element_apart() {
    let Frame::Batch(elements) =
        parse(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}, 5, {"jsonrpc":"2.0","method":"x"}]"#)
    else {
        panic!()
    };
    assert!(matches!(elements[0], Ok(Message::Request(_))));
    assert_eq!(elements[1].as_ref().unwrap_err().error.code, -32600);
    assert!(matches!(elements[2], Ok(Message::Notification(_))));
}

#[test]
fn what_the_beginning_of_a_message_tells() {
    let told = |text: &str| {
        let Beginning { id, response } = Beginning::of(text.as_bytes());
        (id, response)
    };
    let seven = || Some(RequestId::Integer(7));
    assert_eq!(told(r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"te"#), (seven(), true));
    assert_eq!(told(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","par"#), (seven(), false));
    assert_eq!(told(r#"{"method":"tools/call","jsonrpc":"2.0","id":7,"params":{"#), (seven(), false));
    assert_eq!(told(r#" { "id" : "a\"b" , "jsonrpc""#), (Some(RequestId::from("a\"b")), false));
    assert_eq!(told(r#"{"result":{"id":7},"id":8"#), (None, true));
    assert_eq!(told(r#"{"id":7,"method":"a","result":{"#), (seven(), false));
    for hidden in
        [r#"{"jsonrpc":"2.0","id":7"#, r#"{"id":7,"id":8,"#, r#"{"params":{},"id":8"#, "[1]", "", "{", r#"{"id""#]
    {
        assert_eq!(told(hidden), (None, false), "{hidden}");
    }
}

#[test]
fn what_is_written_reads_back() {
    let id = RequestId::from("7");
    let Frame::Single(Ok(Message::Request(request))) =
        Frame::parse(&encode_request(&id, "a\"b", Some(b"{\"x\":1}")), BOUNDS)
    else {
        panic!()
    };
    assert_eq!((&*request.method, request.id), ("a\"b", id.clone()));
    assert_eq!(&encode_result(&id, b"{}")[..], br#"{"jsonrpc":"2.0","id":"7","result":{}}"#);
    assert_eq!(
        &encode_error(None, &RpcError::new(-32700, "x"))[..],
        br#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}"#
    );
    assert_eq!(&encode_notification("n", None)[..], br#"{"jsonrpc":"2.0","method":"n"}"#);
}

#[test]
fn a_message_keeps_about_what_it_shows() {
    let large = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{}},"else":"{}"}}"#, "x".repeat(100_000));
    let usual = r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}"#.to_owned();
    for (text, copied) in [(large, true), (usual, false)] {
        let buffer = bytes::Bytes::from(text);
        let inside = buffer.as_ptr_range();
        let Frame::Single(Ok(Message::Request(request))) = Frame::parse(&buffer, BOUNDS) else { panic!() };
        let params = request.params.unwrap();
        assert_eq!(!inside.contains(&params.as_bytes().as_ptr()), copied);
        assert!(params.as_bytes().starts_with(b"{"));
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(depth).max().unwrap_or_default(),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

fn values() -> impl Strategy<Value = Value> {
    let text = || prop::collection::vec(prop::sample::select(vec!["[", "{", "}", "]", "\"", "\\", "x"]), 0..24);
    let leaf = prop_oneof![text().prop_map(|parts| parts.concat().into()), Just(Value::Null)];
    leaf.prop_recursive(8, 60, 4, move |inner| {
        let members = prop::collection::vec((text(), inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::Array),
            members.prop_map(|members| members.into_iter().map(|(name, value)| (name.concat(), value)).collect()),
        ]
    })
}

#[test]
fn a_message_of_too_many_values_is_refused_before_it_is_read() {
    let message = |values: usize| {
        let list = vec![r#"{"":0}"#; values].join(",");
        Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"a":[{list}]}}}}"#))
    };
    let parse = |values| Frame::parse(&message(values), FrameBounds { values: 1_000, ..BOUNDS });
    assert!(matches!(parse(400), Frame::Single(Ok(Message::Request(_)))));
    let Frame::Single(Err(Malformed { id, error })) = parse(1_000) else { panic!("it is too large") };
    assert_eq!((id, error.code), (Some(RequestId::Integer(7)), code::INVALID_REQUEST));
    assert!(error.message.contains("more than 1000 JSON values"), "{}", error.message);
    // Commas in strings are not values.
    let text = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"a":"{}"}}}}"#, ",[{".repeat(1_000));
    assert!(matches!(Frame::parse(&text.into(), FrameBounds { values: 10, ..BOUNDS }), Frame::Single(Ok(_))));
}

#[test]
fn a_message_with_a_very_long_number_is_refused_before_it_is_read() {
    let parse = |number: &str, text: &str| {
        let message = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"a":[{number}],"b":"{text}"}}}}"#);
        Frame::parse(&message.into(), BOUNDS)
    };
    let digits = "7".repeat(1_001);
    for number in [digits.clone(), format!("-0.{digits}"), format!("1e{digits}"), format!("1, {digits}")] {
        let Frame::Single(Err(Malformed { id, error })) = parse(&number, "") else { panic!("{number} is too long") };
        assert_eq!((id, error.code), (Some(RequestId::Integer(7)), code::INVALID_REQUEST));
        assert!(error.message.contains("a number of more than 1000 characters"), "{}", error.message);
    }
    // Strings, whitespace and many numbers are not long numbers.
    for (number, text) in [(&digits[1..], &*digits), (&" ".repeat(2_000), "\\\""), (&vec!["1"; 900].join(","), "")] {
        assert!(matches!(parse(number, text), Frame::Single(Ok(_))), "{number} {text}");
    }
}

proptest! {
    /// Values nested deeper than the limit are rejected for it, and no others, whatever their
    /// strings contain.
    #[test]
    fn nesting_is_counted_as_the_parser_would(value in values(), limit in 0_usize..10) {
        for text in [value.to_string(), format!("{value:#}")] {
            let bounds = FrameBounds { nesting: limit, ..FrameBounds::NONE };
            prop_assert_eq!(excess(text.as_bytes(), bounds).is_some(), depth(&value) > limit, "{}", text);
        }
    }
}
