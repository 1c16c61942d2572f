//! The flags for a login.

use clap::{Args, ValueEnum, builder::FalseyValueParser};
use std::{fmt, time::Duration};
use trunkline::auth::{AuthObserver, UrlOpener};

pub(crate) const HEADING: &str = "Login at the server";

/// The flags for a login at the server.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = HEADING)]
pub(crate) struct LoginFlags {
    /// The id by which the authorization server knows this client; without it, the program
    /// registers itself.
    #[arg(long, value_name = "ID", env = "TRUNKLINE_CLIENT_ID", hide_env = true)]
    pub(crate) client_id: Option<String>,
    /// The environment variable that has the secret of that client.
    #[arg(long, value_name = "VARIABLE", env = "TRUNKLINE_CLIENT_SECRET_ENV", hide_env = true)]
    pub(crate) client_secret_env: Option<String>,
    /// The https URL of this client's metadata document.
    #[arg(long, value_name = "URL", env = "TRUNKLINE_CLIENT_METADATA_URL", hide_env = true)]
    pub(crate) client_metadata_url: Option<String>,
    /// The only authorization server to log in at. `--resource none` needs it if that server has
    /// another origin than the MCP server.
    #[arg(long, value_name = "ISSUER", env = "TRUNKLINE_AUTHORIZATION_SERVER", hide_env = true)]
    pub(crate) authorization_server: Option<String>,
    /// Request this scope if the server names none. Repeatable.
    #[arg(long = "scope", value_name = "SCOPE", env = "TRUNKLINE_SCOPE", hide_env = true, value_delimiter = ' ')]
    pub(crate) scopes: Vec<String>,
    /// The parameter `resource`, if it is not the URL of the server; `none` leaves it out, because
    /// some authorization servers refuse it.
    #[arg(long, value_name = "URI", env = "TRUNKLINE_RESOURCE", hide_env = true)]
    pub(crate) resource: Option<String>,
    /// Add a parameter to the page of the login. Repeatable.
    #[arg(
        long = "authorize-param",
        value_name = "NAME=VALUE",
        env = "TRUNKLINE_AUTHORIZE_PARAM",
        hide_env = true,
        value_delimiter = '\n'
    )]
    pub(crate) authorize_params: Vec<String>,
    /// The port to which the login redirects; by default, a free one.
    #[arg(long, value_name = "PORT", env = "TRUNKLINE_CALLBACK_PORT", hide_env = true)]
    pub(crate) callback_port: Option<u16>,
    /// The host of the redirect, which is this machine.
    #[arg(long, value_name = "HOST", env = "TRUNKLINE_CALLBACK_HOST", hide_env = true)]
    pub(crate) callback_host: Option<String>,
    /// The path of the redirect.
    #[arg(long, value_name = "PATH", env = "TRUNKLINE_CALLBACK_PATH", hide_env = true)]
    pub(crate) callback_path: Option<String>,
    /// Log in as the client itself, with its id and secret, without a person.
    #[arg(long = "client-credentials")]
    pub(crate) as_client: bool,
    /// Print a code, which the person enters in a browser on any device.
    #[arg(long, conflicts_with = "as_client", env = "TRUNKLINE_DEVICE_CODE", hide_env = true, value_parser = FalseyValueParser::new())]
    pub(crate) device_code: bool,
    /// Send the ID token to the server instead of the access token.
    #[arg(long, alias = "use-id-token", env = "TRUNKLINE_ID_TOKEN", hide_env = true, value_parser = FalseyValueParser::new())]
    pub(crate) id_token: bool,
    /// The token endpoint, if the authorization server does not say it. Needs
    /// `--authorization-server`, except with `--client-credentials`.
    #[arg(long, value_name = "URL", env = "TRUNKLINE_TOKEN_ENDPOINT", hide_env = true)]
    pub(crate) token_endpoint: Option<String>,
    /// Where to keep logins: in files that a key in the keychain of the system encrypts
    /// (`keychain`, the default), in plain files (`file`), or in plain files of this folder.
    #[arg(long, value_name = "WHERE", env = "TRUNKLINE_STORE", hide_env = true)]
    pub(crate) store: Option<String>,
    /// Print the address of the login instead of opening a browser.
    #[arg(long, env = "TRUNKLINE_NO_BROWSER", hide_env = true, value_parser = FalseyValueParser::new())]
    pub(crate) no_browser: bool,
    /// The secret and the name of the client, as other bridges pass them.
    #[arg(skip)]
    pub(crate) client_secret: Option<String>,
    #[arg(skip)]
    pub(crate) client_name: Option<String>,
    #[arg(skip)]
    pub(crate) login_timeout: Option<Duration>,
    /// The page to which the browser goes after the login.
    #[arg(skip)]
    pub(crate) success_url: Option<String>,
    /// Take over the login that mcp-remote has kept, if the server has none here.
    #[arg(skip)]
    pub(crate) imports: bool,
    /// Gets the steps of the login.
    #[arg(skip)]
    pub(crate) trace: Option<AuthObserver>,
    /// Shows the page of the login.
    #[arg(skip)]
    pub(crate) opener: Option<Opener>,
}

/// Shows the page of a login, in the place of the browser or the terminal.
#[derive(Clone)]
pub(crate) struct Opener(pub(crate) UrlOpener);

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opener")
    }
}

/// How to get an access token.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Login {
    Oauth,
    None,
}
