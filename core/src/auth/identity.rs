//! The identity that a token stands for.

use crate::protocol::RawJson;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The claims of a verified token about the sender of a request. The token itself is not part of it: it was issued for this server
/// and must not travel further (AUS-09).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Identity {
    /// Names the sender among all senders, so that what one of them opened stays theirs (SEC-04). A verifier that leaves it
    /// empty gets `ISSUER#sub:SUBJECT`, or `ISSUER#client:CLIENT` for a client that acts for itself. Without an issuer, its
    /// subjects must be unique among all that the endpoint knows.
    #[serde(default)]
    pub principal: String,
    /// The user, or the client where it acts for itself (`sub`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The client that the token was issued to (`client_id`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The authorization server that issued the token (`iss`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The scopes that the token grants.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// When the token ends, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// Everything else that is known, such as the claims of a JWT. A DPoP-bound token has `cnf.jkt` here.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub claims: Map<String, Value>,
}

trunkline_proto::setters!(Identity {
    into with_principal principal: String,
    some with_subject subject: String,
    some with_client_id client_id: String,
    some with_issuer issuer: String,
    value with_scopes scopes: Vec<String>,
    some with_expires_at expires_at: u64,
    value with_claims claims: Map<String, Value>,
});

impl Identity {
    /// Fills in the principal. `None`: the token stands for nobody.
    ///
    /// Subjects are unique within their issuer only, and a client may have the name of a user (RFC 9068, section 5).
    pub(super) fn named(mut self) -> Option<Self> {
        if self.principal.is_empty() {
            let named = |kind: &str, name: &Option<String>| {
                let name = name.as_ref().filter(|name| !name.is_empty())?;
                Some(format!("{}#{kind}:{name}", self.issuer.as_deref().unwrap_or_default()))
            };
            self.principal = named("sub", &self.subject).or_else(|| named("client", &self.client_id))?;
        }
        Some(self)
    }

    /// As handlers see it.
    pub(crate) fn to_json(&self) -> RawJson {
        RawJson::from_value(self).unwrap_or_else(|_| RawJson::empty_object())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Option<Identity> {
        serde_json::from_value::<Identity>(value).unwrap().named()
    }

    #[test]
    fn the_principal_is_given_or_the_subject_or_the_client_of_its_issuer() {
        assert_eq!(read(json!({"principal": "p", "subject": "s"})).unwrap().principal, "p");
        assert_eq!(read(json!({"subject": "s", "clientId": "c"})).unwrap().principal, "#sub:s");
        assert_eq!(read(json!({"clientId": "c"})).unwrap().principal, "#client:c");
        let issued = |issuer: &str| read(json!({"subject": "s", "issuer": issuer})).unwrap().principal;
        assert_eq!(issued("https://a.example"), "https://a.example#sub:s");
        assert_ne!(issued("https://a.example"), issued("https://b.example"));
        assert_eq!(read(json!({"scopes": ["a"]})), None);
        assert_eq!(read(json!({"subject": ""})), None);
    }

    #[test]
    fn handlers_see_camel_case_without_what_is_unknown() {
        let identity = read(json!({"subject": "s", "expiresAt": 5, "claims": {"team": 7}})).unwrap();
        let json: Value = identity.to_json().parse().unwrap();
        let expected =
            json!({"principal": "#sub:s", "subject": "s", "scopes": [], "expiresAt": 5, "claims": {"team": 7}});
        assert_eq!(json, expected);
    }
}
