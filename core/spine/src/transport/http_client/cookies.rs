//! Cookies (RFC 6265). Load balancers set them to send all requests of a session to one process.

use crate::sync::Mutex;
use cookie::Cookie;
use http::{HeaderMap, HeaderValue, header};
use reqwest::Url;
use std::{
    cmp::Reverse,
    time::{Duration, SystemTime},
};

/// Limits of section 6.1: a server cannot count on more.
const MAX_COOKIES: usize = 50;
const MAX_COOKIE_BYTES: usize = 4096;

/// The cookies of one connection. They are sent to the origin that has set them only.
pub(super) struct CookieJar {
    /// A URL of the origin.
    url: Url,
    /// Oldest first.
    kept: Mutex<Vec<KeptCookie>>,
}

struct KeptCookie {
    name: String,
    value: String,
    domain: String,
    path: String,
    /// `None` for the time of the connection.
    expires: Option<SystemTime>,
}

impl CookieJar {
    pub(super) fn new(url: Url) -> Self {
        Self { url, kept: Mutex::default() }
    }

    /// Keeps the cookies that a response from `url` sets.
    pub(super) fn keep(&self, response: &HeaderMap, url: &Url, now: SystemTime) {
        for text in response.get_all(header::SET_COOKIE) {
            // The cookie is as secret as an access token, so no log has it.
            match KeptCookie::read(text, url, now).filter(|_| url.origin() == self.url.origin()) {
                Some(cookie) => self.put(cookie, now),
                None => tracing::debug!(target: "trunkline::client::http", "ignored a cookie of the server"),
            }
        }
    }

    fn put(&self, cookie: KeptCookie, now: SystemTime) {
        let mut kept = self.kept.lock();
        let earlier = kept.iter_mut().find(|earlier| earlier.is_replaced_by(&cookie));
        match earlier {
            Some(earlier) => *earlier = cookie,
            None => kept.push(cookie),
        }
        kept.retain(|cookie| cookie.is_valid(now));
        if kept.len() > MAX_COOKIES {
            kept.remove(0);
        }
    }

    /// Adds the cookies for `url` to those that the caller sends itself, which take precedence.
    pub(super) fn add_to(&self, request: &mut HeaderMap, url: &Url, now: SystemTime) {
        let kept = self.kept.lock();
        if kept.is_empty() || url.origin() != self.url.origin() {
            return;
        }
        let mut text = request.get(header::COOKIE).map_or_else(Vec::new, |given| given.as_bytes().to_vec());
        let given: Vec<_> = names(&text).map(<[u8]>::to_vec).collect();
        let is_sent = |cookie: &&KeptCookie| {
            cookie.is_valid(now)
                && covers(&cookie.path, url.path())
                && !given.iter().any(|name| name == cookie.name.as_bytes())
        };
        let mut sent: Vec<_> = kept.iter().filter(is_sent).collect();
        // Section 5.4: longer paths first, then older cookies.
        sent.sort_by_key(|cookie| Reverse(cookie.path.len()));
        for cookie in sent {
            let separator = if text.is_empty() { "" } else { "; " };
            text.extend([separator, &cookie.name, "=", &cookie.value].concat().into_bytes());
        }
        if let Ok(mut value) = HeaderValue::try_from(text)
            && !value.is_empty()
        {
            value.set_sensitive(true);
            request.insert(header::COOKIE, value);
        }
    }
}

/// The names in a `Cookie` header.
fn names(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b';').filter_map(|pair| pair.split(|byte| *byte == b'=').next()).map(<[u8]>::trim_ascii)
}

