//! The credentials of a request (RFC 6750 section 2, RFC 9449 section 7.1).

use super::Refusal;
use http::{HeaderMap, header};

/// Longer tokens are refused without reading them.
const MAX_TOKEN: usize = 8 * 1024;

/// The authentication scheme of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheme {
    /// Anyone who has the token can use it.
    Bearer,
    /// The token is bound to a key, which signs a proof for each request.
    Dpop,
}

impl Scheme {
    /// The name of the scheme in `Authorization` and `WWW-Authenticate`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bearer => "Bearer",
            Self::Dpop => "DPoP",
        }
    }
}

/// Reads the scheme and the token, which is never logged. Only the `Authorization` header is
/// accepted; proxies and logs have seen a token in the URL.
pub(super) fn read<'a>(headers: &'a HeaderMap, query: Option<&str>) -> Result<(Scheme, &'a str), Refusal> {
    let malformed = |text: &str| Refusal::Malformed(text.into());
    if query.is_some_and(has_token) {
        return Err(malformed("A token must not be part of the URL: send it in the Authorization header"));
    }
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Err(Refusal::Missing) };
    if values.next().is_some() {
        return Err(malformed("There is more than one Authorization header"));
    }
    let value = value.to_str().map_err(|_| malformed("The Authorization header is not ASCII"))?.trim();
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    let scheme = match scheme {
        _ if scheme.eq_ignore_ascii_case("Bearer") => Scheme::Bearer,
        _ if scheme.eq_ignore_ascii_case("DPoP") => Scheme::Dpop,
        _ => return Err(Refusal::Missing),
    };
    let token = token.trim_start();
    if token.len() > MAX_TOKEN {
        return Err(malformed("The access token is too long"));
    }
    if !is_token(token) {
        return Err(malformed("The Authorization header contains no token in the syntax of RFC 6750"));
    }
    Ok((scheme, token))
}

fn has_token(query: &str) -> bool {
    query.split('&').any(|pair| pair.split('=').next() == Some("access_token"))
}

/// `b64token` of RFC 6750 section 2.1.
fn is_token(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    !body.is_empty() && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn of(values: &[&'static str], query: Option<&str>) -> Result<(Scheme, String), Refusal> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, HeaderValue::from_static(value));
        }
        read(&headers, query).map(|(scheme, token)| (scheme, token.to_owned()))
    }

    #[test]
    fn schemes_compare_without_case() {
        assert_eq!(of(&["Bearer abc.d-e_f~+/=="], None), Ok((Scheme::Bearer, "abc.d-e_f~+/==".into())));
        assert_eq!(of(&["bEARER  abc"], Some("a=b")), Ok((Scheme::Bearer, "abc".into())));
        assert_eq!(of(&["dpop abc"], None), Ok((Scheme::Dpop, "abc".into())));
    }

    #[test]
    fn aus_05_no_credentials_are_missing_credentials() {
        for values in [&[][..], &["Basic dXNlcjpwYXNz"], &["Negotiate"]] {
            assert_eq!(of(values, None), Err(Refusal::Missing));
        }
    }

    #[test]
    fn aus_06_malformed_credentials_are_malformed_requests() {
        let token = "Bearer abc";
        for values in [&["Bearer"][..], &["Bearer ="], &["Bearer a b"], &["Bearer a\"b"], &[token, token]] {
            assert!(matches!(of(values, None), Err(Refusal::Malformed(_))), "{values:?}");
        }
    }

    #[test]
    fn tokens_in_the_url_are_refused_even_next_to_the_header() {
        for values in [&[][..], &["Bearer abc"]] {
            assert!(matches!(of(values, Some("x=1&access_token=abc")), Err(Refusal::Malformed(_))));
        }
        assert!(of(&["Bearer abc"], Some("my_access_token=1")).is_ok());
    }
}
