//! The login at the server.

use crate::{
    failure::Failure,
    flags::{ConnectionFlags, Login, read},
};
use clap::{Args, builder::FalseyValueParser};
use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};
use trunkline::{
    auth::{AccessToken, CredentialStore, OAuth, OAuthGrant, OAuthOptions, UrlOpener},
    client_auth::{AuthError, ClientAuth},
    serde_json::{self, Value},
};

/// The flags for a login at the server.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Login at the server")]
pub(super) struct LoginFlags {
    /// The id by which the authorization server knows this client; without it, the bridge registers
    /// itself.
    #[arg(long, value_name = "ID", env = "TRUNKLINE_CLIENT_ID", hide_env = true)]
    pub(super) client_id: Option<String>,
    /// The environment variable that has the secret of that client.
    #[arg(long, value_name = "VARIABLE", env = "TRUNKLINE_CLIENT_SECRET_ENV", hide_env = true)]
    client_secret_env: Option<String>,
    /// The https URL of this client's metadata document.
    #[arg(long, value_name = "URL", env = "TRUNKLINE_CLIENT_METADATA_URL", hide_env = true)]
    client_metadata_url: Option<String>,
    /// The only authorization server to log in at. `--resource none` needs it.
    #[arg(long, value_name = "ISSUER", env = "TRUNKLINE_AUTHORIZATION_SERVER", hide_env = true)]
    authorization_server: Option<String>,
    /// Request this scope if the server names none. Repeatable.
    #[arg(long = "scope", value_name = "SCOPE", env = "TRUNKLINE_SCOPE", hide_env = true, value_delimiter = ' ')]
    pub(super) scopes: Vec<String>,
    /// `none`: leave out the parameter `resource`, which some authorization servers refuse.
    #[arg(long, value_name = "none", value_parser = ["none"], env = "TRUNKLINE_RESOURCE", hide_env = true)]
    pub(super) resource: Option<String>,
    /// Add a parameter to the page of the login. Repeatable.
    #[arg(
        long = "authorize-param",
        value_name = "NAME=VALUE",
        env = "TRUNKLINE_AUTHORIZE_PARAM",
        hide_env = true,
        value_delimiter = '\n'
    )]
    authorize_params: Vec<String>,
    /// The port to which the login redirects; by default, a free one.
    #[arg(long, value_name = "PORT", env = "TRUNKLINE_CALLBACK_PORT", hide_env = true)]
    callback_port: Option<u16>,
    /// The host of the redirect, which is this machine.
    #[arg(long, alias = "host", value_name = "HOST", env = "TRUNKLINE_CALLBACK_HOST", hide_env = true)]
    callback_host: Option<String>,
    /// The path of the redirect.
    #[arg(long, value_name = "PATH", env = "TRUNKLINE_CALLBACK_PATH", hide_env = true)]
    callback_path: Option<String>,
    /// Log in as the client itself, with its id and secret, without a person.
    #[arg(long = "client-credentials")]
    as_client: bool,
    /// Print the address of the login instead of opening a browser.
    #[arg(long, env = "TRUNKLINE_NO_BROWSER", hide_env = true, value_parser = FalseyValueParser::new())]
    no_browser: bool,
    /// The secret and the name of the client, as other bridges pass them.
    #[arg(skip)]
    pub(super) client_secret: Option<String>,
    #[arg(skip)]
    pub(super) client_name: Option<String>,
    #[arg(skip)]
    pub(super) login_timeout: Option<Duration>,
}

