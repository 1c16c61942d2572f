//! Reasons to refuse a request.

use http::StatusCode;

/// Why a request is refused. The messages are sent to the client, so they must not contain secrets
/// or anything from the token.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// No credentials of an accepted scheme (401).
    Missing,
    /// Malformed credentials (400).
    Malformed(String),
    /// The token is unknown, expired, revoked, forged or not for this server (401).
    InvalidToken(String),
    /// The proof of a bound token is missing or invalid (401).
    InvalidProof(String),
    /// The proof has no nonce of this server, or an old one (401).
    NonceNeeded,
    /// The token is valid but lacks scopes (403).
    InsufficientScope {
        /// All scopes that the operation needs, not only the missing ones. If a verifier leaves
        /// this empty, the challenge names the scopes that the endpoint requires.
        scopes: Vec<String>,
        /// A human-readable description.
        description: Option<String>,
    },
    /// The token cannot be verified right now (503). The message is only logged.
    Unavailable(String),
}

impl Refusal {
    /// The HTTP status.
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

    /// The error code (RFC 6750 section 3.1, RFC 9449). A request without credentials has none.
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
            Self::Missing => "This server requires an access token in the Authorization header",
            Self::Malformed(text) | Self::InvalidToken(text) | Self::InvalidProof(text) => text,
            Self::NonceNeeded => "The DPoP proof needs the nonce from the DPoP-Nonce header",
            Self::InsufficientScope { description: Some(text), .. } => text,
            Self::InsufficientScope { .. } => "The access token does not grant what this request needs",
            Self::Unavailable(_) => "The access token cannot be verified at the moment",
        }
    }
}
