//! Writes the `WWW-Authenticate` header (RFC 6750 section 3, RFC 9728 section 5.1, RFC 9449 section
//! 7.1).

use super::{Algorithm, Refusal, Scheme};
use std::fmt::Write as _;

/// The part that all challenges of a server have in common.
pub(super) struct Challenger<'a> {
    /// Without authorization servers, there is none.
    pub(super) metadata_url: Option<&'a str>,
    /// The scopes that the endpoint requires.
    pub(super) scopes: &'a [String],
    /// The accepted schemes, in order of preference.
    pub(super) schemes: &'a [Scheme],
    /// The accepted proof algorithms.
    pub(super) algorithms: &'a [Algorithm],
}

impl Challenger<'_> {
    /// One challenge per scheme. The scheme that the client used comes first, with the error.
    pub(super) fn challenges(&self, refusal: &Refusal, used: Option<Scheme>) -> Vec<String> {
        if matches!(refusal, Refusal::Unavailable(_)) {
            return Vec::new();
        }
        let blamed = used.filter(|used| self.schemes.contains(used)).unwrap_or(self.schemes[0]);
        let mut schemes = vec![blamed];
        schemes.extend(self.schemes.iter().filter(|scheme| **scheme != blamed));
        schemes.into_iter().map(|scheme| self.challenge(scheme, refusal, scheme == blamed)).collect()
    }

    fn challenge(&self, scheme: Scheme, refusal: &Refusal, blamed: bool) -> String {
        let mut parameters = Vec::new();
        if let Some(code) = refusal.code().filter(|_| blamed) {
            parameters.push(("error", code.to_owned()));
            parameters.push(("error_description", printable(refusal.description())));
        }
        let scopes = match refusal {
            Refusal::InsufficientScope { scopes, .. } if !scopes.is_empty() => scopes.as_slice(),
            _ => self.scopes,
        };
        // AUS-13: refresh tokens are between the client and its authorization server.
        let scopes: Vec<_> = scopes.iter().map(String::as_str).filter(|scope| *scope != "offline_access").collect();
        if !scopes.is_empty() {
            parameters.push(("scope", scopes.join(" ")));
        }
        if let Some(url) = self.metadata_url {
            parameters.push(("resource_metadata", url.to_owned()));
        }
        if scheme == Scheme::Dpop {
            let names: Vec<_> = self.algorithms.iter().map(|algorithm| algorithm.as_str()).collect();
            parameters.push(("algs", names.join(" ")));
        }
        let mut text = scheme.as_str().to_owned();
        for (index, (name, value)) in parameters.iter().enumerate() {
            let separator = if index == 0 { " " } else { ", " };
            // Writing to a string never fails.
            let _ = write!(text, "{separator}{name}=\"{value}\"");
        }
        text
    }
}

/// Keeps only the characters allowed in an `error_description` (RFC 6750 section 3).
fn printable(text: &str) -> String {
    text.chars()
        .map(|it| match it {
            '"' | '\\' => '\'',
            ' '..='~' => it,
            _ => '?',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenges(schemes: &[Scheme], refusal: &Refusal, used: Option<Scheme>) -> Vec<String> {
        let terms = Challenger {
            metadata_url: Some("https://mcp.example/.well-known/oauth-protected-resource"),
            scopes: &["read".to_owned()],
            schemes,
            algorithms: &[Algorithm::Es256, Algorithm::EdDsa],
        };
        terms.challenges(refusal, used)
    }

    const METADATA: &str = r#"resource_metadata="https://mcp.example/.well-known/oauth-protected-resource""#;

    #[test]
    fn aus_02_and_aus_04_without_credentials_there_is_no_error() {
        let challenges = challenges(&[Scheme::Bearer], &Refusal::Missing, None);
        assert_eq!(challenges, [format!(r#"Bearer scope="read", {METADATA}"#)]);
    }

    #[test]
    fn without_metadata_a_challenge_is_that_of_rfc_6750() {
        let terms = Challenger { metadata_url: None, scopes: &[], schemes: &[Scheme::Bearer], algorithms: &[] };
        assert_eq!(terms.challenges(&Refusal::Missing, None), ["Bearer"]);
        let unknown = Refusal::InvalidToken("Unknown".into());
        let challenges = terms.challenges(&unknown, Some(Scheme::Bearer));
        assert_eq!(challenges, [r#"Bearer error="invalid_token", error_description="Unknown""#]);
    }

    #[test]
    fn aus_10_and_aus_11_insufficient_scope_names_all_that_is_needed() {
        let refusal = Refusal::InsufficientScope {
            scopes: vec!["read".into(), "write".into()],
            description: Some("Writing needs \"more\"\r\nSet-Cookie: a=b ü".into()),
        };
        assert_eq!(
            challenges(&[Scheme::Bearer], &refusal, Some(Scheme::Bearer)),
            [format!(
                r#"Bearer error="insufficient_scope", error_description="Writing needs 'more'??Set-Cookie: a=b ?", scope="read write", {METADATA}"#
            )]
        );
    }

    #[test]
    fn aus_13_offline_access_of_a_verifier_is_not_asked_for() {
        for (scopes, scope) in [(&["write", "offline_access"][..], r#"scope="write", "#), (&["offline_access"], "")] {
            let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
            let refusal = Refusal::InsufficientScope { scopes, description: Some("More".into()) };
            let expected = format!(r#"Bearer error="insufficient_scope", error_description="More", {scope}{METADATA}"#);
            assert_eq!(challenges(&[Scheme::Bearer], &refusal, Some(Scheme::Bearer)), [expected]);
        }
    }

    #[test]
    fn xau_62_and_xau_63_each_scheme_has_its_challenge_and_the_used_one_the_error() {
        let both = [Scheme::Bearer, Scheme::Dpop];
        let refusal = Refusal::InvalidProof("Late".into());
        assert_eq!(
            challenges(&both, &refusal, Some(Scheme::Dpop)),
            [
                format!(
                    r#"DPoP error="invalid_dpop_proof", error_description="Late", scope="read", {METADATA}, algs="ES256 EdDSA""#
                ),
                format!(r#"Bearer scope="read", {METADATA}"#),
            ]
        );
        // If only bound tokens are accepted, only DPoP is offered.
        let only = challenges(&[Scheme::Dpop], &Refusal::InvalidToken("x".into()), Some(Scheme::Bearer));
        assert_eq!(only.len(), 1);
        assert!(only[0].starts_with(r#"DPoP error="invalid_token""#), "{only:?}");
    }
}
