use super::*;
use proptest::prelude::*;

fn messages(stream: &mut EventStream) -> Vec<String> {
    let mut messages = Vec::new();
    while let Some(message) = stream.next_message().unwrap() {
        messages.push(String::from_utf8(message.to_vec()).unwrap());
    }
    messages
}

/// Checks that the result is the same whether the input arrives at once, in pieces, or byte by
/// byte.
fn read(text: &[u8]) -> Vec<String> {
    let mut results = [1, 2, 3, 7, text.len().max(1)].map(|size| {
        let mut stream = EventStream::new(1000);
        let mut found = Vec::new();
        for chunk in text.chunks(size) {
            stream.push(chunk);
            found.extend(messages(&mut stream));
        }
        found
    });
    assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
    std::mem::take(&mut results[0])
}

#[test]
fn http_09_every_line_ending() {
    for end in ["\n", "\r\n", "\r"] {
        let text = format!("event: message{end}data: one{end}{end}data:two{end}{end}").into_bytes();
        // After a lone CR, the line has ended, without waiting for the next byte.
        assert_eq!(read(&text), ["one", "two"], "{end:?}");
    }
    assert_eq!(read(b"data: a\r\rdata: b\n\r\ndata: c\r\n\n"), ["a", "b", "c"]);
}

#[test]
fn h26_17_comments_and_unknown_fields_are_ignored() {
    assert_eq!(read(b": hello\n\n:\r\n: keep-alive\n\ndata: x\nfoo: bar\nfoo\n:c\n\n"), ["x"]);
}

#[test]
fn data_of_several_lines_is_joined_and_one_blank_is_dropped() {
    assert_eq!(read(b"data: {\ndata:  \"a\": 1\ndata:}\n\n"), ["{\n \"a\": 1\n}"]);
}

#[test]
fn http_26_priming_events_are_no_messages() {
    assert_eq!(read(b"id: 1\ndata:\n\nid: 2\ndata: \n\nid: 3\ndata\n\nretry: 500\n\ndata: x\n\n"), ["x"]);
}

#[test]
fn other_types_and_unfinished_events_are_skipped() {
    assert_eq!(read(b"event: endpoint\ndata: /x\n\ndata: y\n\nevent: ping\n\ndata: z\n\ndata: cut\n"), ["y", "z"]);
    assert_eq!(read(b"event: other\nevent: message\ndata: x\n\n"), ["x"]);
}

#[test]
fn a_byte_order_mark_is_skipped() {
    assert_eq!(read(b"\xef\xbb\xbfdata: x\n\n"), ["x"]);
}

#[test]
fn http_28_ids_and_retry_are_kept() {
    let mut stream = EventStream::new(100);
    stream.push(b"id: a\nretry: 500\ndata:\n\nid: nul\0\nretry: soon\ndata: x\n\n");
    assert_eq!(messages(&mut stream), ["x"]);
    assert_eq!(stream.last_id(), Some("a"));
    assert_eq!(stream.retry(), Some(Duration::from_millis(500)));
    for (requested, pause) in [("0", MIN_RETRY_DELAY), ("999999999", MAX_RETRY_DELAY)] {
        stream.push(format!("retry: {requested}\ndata: x\n\n").as_bytes());
        assert!(stream.next_message().unwrap().is_some());
        assert_eq!(stream.retry(), Some(pause));
    }
}

#[test]
fn http_38_an_event_that_was_cut_off_is_asked_for_again() {
    let mut stream = EventStream::new(100);
    stream.push(b"id: 1\ndata: x\n\nid: 2\ndata: cut");
    assert_eq!(messages(&mut stream), ["x"]);
    assert_eq!(stream.last_id(), Some("1"));
    stream.reconnected();
    stream.push(b"id: 2\ndata: whole\n\n");
    assert_eq!(messages(&mut stream), ["whole"]);
    assert_eq!(stream.last_id(), Some("2"));
}

#[test]
fn a_message_is_bounded_however_it_is_cut() {
    let mut stream = EventStream::new(100);
    stream.push(&b"data: x".repeat(50));
    assert!(stream.next_message().is_err());
    let mut stream = EventStream::new(100);
    stream.push(&b"data: 0123456789\n".repeat(50));
    assert!(stream.next_message().is_err());
    let mut stream = EventStream::new(100);
    stream.push(&[b"data: ".as_slice(), &[b'x'; 100], b"\n\n"].concat());
    assert_eq!(messages(&mut stream).len(), 1);
}

#[test]
fn a_line_beyond_the_bound_is_refused_however_it_is_cut() {
    let comment = [b":", &[b'x'; 40][..], b"\n\n"].concat();
    for size in [1, 7, comment.len()] {
        let mut stream = EventStream::new(20);
        let refused = comment.chunks(size).any(|chunk| {
            stream.push(chunk);
            stream.next_message().is_err()
        });
        assert!(refused, "in chunks of {size}");
    }
}

