//! Why a request is not let in.

use http::StatusCode;

/// Why a request is refused. The texts reach the client: they hold nothing about the token's
/// content, and no secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// There are no credentials of a kind that counts here (401).
    Missing,
    /// The credentials are not presented as they must be (400).
    Malformed(String),
    /// The token is unknown, expired, revoked, not for this server, or not what it claims to be
    /// (401).
    InvalidToken(String),
    /// The proof that a bound token needs is missing or wrong (401).
    InvalidProof(String),
    /// The proof lacks the nonce of this server, or has an old one (401).
    NonceNeeded,
    /// The token is good but does not grant enough (403).
    InsufficientScope {
        /// All that the operation needs, not only what is missing. A verifier may leave it
        /// empty: then what the endpoint needs is named.
        scopes: Vec<String>,
        /// For people.
        description: Option<String>,
    },
    /// The token cannot be verified now (503). The text is for the log only.
    Unavailable(String),
}

impl Refusal {
    /// The status that answers the request.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Missing | Self::InvalidToken(_) | Self::InvalidProof(_) | Self::NonceNeeded => {
                StatusCode::UNAUTHORIZED
            }
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::InsufficientScope { .. } => StatusCode::FORBIDDEN,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The error code of RFC 6750 section 3.1 and RFC 9449; a request without credentials has none.
    pub(crate) fn code(&self) -> Option<&'static str> {
        match self {
            Self::Missing | Self::Unavailable(_) => None,
            Self::Malformed(_) => Some("invalid_request"),
            Self::InvalidToken(_) => Some("invalid_token"),
            Self::InvalidProof(_) => Some("invalid_dpop_proof"),
            Self::NonceNeeded => Some("use_dpop_nonce"),
            Self::InsufficientScope { .. } => Some("insufficient_scope"),
        }
    }

    /// The description for the client.
    pub(crate) fn description(&self) -> &str {
        match self {
            Self::Missing => "This server needs an access token in the header Authorization",
            Self::Malformed(text) | Self::InvalidToken(text) | Self::InvalidProof(text) => text,
            Self::NonceNeeded => "The DPoP proof needs the nonce of the header DPoP-Nonce",
            Self::InsufficientScope { description: Some(text), .. } => text,
            Self::InsufficientScope { .. } => "The access token does not grant what this request needs",
            Self::Unavailable(_) => "The access token cannot be verified now",
        }
    }
}
