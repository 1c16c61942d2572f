//! Access tokens that an endpoint requires.

use crate::{BridgeError, PortState, calls::handlers::HostHandler, host_json, register};
use serde_json::Value;
use std::sync::Arc;
use trunkline::{
    auth::{AuthOptionError, Authorization, AuthorizationOptions, JwtOptions, StaticTokenOptions},
    protocol::options::Options,
};

trunkline::bridge_support::options! {
    /// Configures the access tokens that requests to an endpoint need (`auth` of a listener).
    #[derive(Debug, Clone)]
    pub struct AuthConfig {
        /// A registered verifier, which replaces the built-in JWT verifier: only the resource is
        /// then required. A listener that takes the verifier as an argument sets this.
        verifier: Option<u64> => "verifier" = None,
        ;
        /// The endpoint.
        authorization: AuthorizationOptions,
        /// The tokens.
        jwt: JwtOptions,
        /// Tokens that no authorization server issues.
        static_tokens: StaticTokenOptions,
    }
}

/// The authorization of an endpoint.
pub(crate) fn authorization(state: &Arc<PortState>, auth: Value) -> Result<Authorization, BridgeError> {
    if !cfg!(all(feature = "auth", feature = "http-server")) {
        return Err(BridgeError::without("auth"));
    }
    let AuthConfig { verifier, authorization, jwt, static_tokens } =
        host_json::read_member("open", "transport.auth", auth)?;
    let combined = |option: &str, kind: &str, with: &str| {
        Err(BridgeError::invalid(format!(
            "open: transport.auth.{option} is for {kind} and cannot be combined with {with}"
        )))
    };
    let (of_jwt, of_list) = (jwt.changed(), static_tokens.changed());
    let made = match verifier {
        Some(handle) => {
            if let Some(option) = of_jwt.first() {
                return combined(option, "JWTs", "a verifier");
            }
            if let Some(option) = of_list.first() {
                return combined(option, "static tokens", "a verifier");
            }
            let target = register::hook(state, handle, "verifier", None)?;
            Authorization::new(authorization, Arc::new(HostHandler::new(state, target)))
        }
        None => match (of_list.first(), of_jwt.first()) {
            (Some(_), Some(option)) => return combined(option, "JWTs", "static tokens"),
            (Some(_), None) => Authorization::static_tokens(authorization, static_tokens),
            (None, _) => Authorization::jwt(authorization, jwt),
        },
    };
    made.map_err(|error: AuthOptionError| BridgeError::invalid(format!("open: transport.{}", error.in_json())))
}
