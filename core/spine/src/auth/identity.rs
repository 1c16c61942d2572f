//! The identity behind a token.

use crate::protocol::RawJson;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Map, Number, Value};
use std::time::Duration;

trunkline_proto::described! {
    /// The identity that a verified token represents. It does not contain the token, which was
    /// issued for this server and must not be passed on. A subject, a client or a principal is
    /// required.
    ///
    /// ```
    /// use trunkline::auth::Identity;
    ///
    /// let identity = Identity::default().with_subject("alice").with_scopes(vec!["notes".into()]);
    /// ```
    #[derive(Default, PartialEq, Serialize, Deserialize)]
    pub struct Identity {
        /// The user, or the client if it acts on its own behalf (`sub`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional subject: Option<String> = "subject",
        /// Client that the token was issued to (`client_id`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional client_id: Option<String> = "clientId",
        /// Authorization server that issued the token (`iss`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional issuer: Option<String> = "issuer",
        /// Scopes that the token grants.
        #[serde(default)]
        optional scopes: Vec<String> = "scopes",
        /// Expiry of the token, in seconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole_seconds")]
        optional expires_at: Option<u64> = "expiresAt" as f64,
        /// Everything else that is known, such as the claims of a JWT. A DPoP-bound token has
        /// `cnf.jkt` here.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        optional claims: Map<String, Value> = "claims",
        /// Unique name of the caller, which separates what it opens from what others open. Default:
        /// `ISSUER#sub:SUBJECT`, or `ISSUER#client:CLIENT` for a client that acts on its own
        /// behalf; without an issuer, subjects must be unique within the endpoint.
        #[serde(default)]
        optional principal: String = "principal",
    }
}

/// A date as in RFC 7519, section 2, which may have a fraction.
fn whole_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let given = Option::<Number>::deserialize(deserializer)?;
    let whole = |number: &Number| {
        number.as_u64().or_else(|| Duration::try_from_secs_f64(number.as_f64()?).ok().map(|time| time.as_secs()))
    };
    given
        .map(|number| {
            whole(&number).ok_or_else(|| Error::custom(format_args!("{number} is not a time in seconds since 1970")))
        })
        .transpose()
}

trunkline_proto::setters!(Identity {
    [into] with_principal principal: String,
    [some] with_subject subject: String,
    [some] with_client_id client_id: String,
    [some] with_issuer issuer: String,
    [] with_scopes scopes: Vec<String>,
    [some] with_expires_at expires_at: u64,
    [] with_claims claims: Map<String, Value>,
});

impl Identity {
    /// Fills in the principal; `None` if the token identifies nobody.
    ///
    /// Subjects are only unique within their issuer, and a client may have the same name as a user
    /// (RFC 9068, section 5).
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

    /// Returns `true` if it names a caller.
    #[doc(hidden)]
    pub fn is_named(&self) -> bool {
        [Some(&self.principal), self.subject.as_ref(), self.client_id.as_ref()]
            .into_iter()
            .flatten()
            .any(|name| !name.is_empty())
    }

    /// Returns it in the form that handlers see.
    pub(crate) fn to_json(&self) -> RawJson {
        RawJson::object(self)
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
    fn a_date_may_have_a_fraction_but_not_a_sign() {
        assert_eq!(read(json!({"subject": "s", "expiresAt": 5.9})).unwrap().expires_at, Some(5));
        assert_eq!(read(json!({"subject": "s", "expiresAt": null})).unwrap().expires_at, None);
        let error = serde_json::from_value::<Identity>(json!({"subject": "s", "expiresAt": -1})).unwrap_err();
        assert_eq!(error.to_string(), "-1 is not a time in seconds since 1970");
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
