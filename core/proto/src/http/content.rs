//! Media types of bodies, and content negotiation.

use http::{HeaderMap, HeaderValue, header};

/// The media type of one message.
pub const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// The media type of a stream of messages.
pub const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// The response types that a client accepts (HTTP-08, HTTP-10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepts {
    /// One JSON message.
    pub json: bool,
    /// An event stream.
    pub events: bool,
}

impl Accepts {
    /// Parses `Accept`. Without the header, everything is accepted.
    pub fn of(headers: &HeaderMap) -> Self {
        let mut found = None;
        for value in headers.get_all(header::ACCEPT) {
            let accepts = found.get_or_insert(Self { json: false, events: false });
            for range in value.as_bytes().split(|byte| *byte == b',') {
                let (media, weightless) = split_range(range);
                if weightless {
                    continue;
                }
                let is = |name: &str| media.eq_ignore_ascii_case(name.as_bytes());
                accepts.json |= is("application/json") || is("application/*") || is("*/*");
                accepts.events |= is("text/event-stream") || is("text/*") || is("*/*");
            }
        }
        found.unwrap_or(Self { json: true, events: true })
    }
}

/// The media range without its parameters, and whether its weight is zero (`q=0`: not acceptable).
fn split_range(range: &[u8]) -> (&[u8], bool) {
    let mut parts = range.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    let media = parts.next().unwrap_or_default();
    let weightless = parts.any(|parameter| {
        parameter.get(..2).is_some_and(|name| name.eq_ignore_ascii_case(b"q="))
            && parameter[2..].iter().all(|digit| matches!(digit, b'0' | b'.'))
    });
    (media, weightless)
}

/// Returns whether `Content-Type` is this media type, with any parameters.
pub fn is_type(headers: &HeaderMap, media: &HeaderValue) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| split_range(value.as_bytes()).0.eq_ignore_ascii_case(media.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(values: &[&'static str]) -> (bool, bool) {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::ACCEPT, HeaderValue::from_static(value));
        }
        let Accepts { json, events } = Accepts::of(&headers);
        (json, events)
    }

    #[test]
    fn http_08_what_a_client_accepts() {
        assert_eq!(accepts(&[]), (true, true));
        assert_eq!(accepts(&["application/json, text/event-stream"]), (true, true));
        assert_eq!(accepts(&["application/json", "text/event-stream"]), (true, true));
        assert_eq!(accepts(&["*/*"]), (true, true));
        assert_eq!(accepts(&["Application/JSON; charset=utf-8"]), (true, false));
        assert_eq!(accepts(&["text/event-stream;q=0.5"]), (false, true));
        assert_eq!(accepts(&["application/json, text/event-stream;q=0"]), (true, false));
        assert_eq!(accepts(&["text/html"]), (false, false));
        assert_eq!(accepts(&[""]), (false, false));
    }

    #[test]
    fn content_types_compare_without_case_and_parameters() {
        let is_json = |value: &'static str| {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(value))]);
            is_type(&headers, &JSON)
        };
        assert!(is_json("application/json"));
        assert!(is_json("Application/Json;charset=UTF-8"));
        assert!(!is_json("text/plain"));
        assert!(!is_json("application/jsonp"));
        assert!(!is_type(&HeaderMap::new(), &JSON));
    }
}
