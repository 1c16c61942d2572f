//! Access tokens that an endpoint requires.

use crate::{BridgeError, PortState, calls::handlers::HostHandler, host_json, register};
use serde_json::Value;
use std::sync::Arc;
use trunkline::{
    auth::{AuthOptionError, Authorization, AuthorizationOptions, JwtOptions},
    protocol::options::Options,
};

trunkline::bridge_support::options! {
    /// Configures the access tokens that requests to an endpoint need (`auth` of a listener).
    #[derive(Debug, Clone)]
    pub struct AuthConfig {
        /// A registered verifier, which replaces the built-in JWT verifier: only the resource and
        /// the authorization servers are then required. A listener that takes the verifier as an
        /// argument sets this.
        verifier: Option<u64> => "verifier" = None,
        ;
        /// The endpoint.
        authorization: AuthorizationOptions,
        /// The tokens.
        jwt: JwtOptions,
    }
}

/// The authorization of an endpoint.
pub(crate) fn authorization(state: &Arc<PortState>, auth: Value) -> Result<Authorization, BridgeError> {
    if !cfg!(all(feature = "auth", feature = "http-server")) {
        return Err(BridgeError::without("auth"));
    }
    let AuthConfig { verifier, authorization, jwt } = host_json::read_member("open", "transport.auth", auth)?;
    let made = match verifier {
        Some(handle) => {
            if let Some(option) = jwt.changed().first() {
                return Err(BridgeError::invalid(format!(
                    "open: transport.auth.{option} is for JWTs and cannot be combined with a verifier"
                )));
            }
            let target = register::hook(state, handle, "verifier", None)?;
            Authorization::new(authorization, Arc::new(HostHandler::new(state, target)))
        }
        None => Authorization::jwt(authorization, jwt),
    };
    made.map_err(|error: AuthOptionError| BridgeError::invalid(format!("open: transport.{}", error.in_json())))
}
