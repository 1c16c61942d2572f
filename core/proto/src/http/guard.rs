//! Checks which hosts and origins may access a server, to prevent DNS rebinding (HTTP-03, HTTP-04,
//! SEC-22).

use super::rejection::Rejection;
use http::{HeaderMap, HeaderName, StatusCode, Uri, header};

/// Checks `Host` and `Origin` of every request, before anything else.
#[derive(Debug, Clone)]
pub struct Guard {
    /// The allowed hosts besides this machine; `None` allows all.
    hosts: Option<Vec<String>>,
    /// The allowed origins; `None` allows all.
    origins: Option<Vec<String>>,
    /// True if pages of this machine are allowed.
    local_pages: bool,
}

impl Guard {
    /// `bound` is the host that the server listens on. A `*` in a list allows everything.
    ///
    /// A server on loopback only accepts this machine's names; any other name is an attack. A
    /// server on another address has names that only its operator knows, so hosts are only checked
    /// if they are listed. Both reject pages of other origins, because browsers send requests for
    /// them without asking the user. Pages of this machine, on any port, are allowed on loopback
    /// only: elsewhere, "this machine" is the visitor's, with whatever runs there.
    pub fn new(bound: &str, hosts: &[String], origins: &[String]) -> Self {
        let listed = |entries: &[String]| match entries.iter().any(|entry| entry == "*") {
            true => None,
            false => Some(entries.iter().map(|entry| entry.trim_end_matches('/').to_owned()).collect::<Vec<_>>()),
        };
        let hosts = if hosts.is_empty() && !is_loopback(bound) { None } else { listed(hosts) };
        Self { hosts, origins: listed(origins), local_pages: is_loopback(bound) }
    }

    /// Checks the headers of a request. `uri` has the host if HTTP/2 or a proxy puts it there. A
    /// request with several hosts is refused (RFC 9112, section 3.2), because different recipients
    /// might use different ones.
    pub fn check(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), Rejection> {
        let host = only(headers, header::HOST, "Host")?;
        let origin = only(headers, header::ORIGIN, "Origin")?;
        for host in host.into_iter().chain(uri.authority().map(|authority| authority.as_str())) {
            if !self.allows_host(host) {
                return Err(refused("Host", host, "hosts"));
            }
        }
        if let (Some(listed), Some(origin)) = (&self.origins, origin) {
            let local = self.local_pages && is_loopback_origin(origin);
            if !local && !listed.iter().any(|entry| entry.eq_ignore_ascii_case(origin)) {
                return Err(refused("Origin", origin, "origins"));
            }
        }
        Ok(())
    }

    fn allows_host(&self, host: &str) -> bool {
        let Some(listed) = &self.hosts else { return true };
        let name = without_port(host);
        is_loopback(name)
            || listed.iter().any(|entry| entry.eq_ignore_ascii_case(host) || entry.eq_ignore_ascii_case(name))
    }
}

/// The value of a header that a request may have once; empty if it is not ASCII.
fn only<'a>(headers: &'a HeaderMap, header: HeaderName, name: &str) -> Result<Option<&'a str>, Rejection> {
    let mut values = headers.get_all(header).iter();
    let value = values.next().map(|value| value.to_str().unwrap_or_default());
    if values.next().is_none() {
        return Ok(value);
    }
    Err(Rejection::of_http(StatusCode::BAD_REQUEST, format!("There is more than one {name} header")))
}

/// `list` describes the option independently of the language, because the caller sees it.
fn refused(header: &str, value: &str, list: &str) -> Rejection {
    let message =
        format!("The {header} {value:?} is not allowed. To allow it, add it to the allowed {list} of the server");
    Rejection::of_http(StatusCode::FORBIDDEN, message)
}

