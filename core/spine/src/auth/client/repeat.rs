//! Steps of a login that cannot be repeated.

use bytes::Bytes;
use http::{Request, StatusCode};
use url::form_urlencoded;

/// Why a request that got this status cannot be sent a second time.
pub(super) fn spent(request: &Request<Bytes>, status: StatusCode) -> Option<&'static str> {
    if request.headers().contains_key("dpop") {
        return Some("The proof of this request is valid once (RFC 9449 section 11.1): log in again");
    }
    let (_, grant) = form_urlencoded::parse(request.body()).find(|(name, _)| name == "grant_type")?;
    if !status.is_success() || grant == "client_credentials" {
        return None;
    }
    Some(match &*grant {
        "authorization_code" => {
            "This request has used its code, which is valid once (RFC 6749 section 4.1.2): log in again"
        }
        "refresh_token" => "This request may have replaced its refresh token (RFC 6749 section 6): log in again",
        _ => "This request has used its grant, which is valid once: log in again",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_valid_once_is_not_repeated() {
        let of = |form: &str, status: StatusCode, proof: bool| {
            let mut request =
                Request::post("https://a.example/").body(Bytes::copy_from_slice(form.as_bytes())).unwrap();
            if proof {
                request.headers_mut().insert("dpop", "x".parse().unwrap());
            }
            spent(&request, status)
        };
        for grant in ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"] {
            let form = format!("grant_type={}", grant.replace(':', "%3A"));
            assert!(of(&form, StatusCode::OK, false).is_some(), "{grant}");
            assert_eq!(of(&form, StatusCode::BAD_REQUEST, false), None, "{grant}");
        }
        assert_eq!(of("grant_type=client_credentials", StatusCode::OK, false), None);
        assert_eq!(of("{}", StatusCode::CREATED, false), None);
        assert!(of("", StatusCode::BAD_REQUEST, true).is_some());
    }
}
