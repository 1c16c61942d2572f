//! Finds the keys of an issuer (RFC 8414, OpenID Connect Discovery), in the order that the
//! specification prescribes.

use super::resource_url::is_safe;
use serde_json::Value;
use url::Url;

/// The URLs where an issuer's metadata may be, in the order to try. Empty if the issuer is not a
/// safe URL.
pub(super) fn metadata_urls(issuer: &str) -> Vec<Url> {
    let Some(url) = Url::parse(issuer).ok().filter(is_safe) else { return Vec::new() };
    let at = |path: String| {
        let mut url = super::resource_url::bare(url.clone());
        url.set_path(&path);
        url
    };
    metadata_paths(url.path()).map(at).collect()
}

/// The paths of the metadata of an issuer with this path, in the order to try (AUC-06 to AUC-08).
pub(super) fn metadata_paths(path: &str) -> impl Iterator<Item = String> {
    let path = path.trim_end_matches('/');
    let inside = (!path.is_empty()).then(|| format!("{path}/.well-known/openid-configuration"));
    ["oauth-authorization-server", "openid-configuration"]
        .into_iter()
        .map(move |name| format!("/.well-known/{name}{path}"))
        .chain(inside)
}

/// The `jwks_uri` of a metadata document. Its `issuer` must match exactly (RFC 8414 section 3.3).
pub(super) fn keys_of(metadata: &Value, issuer: &str) -> Result<Url, &'static str> {
    if metadata.get("issuer").and_then(Value::as_str) != Some(issuer) {
        return Err("is for another issuer");
    }
    let uri = metadata.get("jwks_uri").and_then(Value::as_str).ok_or("has no jwks_uri")?;
    // A remote issuer must not redirect us to services on this machine.
    let local = |url: &Url| url.scheme() == "http";
    let from_local = Url::parse(issuer).is_ok_and(|issuer| local(&issuer));
    match Url::parse(uri) {
        Ok(url) if is_safe(&url) && (!local(&url) || from_local) => Ok(url),
        _ => Err("has a jwks_uri that is not https"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn metadata_urls_with_and_without_a_path() {
        let of = |issuer: &str| metadata_urls(issuer).into_iter().map(String::from).collect::<Vec<_>>();
        for issuer in ["https://auth.example", "https://auth.example/"] {
            assert_eq!(
                of(issuer),
                [
                    "https://auth.example/.well-known/oauth-authorization-server",
                    "https://auth.example/.well-known/openid-configuration",
                ]
            );
        }
        assert_eq!(
            of("https://auth.example/tenant1"),
            [
                "https://auth.example/.well-known/oauth-authorization-server/tenant1",
                "https://auth.example/.well-known/openid-configuration/tenant1",
                "https://auth.example/tenant1/.well-known/openid-configuration",
            ]
        );
        for issuer in ["http://auth.example", "auth.example", "file:///a", ""] {
            assert!(of(issuer).is_empty(), "{issuer}");
        }
    }

    #[test]
    fn metadata_must_be_of_the_issuer_and_lead_to_https() {
        let of = |issuer: &str, uri: &str| {
            keys_of(&json!({"issuer": issuer, "jwks_uri": uri}), "https://auth.example").map(String::from)
        };
        assert_eq!(of("https://auth.example", "https://cdn.example/keys"), Ok("https://cdn.example/keys".into()));
        for issuer in ["https://auth.example/", "https://evil.example", "https://AUTH.example"] {
            assert!(of(issuer, "https://cdn.example/keys").is_err(), "{issuer}");
        }
        for uri in ["http://cdn.example/keys", "http://localhost:1/keys", "file:///keys", "keys", ""] {
            assert!(of("https://auth.example", uri).is_err(), "{uri}");
        }
        let local = json!({"issuer": "http://localhost:9", "jwks_uri": "http://localhost:9/keys"});
        assert!(keys_of(&local, "http://localhost:9").is_ok());
        assert!(keys_of(&json!({"issuer": "a"}), "a").is_err());
    }
}