impl KeptCookie {
    /// Returns `None` for a malformed cookie, and for one that the server may not set.
    fn read(text: &HeaderValue, url: &Url, now: SystemTime) -> Option<Self> {
        let text = str::from_utf8(text.as_bytes()).ok().filter(|text| text.len() <= MAX_COOKIE_BYTES)?;
        let cookie = Cookie::parse(text).ok()?;
        let host = url.host_str()?;
        let domain = cookie.domain().map_or_else(|| host.to_owned(), str::to_ascii_lowercase);
        let is_parent =
            || url.domain().and_then(|host| host.strip_suffix(&*domain)).is_some_and(|rest| rest.ends_with('.'));
        if host != domain && !is_parent() || cookie.secure() == Some(true) && url.scheme() != "https" {
            return None;
        }
        let path = cookie.path().filter(|path| path.starts_with('/')).unwrap_or_else(|| folder(url.path()));
        Some(Self {
            name: cookie.name().to_owned(),
            value: cookie.value().to_owned(),
            path: path.to_owned(),
            expires: end(&cookie, now),
            domain,
        })
    }

    fn is_replaced_by(&self, other: &Self) -> bool {
        (&self.name, &self.domain, &self.path) == (&other.name, &other.domain, &other.path)
    }

    fn is_valid(&self, now: SystemTime) -> bool {
        self.expires.is_none_or(|end| now < end)
    }
}

/// When a cookie expires. `Max-Age` takes precedence (section 5.3).
fn end(cookie: &Cookie<'_>, now: SystemTime) -> Option<SystemTime> {
    let Some(age) = cookie.max_age() else {
        // Before 1970 is as long ago as 1970.
        let seconds = u64::try_from(cookie.expires_datetime()?.unix_timestamp()).unwrap_or_default();
        return SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    };
    now.checked_add(age.unsigned_abs())
}

/// The default path of a cookie (section 5.1.4).
fn folder(path: &str) -> &str {
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(end) => &path[..end],
    }
}

