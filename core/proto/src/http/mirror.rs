//! Headers of modern requests that mirror parts of the body: parsed by servers, written by clients.

use super::headers;
use crate::engine::{Mirror, MirroredParameters};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue};
use once_cell::race::OnceBox;
use std::{borrow::Cow, sync::Arc};

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// Parses the mirror headers of a request. `version` is what [`version`] returned for it.
pub fn read(headers: &HeaderMap, version: Option<String>) -> Mirror {
    Mirror {
        version,
        method: whole(headers, &headers::METHOD).map(|value| String::from_utf8_lossy(&value).into_owned()),
        name: whole(headers, &headers::NAME).map(|value| decode(&value)),
        parameters: parameters(headers),
    }
}

/// The header `MCP-Protocol-Version`. A value that is not valid text yields an unsupported version.
pub fn version(headers: &HeaderMap) -> Option<String> {
    whole(headers, &headers::PROTOCOL_VERSION).map(|value| String::from_utf8_lossy(&value).into_owned())
}

/// A repeated field is the list of its values (RFC 9110, section 5.2). It therefore never matches
/// the body, whichever of the values others look at.
fn whole<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<Cow<'a, [u8]>> {
    let mut values = headers.get_all(name).iter().map(|value| value.as_bytes().trim_ascii());
    let first = values.next()?;
    Some(values.fold(Cow::Borrowed(first), |list, value| [&*list, b", ", value].concat().into()))
}

/// Most requests have none and share one empty map.
fn parameters(headers: &HeaderMap) -> Arc<MirroredParameters> {
    static NONE: OnceBox<Arc<MirroredParameters>> = OnceBox::new();
    let mut found = MirroredParameters::new();
    for (name, value) in headers {
        if let Some(name) = name.as_str().strip_prefix(headers::PARAMETER_PREFIX) {
            let value = decode(value.as_bytes().trim_ascii());
            // A repeated header has no single value that could match the body.
            let repeated = found.contains_key(name);
            found.insert(name.to_owned(), if repeated { Err("is repeated".into()) } else { value });
        }
    }
    if found.is_empty() { Arc::clone(NONE.get_or_init(Box::default)) } else { Arc::new(found) }
}

/// The name of the header that mirrors a parameter.
pub fn parameter_name(name: &str) -> Result<HeaderName, String> {
    HeaderName::try_from(format!("{}{name}", headers::PARAMETER_PREFIX))
        .map_err(|_| format!("the parameter header {name:?} is not a valid header name"))
}

/// Decodes a header value, which may be in the Base64 wrapper (H26-06, H26-07).
pub fn decode(value: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(is_plain));
    let text = text.ok_or("has characters that a header cannot carry; wrap the value as =?base64?…?=")?;
    match wrapped(text) {
        None => Ok(text.to_owned()),
        Some(encoded) => {
            let bytes = STANDARD.decode(encoded).map_err(|error| format!("is not valid Base64: {error}"))?;
            String::from_utf8(bytes).map_err(|_| "is Base64 of bytes that are not UTF-8".to_owned())
        }
    }
}

/// Encodes a header value: verbatim if that is safe, otherwise in the Base64 wrapper (H26-04,
/// H26-05).
pub fn encode(text: &str) -> Result<HeaderValue, String> {
    let blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let bytes = text.as_bytes();
    let safe = !bytes.is_empty()
        && bytes.iter().all(|byte| is_plain(*byte))
        && !blank(bytes.first())
        && !blank(bytes.last())
        && wrapped(text).is_none();
    let value = if safe {
        HeaderValue::from_str(text)
    } else {
        HeaderValue::try_from(format!("{PREFIX}{}{SUFFIX}", STANDARD.encode(text)))
    };
    value.map_err(|error| format!("{text:?} cannot be sent in a header: {error}"))
}

/// Visible ASCII, space or tab, as RFC 9110 allows in field values.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~')
}

fn wrapped(text: &str) -> Option<&str> {
    text.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h26_04_and_05_the_vectors_of_the_specification() {
        for (text, value) in [
            ("us-west1", "us-west1"),
            ("get_weather", "get_weather"),
            ("file:///a b?c=%20", "file:///a b?c=%20"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("\ttab", "=?base64?CXRhYg==?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("nul\0", "=?base64?bnVsAA==?="),
            ("del\u{7f}", "=?base64?ZGVsfw==?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?="),
            ("=?BASE64?x?=", "=?BASE64?x?="),
            ("=?base64?open", "=?base64?open"),
            ("", "=?base64??="),
        ] {
            assert_eq!(encode(text).unwrap(), value, "{text:?}");
            assert_eq!(decode(value.as_bytes()).as_deref(), Ok(text), "{value}");
        }
    }

    #[test]
    fn h26_06_the_markers_are_exact() {
        for literal in ["=?BASE64?eA==?=", "=?base64?eA==", "?base64?eA==?=", "=?Base64?eA==?="] {
            assert_eq!(decode(literal.as_bytes()).as_deref(), Ok(literal));
        }
    }

    #[test]
    fn h26_08_decoding_errors_have_a_reason() {
        for value in [
            "=?base64?eA?=",
            "=?base64?eA=?=",
            "=?base64?e*==?=",
            "=?base64?e A=?=",
            "=?base64?eB==?=",
            "=?base64?_-8=?=",
        ] {
            assert!(decode(value.as_bytes()).unwrap_err().contains("Base64"), "{value}");
        }
        assert!(decode(b"=?base64?/w==?=").unwrap_err().contains("UTF-8"));
        assert!(decode("wörld".as_bytes()).unwrap_err().contains("characters"));
        assert!(decode(b"\xff").is_err());
    }

    #[test]
    fn h26_08_a_repeated_header_is_a_list() {
        let mut headers = HeaderMap::new();
        for (name, value) in
            [("mcp-name", "a"), ("mcp-method", "m"), ("mcp-name", " a "), ("mcp-name", "=?base64?eA==?=")]
        {
            headers.append(name, HeaderValue::from_static(value));
        }
        let mirror = read(&headers, version(&headers));
        assert_eq!(mirror.name, Some(Ok("a, a, =?base64?eA==?=".into())));
        assert_eq!((mirror.method.as_deref(), mirror.version), (Some("m"), None));
    }

    #[test]
    fn h26_10_names_compare_without_case_and_values_are_trimmed() {
        let mut headers = HeaderMap::new();
        for (name, value) in
            [("MCP-PROTOCOL-version", "2026-07-28"), ("Mcp-Method", "tools/call "), ("mcp-NAME", "=?base64?eA==?=")]
        {
            headers.insert(http::HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_static(value));
        }
        let mirror = read(&headers, version(&headers));
        assert_eq!(mirror.version.as_deref(), Some("2026-07-28"));
        assert_eq!(mirror.method.as_deref(), Some("tools/call"));
        assert_eq!(mirror.name, Some(Ok("x".into())));
        assert!(read(&HeaderMap::new(), None).name.is_none());
    }
}