impl LoginFlags {
    /// The credentials for the server; `port` is that of the redirect, as mcp-remote takes it.
    pub(super) fn auth(
        &self,
        connection: &ConnectionFlags,
        port: Option<u16>,
    ) -> Result<Option<Arc<dyn ClientAuth>>, Failure> {
        if let Some(name) = &connection.bearer_env {
            return Ok(Some(Arc::new(AccessToken::new(variable("--bearer-env", name)?))));
        }
        if connection.auth == Login::None {
            return Ok(None);
        }
        let mut options = OAuthOptions::default()
            .with_client_name(self.client_name.as_deref().unwrap_or("trunkline"))
            .with_store(CredentialStore::File)
            .with_scopes(self.scopes.clone())
            .with_send_resource(self.resource.is_none())
            .with_authorization_parameters(self.parameters()?);
        options.client_id.clone_from(&self.client_id);
        options.client_secret = match &self.client_secret_env {
            Some(name) => Some(variable("--client-secret-env", name)?),
            None => self.client_secret.clone(),
        };
        options.client_metadata_url.clone_from(&self.client_metadata_url);
        options.issuer.clone_from(&self.authorization_server);
        options.redirect_uri = self.redirect_uri(port)?;
        if self.as_client {
            options.grant = OAuthGrant::ClientCredentials;
        }
        if let Some(timeout) = self.login_timeout {
            options.login_timeout = timeout;
        }
        if self.no_browser {
            options = options.with_handler(UrlOpener::new(|url| async move {
                eprintln!("bridge: log in at {url}");
                Ok::<_, AuthError>(())
            }));
        }
        let auth = OAuth::new(options).map_err(|error| Failure::usage(format!("the flags of the login: {error}")))?;
        Ok(auth.into())
    }

    fn parameters(&self) -> Result<BTreeMap<String, String>, Failure> {
        let pair = |word: &String| {
            let pair = word.split_once('=').filter(|(name, _)| !name.is_empty());
            pair.map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or_else(|| {
                Failure::usage("--authorize-param: a parameter is NAME=VALUE").hint("--authorize-param prompt=consent")
            })
        };
        self.authorize_params.iter().map(pair).collect()
    }

    /// The redirect, if the person has chosen it. With the port as a word, it is that of
    /// mcp-remote, with which a client may be registered.
    fn redirect_uri(&self, port: Option<u16>) -> Result<Option<String>, Failure> {
        let is_named = self.callback_host.is_some() || self.callback_path.is_some();
        let Some(number) = self.callback_port.or(port) else {
            return match is_named {
                true => Err(Failure::usage("--callback-host and --callback-path need --callback-port")),
                false => Ok(None),
            };
        };
        let (host, path) = match self.callback_port {
            Some(_) => ("127.0.0.1", "/callback"),
            None => ("localhost", "/oauth/callback"),
        };
        let host = self.callback_host.as_deref().unwrap_or(host);
        let path = self.callback_path.as_deref().unwrap_or(path).trim_start_matches('/');
        Ok(Some(format!("http://{host}:{number}/{path}")))
    }
}

fn variable(flag: &str, name: &str) -> Result<String, Failure> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty());
    value.ok_or_else(|| Failure::usage(format!("{flag}: the variable {name} is not set")))
}

/// A JSON object of a flag: itself, or `@` and the file that has it.
pub(super) fn object(flag: &str, given: &str) -> Result<Value, Failure> {
    let text = match given.strip_prefix('@') {
        Some(path) => read(Path::new(path), flag)?,
        None => given.to_owned(),
    };
    let value: Value =
        serde_json::from_str(&text).map_err(|error| Failure::usage(format!("{flag}: this is no JSON: {error}")))?;
    if value.is_object() { Ok(value) } else { Err(Failure::usage(format!("{flag}: this is no JSON object"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_is_chosen_by_its_port() {
        let flags = |port, path: Option<&str>| LoginFlags {
            callback_port: port,
            callback_path: path.map(str::to_owned),
            ..LoginFlags::default()
        };
        for (flags, word, redirect) in [
            (flags(None, None), None, None),
            (flags(None, None), Some(9696), Some("http://localhost:9696/oauth/callback")),
            (flags(Some(80), None), Some(9696), Some("http://127.0.0.1:80/callback")),
            (flags(None, Some("a/b")), Some(1), Some("http://localhost:1/a/b")),
        ] {
            assert_eq!(flags.redirect_uri(word).unwrap().as_deref(), redirect);
        }
        assert!(flags(None, Some("/a")).redirect_uri(None).is_err());
    }
}
