//! Access tokens that an endpoint asks for.

use super::{config, error::BridgeError, state::PortState, verifications};
use serde_json::Value;
use std::sync::Arc;
use trunkline::{
    auth::{AuthOptionError, Authorization, AuthorizationOptions, JwtOptions},
    protocol::options::Options,
};

trunkline::bridge_support::options! {
    /// Access tokens that requests to an endpoint need: `transport.auth` of a listener.
    #[derive(Debug, Clone)]
    pub struct AuthConfig {
        /// The handle of a registered verifier that judges tokens instead of the built-in one
        /// for JWTs. Then only the authorization servers are needed beside the resource.
        verifier: Option<u64> => "verifier" = None,
        ;
        /// The endpoint.
        authorization: AuthorizationOptions,
        /// The tokens.
        jwt: JwtOptions,
    }
}

/// The authorization of an endpoint.
pub(super) fn authorization(state: &Arc<PortState>, auth: Value) -> Result<Authorization, BridgeError> {
    let AuthConfig { verifier, authorization, jwt } = config::read_member("open", "transport.auth", auth)?;
    let made = match verifier {
        Some(handle) => {
            if let Some(option) = jwt.changed().first() {
                return Err(BridgeError::invalid(format!(
                    "open: transport.auth.{option} is for JWTs, and the verifier judges tokens itself"
                )));
            }
            Authorization::new(authorization, verifications::verifier(state, handle)?)
        }
        None => Authorization::jwt(authorization, jwt),
    };
    made.map_err(|error: AuthOptionError| BridgeError::invalid(format!("open: transport.{}", error.in_json())))
}
