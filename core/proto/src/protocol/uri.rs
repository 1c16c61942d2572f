//! Validates URIs (RFC 3986) that a server offers, reads or sends users to.

use fluent_uri::Uri;
use percent_encoding::percent_decode_str;

/// Why a URI was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{uri:?} {problem}")]
pub struct UriError {
    uri: String,
    problem: &'static str,
}

/// Checks that a string is a URI with a scheme, as resources require.
///
/// # Errors
///
/// If it is not.
pub fn check(uri: &str) -> Result<(), UriError> {
    match Uri::parse(uri) {
        Ok(_) => Ok(()),
        Err(_) if !uri.is_ascii() || uri.contains(' ') => {
            Err(UriError::new(uri, "has characters that must be percent-encoded"))
        }
        Err(_) if !has_scheme(uri) => Err(UriError::new(uri, "has no scheme, such as \"file:\" or one of your own")),
        Err(_) => Err(UriError::new(uri, "is not a valid URI (RFC 3986)")),
    }
}

/// Checks that a string is a URL that a user can be sent to: `https`, or `http` for development.
///
/// # Errors
///
/// If it is not.
pub fn check_url(url: &str) -> Result<(), UriError> {
    let parsed = Uri::parse(url).map_err(|_| UriError::new(url, "is not a URL"))?;
    let scheme = parsed.scheme().as_str();
    if !scheme.eq_ignore_ascii_case("https") && !scheme.eq_ignore_ascii_case("http") {
        return Err(UriError::new(url, "must be an https URL"));
    }
    match parsed.authority().filter(|authority| !authority.host().is_empty()) {
        // User information can make one host look like another, and a password is a secret
        // (ELI-16).
        Some(authority) if authority.has_userinfo() => {
            Err(UriError::new(url, "must not contain a user name or password"))
        }
        Some(_) => Ok(()),
        None => Err(UriError::new(url, "has no host")),
    }
}

/// Checks that a `file:` URI does not traverse upwards: no `..` segment in any encoding, and no
/// NUL. Other schemes are accepted, because only their server knows what their paths mean.
///
/// # Errors
///
/// If it does.
pub fn check_traversal(uri: &str) -> Result<(), UriError> {
    let Some(rest) =
        uri.split_at_checked(5).and_then(|(scheme, rest)| scheme.eq_ignore_ascii_case("file:").then_some(rest))
    else {
        return Ok(());
    };
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    let path: Vec<u8> = percent_decode_str(path).collect();
    if path.contains(&0) {
        return Err(UriError::new(uri, "contains a NUL character"));
    }
    // Windows also separates paths with backslashes.
    if path.split(|byte| matches!(byte, b'/' | b'\\')).any(|segment| segment == b"..") {
        return Err(UriError::new(uri, "climbs with \"..\""));
    }
    Ok(())
}

fn has_scheme(uri: &str) -> bool {
    let Some((scheme, _)) = uri.split_once(':') else { return false };
    let mut bytes = scheme.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

impl UriError {
    fn new(uri: &str, problem: &'static str) -> Self {
        Self { uri: uri.chars().take(200).collect(), problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn res_10_resources_have_uris_with_a_scheme() {
        for uri in
            ["file:///a%20b", "test://static-text", "ui://app/main.html", "git+ssh://h/x", "urn:isbn:1", "a:b", "a:"]
        {
            assert_eq!(check(uri), Ok(()), "{uri}");
        }
        for (uri, problem) in [
            ("/a/b", "no scheme"),
            ("", "no scheme"),
            ("1a:b", "no scheme"),
            ("my_app:b", "no scheme"),
            ("a:b c", "percent-encoded"),
            ("a:é", "percent-encoded"),
            ("a:%4", "RFC 3986"),
            ("a:<b>", "RFC 3986"),
        ] {
            let error = check(uri).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn eli_07_eli_16_eli_18_urls_for_users_are_https_and_hold_no_credentials() {
        for url in ["https://a.example/b?c=1", "HTTPS://a.example", "http://localhost:8000/x", "https://[::1]/"] {
            assert_eq!(check_url(url), Ok(()), "{url}");
        }
        for (url, problem) in [
            ("javascript:alert(1)", "https"),
            ("file:///etc/passwd", "https"),
            ("https:", "no host"),
            ("https:///x", "no host"),
            ("https://bank.example@evil.example/", "user name"),
            ("https://a b/", "not a URL"),
            ("a.example", "not a URL"),
        ] {
            let error = check_url(url).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn res_12_file_uris_do_not_climb() {
        for uri in ["file:///a/b..c/...", "file:///a?x=../..", "https://a/../b", "x", "file:"] {
            assert_eq!(check_traversal(uri), Ok(()), "{uri}");
        }
        for uri in [
            "file:///a/../b",
            "FILE:///..",
            "file:///a/%2e%2e/b",
            "file:///a/%2E./b",
            "file:///a%2F..%2Fb",
            "file:///a\\..\\b",
            "file:///a/..%5Cb",
            "file:///a%00b",
            "file:..",
        ] {
            assert!(check_traversal(uri).is_err(), "{uri}");
        }
    }
}