#[test]
fn the_breaks_between_lines_of_data_count() {
    let mut stream = EventStream::new(3);
    stream.push(b"data: a\ndata: b\n\n");
    assert_eq!(messages(&mut stream), ["a\nb"]);
    stream.push(b"data: a\ndata: bc\n\n");
    assert_eq!(stream.next_message(), Err(TooLarge(3)));
}

#[test]
fn what_is_written_reads_back() {
    let mut text = BytesMut::new();
    crate::http::sse::put_event(&mut text, None, b"{\"a\":\r\n1}");
    text.extend_from_slice(crate::http::sse::KEEP_ALIVE);
    crate::http::sse::put_event(&mut text, None, b"{}");
    assert_eq!(read(&text), ["{\"a\":\n\n1}", "{}"]);
}

/// The events of a whole stream, by a literal implementation of the standard.
fn expected(text: &[u8]) -> (Vec<Vec<u8>>, Option<Vec<u8>>) {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let (mut lines, mut line, mut after_cr) = (Vec::new(), Vec::new(), false);
    for &byte in text {
        match byte {
            b'\n' if after_cr => {}
            b'\n' | b'\r' => lines.push(std::mem::take(&mut line)),
            other => line.push(other),
        }
        after_cr = byte == b'\r';
    }
    let (mut messages, mut last_id) = (Vec::new(), None);
    for event in lines.split_inclusive(|line| line.is_empty()).filter(|event| event.last().is_some_and(Vec::is_empty)) {
        let fields = || {
            event.iter().map(|line| {
                let mut parts = line.splitn(2, |byte| *byte == b':');
                let (name, value) = (parts.next().unwrap(), parts.next().unwrap_or_default());
                (name, value.strip_prefix(b" ").unwrap_or(value))
            })
        };
        let of = |wanted: &'static [u8]| fields().filter(move |(name, _)| *name == wanted).map(|(_, value)| value);
        let data = of(b"data").collect::<Vec<_>>().join(&b'\n');
        let is_message = matches!(of(b"event").next_back(), None | Some(b"" | b"message"));
        messages.extend((is_message && !data.is_empty()).then_some(data));
        let id = of(b"id").rfind(|id| !id.contains(&0) && std::str::from_utf8(id).is_ok());
        last_id = id.map(<[u8]>::to_vec).or(last_id);
    }
    (messages, last_id)
}

#[test]
fn endpoint_events_are_not_messages() {
    let text = b"event: endpoint\ndata: /messages?sessionId=1\n\nevent: other\ndata: x\n\ndata: {}\n\n";
    let mut stream = EventStream::new(100);
    stream.push(text);
    assert_eq!(stream.next_event(), Ok(Some(StreamEvent::Endpoint("/messages?sessionId=1".into()))));
    assert!(!stream.has_brought());
    assert_eq!(stream.next_event(), Ok(Some(StreamEvent::Message("{}".into()))));
    assert_eq!(stream.next_event(), Ok(None));
    let mut stream = EventStream::new(100);
    stream.push(text);
    assert_eq!(stream.next_message(), Ok(Some("{}".into())));
}

proptest! {
    /// HTTP-09: any stream, in any chunks, is parsed as the standard requires.
    #[test]
    fn any_stream_is_read_as_the_standard_says(
        parts in prop::collection::vec(prop::sample::select(vec![
            "data", "event", "id", "retry", "message", "endpoint", ":", ": ", " ", "\n", "\r", "\r\n", "\n\n", "{}", "x", "ä", "7", "\0", "\u{feff}",
        ]), 0..60),
        cuts in prop::collection::vec(1_usize..20, 1..40),
    ) {
        let text = parts.concat().into_bytes();
        let mut stream = EventStream::new(10_000);
        let (mut messages, mut rest) = (Vec::new(), &text[..]);
        for cut in cuts.iter().cycle() {
            let (chunk, left) = rest.split_at(rest.len().min(*cut));
            stream.push(chunk);
            while let Some(message) = stream.next_message().unwrap() {
                messages.push(message.to_vec());
            }
            rest = left;
            if rest.is_empty() {
                break;
            }
        }
        let (expected, last_id) = expected(&text);
        prop_assert_eq!(messages, expected);
        prop_assert_eq!(stream.last_id().map(str::as_bytes), last_id.as_deref());
    }

    /// No input makes it panic or buffer more than its limit, and its output stays within the
    /// limit.
    #[test]
    fn any_bytes_are_read_within_the_bound(
        chunks in prop::collection::vec(prop::collection::vec(prop::sample::select(b"data:id\n\r {\xff\0".to_vec()), 0..40), 0..40),
        bound in 0_usize..60,
    ) {
        let mut stream = EventStream::new(bound);
        for chunk in chunks {
            stream.push(&chunk);
            loop {
                match stream.next_message() {
                    Ok(Some(message)) => prop_assert!(message.len() <= bound),
                    Ok(None) => break,
                    Err(_) => return Ok(()),
                }
            }
            // The last line break is no part of the message.
            prop_assert!(stream.buffer.len() <= bound + 16 && stream.data.len() <= bound + 1);
        }
    }
}
