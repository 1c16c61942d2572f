//! Resource identifiers: URLs of protected resources.

use crate::http::guard::is_loopback;
use url::Url;

/// Returns whether a URL is safe to fetch and to send clients to: https, or on this machine
/// (SEC-12).
pub(crate) fn is_safe(url: &Url) -> bool {
    match url.scheme() {
        "https" => url.has_host(),
        "http" => url.host_str().is_some_and(is_loopback),
        _ => false,
    }
}

/// Returns whether two strings name the same resource: they are equal, or equal after the
/// normalization that every URL parser does (case of scheme and host, default port, slash of an
/// empty path).
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one == other || matches!((Url::parse(one), Url::parse(other)), (Ok(one), Ok(other)) if one == other)
}

/// The URL without query and fragment.
pub(super) fn bare(mut url: Url) -> Url {
    url.set_query(None);
    url.set_fragment(None);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aus_08_audiences_compare_as_canonical_uris() {
        for (one, other) in [
            ("https://mcp.example/mcp", "HTTPS://MCP.example:443/mcp"),
            ("https://mcp.example", "https://mcp.example/"),
            ("my-api", "my-api"),
        ] {
            assert!(is_same(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("https://mcp.example/mcp", "https://mcp.example/mcp/"),
            ("https://mcp.example/mcp", "https://mcp.example/MCP"),
            ("https://mcp.example/mcp", "https://mcp.example"),
            ("https://mcp.example/mcp", "http://mcp.example/mcp"),
            ("https://mcp.example", "https://mcp.example.evil.example"),
            ("my-api", "MY-API"),
        ] {
            assert!(!is_same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn plain_http_is_for_this_machine() {
        for (url, safe) in [
            ("https://auth.example", true),
            ("http://localhost:9", true),
            ("http://127.0.0.1:9", true),
            ("http://[::1]:9", true),
            ("http://auth.example", false),
            ("http://localhost.evil.example", false),
            ("ftp://localhost", false),
            ("file:///etc/passwd", false),
        ] {
            assert_eq!(is_safe(&Url::parse(url).unwrap()), safe, "{url}");
        }
    }
}
