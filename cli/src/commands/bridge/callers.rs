//! The callers that may use a bridge that listens.

use crate::failure::Failure;
use clap::{Args, builder::FalseyValueParser};
use std::path::PathBuf;
use trunkline::auth::{AuthOptionError, Authorization, AuthorizationOptions, JwtOptions, StaticTokenOptions};

/// The flags about callers.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Callers")]
pub(super) struct Callers {
    /// Serve callers with a token of this file, in which each line is a name, the SHA-256 of a
    /// token and, if wanted, the date of its expiry. `trunkline token new` makes such lines.
    #[arg(long, value_name = "FILE", conflicts_with = "issuer", env = "TRUNKLINE_TOKENS", hide_env = true)]
    tokens: Option<PathBuf>,
    /// Serve callers with an access token of this authorization server.
    #[arg(long, value_name = "URL", requires = "audience", env = "TRUNKLINE_ISSUER", hide_env = true)]
    issuer: Option<String>,
    /// The public URL of the bridge, for which those access tokens must be issued.
    #[arg(long, value_name = "URI", requires = "issuer", env = "TRUNKLINE_AUDIENCE", hide_env = true)]
    audience: Option<String>,
    /// Let everyone who can reach the address use the server.
    #[arg(long, env = "TRUNKLINE_NO_AUTH", hide_env = true, value_parser = FalseyValueParser::new())]
    no_auth: bool,
}

impl Callers {
    /// The flag that says which callers are served, if one does.
    pub(super) fn flag(&self) -> Option<&'static str> {
        match self {
            Self { tokens: Some(_), .. } => Some("--tokens"),
            Self { issuer: Some(_), .. } => Some("--issuer"),
            Self { no_auth: true, .. } => Some("--no-auth"),
            _ => None,
        }
    }

    /// The access tokens that requests to this path need.
    pub(super) fn authorization(&self, path: &str) -> Result<Option<Authorization>, Failure> {
        let wrong = |flag: &str, error: &AuthOptionError| Failure::usage(format!("{flag}: {}", error.problem()));
        if let Some(file) = &self.tokens {
            // Without an authorization server, nobody is told the name of the resource.
            let resource = AuthorizationOptions::new(format!("http://localhost/{}", path.trim_start_matches('/')));
            let tokens = StaticTokenOptions::default().with_tokens_file(file);
            let made = Authorization::static_tokens(resource, tokens);
            return made.map(Some).map_err(|error| {
                wrong("--tokens", &error).hint("a line is NAME SHA256 EXPIRY; `trunkline token new NAME` makes one")
            });
        }
        let (Some(issuer), Some(audience)) = (&self.issuer, &self.audience) else { return Ok(None) };
        let made = Authorization::jwt(AuthorizationOptions::new(audience), JwtOptions::new(issuer));
        made.map(Some).map_err(|error| wrong("--issuer and --audience", &error))
    }
}