/// Returns whether a cookie with this path is for a request to that one (section 5.1.4).
fn covers(path: &str, requested: &str) -> bool {
    requested.strip_prefix(path).is_some_and(|rest| rest.is_empty() || path.ends_with('/') || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + NOW
    }

    fn jar(url: &str) -> CookieJar {
        CookieJar::new(Url::parse(url).unwrap())
    }

    fn keep(jar: &CookieJar, url: &str, cookies: &[&str]) {
        let mut response = HeaderMap::new();
        for text in cookies {
            response.append(header::SET_COOKIE, HeaderValue::from_str(text).unwrap());
        }
        jar.keep(&response, &Url::parse(url).unwrap(), now());
    }

    fn sent(jar: &CookieJar, url: &str, given: Option<&'static str>, at: SystemTime) -> String {
        let mut request: HeaderMap =
            given.into_iter().map(|given| (header::COOKIE, HeaderValue::from_static(given))).collect();
        jar.add_to(&mut request, &Url::parse(url).unwrap(), at);
        request.get(header::COOKIE).map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn cookies_are_kept_as_rfc_6265_says() {
        const URL: &str = "https://mcp.example.com/a/mcp";
        for (set, to, expected) in [
            (&["a=1"][..], URL, "a=1"),
            (&["a=1; HttpOnly; SameSite=Lax; Unknown=x"], URL, "a=1"),
            (&["a=1", "b=\"2\""], URL, "a=1; b=\"2\""),
            (&["a=1", "b=2", "a=3"], URL, "a=3; b=2"),
            (&["a=1=2"], URL, "a=1=2"),
            (&["a="], URL, "a="),
            (&["=1", "a", ""], URL, ""),
            // Paths.
            (&["a=1"], "https://mcp.example.com/a", "a=1"),
            (&["a=1"], "https://mcp.example.com/", ""),
            (&["a=1"], "https://mcp.example.com/ab", ""),
            (&["a=1; Path=/"], "https://mcp.example.com/", "a=1"),
            (&["a=1; Path=/a/mcp"], URL, "a=1"),
            (&["a=1; Path=/a/mcp"], "https://mcp.example.com/a/messages", ""),
            (&["a=1; Path=b"], URL, "a=1"),
            (&["a=1; Path=/", "b=2; Path=/a/", "a=3; Path=/a"], URL, "b=2; a=3; a=1"),
            // Domains.
            (&["a=1; Domain=example.com"], URL, "a=1"),
            (&["a=1; Domain=.MCP.example.com"], URL, "a=1"),
            (&["a=1; Domain=other.example.com"], URL, ""),
            (&["a=1; Domain=cp.example.com"], URL, ""),
            (&["a=1; Domain=x.mcp.example.com"], URL, ""),
            // The same origin only.
            (&["a=1; Domain=example.com"], "https://example.com/a/mcp", ""),
            (&["a=1"], "https://mcp.example.com:8443/a/mcp", ""),
            (&["a=1"], "http://mcp.example.com/a/mcp", ""),
            // Times: NOW is 2027-01-15 08:00:00.
            (&["a=1; Max-Age=60"], URL, "a=1"),
            (&["a=1; Max-Age=0"], URL, ""),
            (&["a=1; Max-Age=-1"], URL, ""),
            (&["a=1; Max-Age=99999999999999999999"], URL, "a=1"),
            (&["a=1; Max-Age=x"], URL, "a=1"),
            (&["a=1; Expires=Fri, 15 Jan 2027 08:00:01 GMT"], URL, "a=1"),
            (&["a=1; Expires=Fri, 15-Jan-2027 07:59:59 GMT"], URL, ""),
            (&["a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], URL, ""),
            (&["a=1; Expires=Mon, 01 Jan 1001 00:00:00 GMT"], URL, ""),
            (&["a=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT"], URL, "a=1"),
            (&["a=1; Expires=soon"], URL, "a=1"),
            (&["a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], URL, "a=1"),
            (&["a=1", "b=2", "a=; Max-Age=0"], URL, "b=2"),
            (&["a=1; Secure"], URL, "a=1"),
        ] {
            let jar = jar(URL);
            keep(&jar, URL, set);
            assert_eq!(sent(&jar, to, None, now()), expected, "{set:?} to {to}");
        }
    }

    #[test]
    fn cookies_end_in_time() {
        const URL: &str = "https://mcp.example/mcp";
        let jar = jar(URL);
        keep(&jar, URL, &["a=1; Max-Age=60", "b=2"]);
        assert_eq!(sent(&jar, URL, None, now() + Duration::from_secs(59)), "a=1; b=2");
        assert_eq!(sent(&jar, URL, None, now() + Duration::from_secs(60)), "b=2");
    }

    #[test]
    fn secure_cookies_are_for_https_and_no_address_has_a_domain() {
        for (url, set) in [
            ("http://mcp.example/mcp", "a=1; Secure"),
            ("http://10.0.0.1/mcp", "a=1; Domain=0.0.1"),
            ("https://[::1]/mcp", "a=1; Domain=1]"),
        ] {
            let jar = jar(url);
            keep(&jar, url, &[set]);
            assert_eq!(sent(&jar, url, None, now()), "", "{url} {set}");
        }
    }

    #[test]
    fn the_callers_own_cookies_take_precedence() {
        const URL: &str = "https://mcp.example/mcp";
        let jar = jar(URL);
        keep(&jar, URL, &["a=1", "b=2"]);
        for (given, expected) in [
            ("a=own", "a=own; b=2"),
            ("c=own; b=x", "c=own; b=x; a=1"),
            ("a=own;b", "a=own;b"),
            ("A=own", "A=own; a=1; b=2"),
        ] {
            assert_eq!(sent(&jar, URL, Some(given), now()), expected);
        }
    }

    #[test]
    fn cookies_are_bounded_and_never_shown() {
        const URL: &str = "https://mcp.example/mcp";
        let jar = jar(URL);
        keep(&jar, URL, &["first=secret"]);
        for number in 1..=60 {
            keep(&jar, URL, &[&format!("c{number}={number}"), &format!("large={}", "x".repeat(MAX_COOKIE_BYTES))]);
        }
        let mut request = HeaderMap::new();
        jar.add_to(&mut request, &Url::parse(URL).unwrap(), now());
        let text = request[header::COOKIE].to_str().unwrap();
        assert_eq!(text.split("; ").count(), MAX_COOKIES);
        assert!(text.starts_with("c11=11; ") && text.ends_with("; c60=60"), "{text}");
        assert_eq!(format!("{request:?}"), r#"{"cookie": Sensitive}"#);
    }
}