/// Returns whether a host names this machine itself.
pub fn is_loopback(host: &str) -> bool {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_loopback_origin(origin: &str) -> bool {
    let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    host.is_some_and(|host| is_loopback(without_port(host)))
}

/// `name`, `name:port`, `[v6]` or `[v6]:port`.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|byte| byte.is_ascii_digit()) && (!name.contains(':') || name.ends_with(']')) =>
        {
            name
        }
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn allows(guard: &Guard, host: Option<&'static str>, origin: Option<&'static str>) -> bool {
        let mut headers = HeaderMap::new();
        if let Some(host) = host {
            headers.insert(header::HOST, HeaderValue::from_static(host));
        }
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
        }
        guard.check(&headers, &Uri::from_static("/mcp")).is_ok()
    }

    #[test]
    fn http_03_and_sec_22_a_local_server_is_for_this_machine() {
        for bound in ["127.0.0.1", "localhost", "::1", "[::1]", "127.8.8.8"] {
            let guard = Guard::new(bound, &[], &[]);
            for host in ["localhost", "LOCALHOST:8000", "127.0.0.1:80", "[::1]:9", "[::1]"] {
                assert!(allows(&guard, Some(host), None), "{host}");
            }
            for host in
                ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "", "0.0.0.0"]
            {
                assert!(!allows(&guard, Some(host), None), "{host}");
            }
            assert!(allows(&guard, None, None));
        }
    }

    #[test]
    fn http_03_origins_other_than_this_machine_are_refused_everywhere() {
        for bound in ["127.0.0.1", "0.0.0.0", "192.0.2.7", ""] {
            let guard = Guard::new(bound, &[], &[]);
            for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:5"] {
                let local = bound == "127.0.0.1";
                assert_eq!(allows(&guard, Some("localhost"), Some(origin)), local, "{bound} {origin}");
            }
            for origin in [
                "https://evil.example",
                "null",
                "",
                "http://localhost.evil.example",
                "file://localhost",
                "http://localhost@evil.example",
            ] {
                assert!(!allows(&guard, Some("localhost"), Some(origin)), "{origin}");
            }
        }
    }

    #[test]
    fn lists_allow_more_and_a_star_allows_all() {
        let list = |entries: &[&str]| entries.iter().map(|&entry| entry.to_owned()).collect::<Vec<_>>();
        let guard =
            Guard::new("127.0.0.1", &list(&["mcp.example", "other.example:444"]), &list(&["https://app.example/"]));
        assert!(allows(&guard, Some("mcp.example:8000"), Some("https://app.example")));
        assert!(allows(&guard, Some("localhost"), None));
        assert!(allows(&guard, Some("other.example:444"), None));
        assert!(!allows(&guard, Some("other.example:445"), None));
        assert!(!allows(&guard, Some("mcp.example"), Some("http://app.example")));
        let open = Guard::new("127.0.0.1", &list(&["*"]), &list(&["*"]));
        assert!(allows(&open, Some("evil.example"), Some("https://evil.example")));
        let public = Guard::new("0.0.0.0", &[], &[]);
        assert!(allows(&public, Some("mcp.example"), None));
        let listed = Guard::new("0.0.0.0", &list(&["mcp.example"]), &[]);
        assert!(!allows(&listed, Some("evil.example"), None));
    }

    #[test]
    fn http_04_a_refusal_is_403_without_an_id_and_explains_how_to_allow_it() {
        let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static("evil.example"))]);
        let rejection = Guard::new("127.0.0.1", &[], &[]).check(&headers, &Uri::from_static("/mcp")).unwrap_err();
        assert_eq!(rejection.status, StatusCode::FORBIDDEN);
        let body: serde_json::Value = serde_json::from_slice(&rejection.body).unwrap();
        assert!(body.get("id").is_none());
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.ends_with("add it to the allowed hosts of the server"), "{body}");
    }

    #[test]
    fn http2_names_the_host_in_the_uri() {
        let guard = Guard::new("127.0.0.1", &[], &[]);
        assert!(guard.check(&HeaderMap::new(), &Uri::from_static("http://evil.example/mcp")).is_err());
    }

    #[test]
    fn http_03_each_host_that_a_request_names_is_checked_and_two_headers_are_refused() {
        let guard = Guard::new("127.0.0.1", &[], &[]);
        let headers = |name: header::HeaderName, values: &[&'static str]| -> HeaderMap {
            values.iter().map(|value| (name.clone(), HeaderValue::from_static(value))).collect()
        };
        let local = headers(header::HOST, &["localhost"]);
        assert!(guard.check(&local, &Uri::from_static("http://localhost:80/mcp")).is_ok());
        assert_eq!(guard.check(&local, &Uri::from_static("http://evil.example/mcp")).unwrap_err().status, 403);
        for (name, value) in [(header::HOST, "localhost"), (header::ORIGIN, "http://localhost")] {
            let twice = headers(name, &[value, value]);
            assert_eq!(twice.len(), 2);
            assert_eq!(guard.check(&twice, &Uri::from_static("/mcp")).unwrap_err().status, 400);
        }
    }
}
