//! The flags of mcp-remote, supergateway and mcp-proxy, so that one word changes in a
//! configuration.

use crate::failure::Failure;
use clap::Args;

/// Flags that other bridges have under another name or in another form.
#[derive(Args, Debug, Default)]
pub(super) struct OtherBridges {
    // supergateway
    #[arg(long, value_name = "COMMAND", hide = true)]
    pub(super) stdio: Option<String>,
    #[arg(long, value_name = "URL", hide = true)]
    pub(super) sse: Option<String>,
    #[arg(long = "streamableHttp", alias = "streamable-http", value_name = "URL", hide = true)]
    pub(super) streamable_http: Option<String>,
    #[arg(long, value_name = "PORT", hide = true)]
    pub(super) port: Option<u16>,
    #[arg(long = "outputTransport", value_name = "TRANSPORT", hide = true)]
    pub(super) output_transport: Option<String>,
    #[arg(long, hide = true)]
    pub(super) stateful: bool,
    #[arg(long = "oauth2Bearer", value_name = "TOKEN", hide = true)]
    pub(super) oauth2_bearer: Option<String>,
    #[arg(long, value_name = "ORIGIN", num_args = 0.., hide = true)]
    pub(super) cors: Option<Vec<String>>,
    #[arg(long = "healthEndpoint", value_name = "PATH", hide = true)]
    pub(super) health_endpoints: Vec<String>,
    #[arg(long = "ssePath", value_name = "PATH", hide = true)]
    pub(super) other_sse_path: Option<String>,
    #[arg(long = "messagePath", value_name = "PATH", hide = true)]
    pub(super) other_message_path: Option<String>,
    #[arg(long = "streamableHttpPath", alias = "streamEndpoint", value_name = "PATH", hide = true)]
    pub(super) streamable_http_path: Option<String>,
    #[arg(long = "sessionTimeout", value_name = "MILLISECONDS", hide = true)]
    pub(super) session_timeout: Option<u64>,
    #[arg(long = "baseUrl", value_name = "URL", hide = true)]
    pub(super) base_url: Option<String>,
    #[arg(long = "logLevel", value_name = "LEVEL", hide = true)]
    pub(super) log_level: Option<String>,
    #[arg(long = "protocolVersion", value_name = "DATE", hide = true)]
    pub(super) protocol_version: Option<String>,
    // mcp-proxy
    #[arg(long = "apiKey", alias = "api-key", value_name = "KEY", hide = true)]
    pub(super) api_key: Option<String>,
    // mcp-remote
    #[arg(long, value_name = "WORD", hide = true)]
    pub(super) protocol: Option<String>,
    #[arg(long, value_name = "JSON", hide = true)]
    pub(super) static_oauth_client_info: Option<String>,
    #[arg(long, value_name = "JSON", hide = true)]
    pub(super) static_oauth_client_metadata: Option<String>,
    #[arg(long, value_name = "SECONDS", hide = true)]
    pub(super) auth_timeout: Option<u64>,
    #[arg(long, hide = true)]
    pub(super) disable_resource_parameter: bool,
    #[arg(long, hide = true)]
    pub(super) debug: bool,
    #[arg(long, hide = true)]
    pub(super) silent: bool,
    #[arg(long, hide = true)]
    pub(super) enable_proxy: bool,
    #[arg(long, hide = true)]
    pub(super) keep_alive: bool,
    #[arg(long, value_name = "SECONDS", hide = true)]
    pub(super) ping_interval: Option<u64>,
    #[arg(long, value_name = "TIME", hide = true)]
    pub(super) headers_timeout: Option<String>,
    #[arg(long, value_name = "TIME", hide = true)]
    pub(super) body_timeout: Option<String>,
    #[arg(long, hide = true)]
    pub(super) ipv4: bool,
    #[arg(long, hide = true)]
    pub(super) disable_cookies: bool,
    #[arg(long, value_name = "URL", hide = true)]
    pub(super) auth_success_url: Option<String>,
}

impl OtherBridges {
    /// Refuses what the bridge cannot do, rather than do something else.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.api_key.is_some() {
            return Err(Failure::usage("--apiKey: others on this machine would see the key in the list of processes")
                .hint("trunkline token new NAME >> tokens.txt, and --tokens tokens.txt"));
        }
        let missing = [(self.auth_success_url.is_some(), "--auth-success-url")];
        match missing.into_iter().find(|(given, _)| *given) {
            Some((_, flag)) => {
                Err(Failure::usage(format!("{flag}: mcp-remote has this flag, and the bridge does not yet"))
                    .hint("leave it out, or keep mcp-remote for this server"))
            }
            None => Ok(()),
        }
    }

    /// Notes about flags that have no effect.
    pub(super) fn notes(&self) -> Vec<String> {
        let health = self.health_endpoints.iter().any(|path| path != "/healthz");
        let without_effect = [
            (self.base_url.is_some(), "--baseUrl has no effect: clients get paths, not URLs"),
            (health, "--healthEndpoint: the paths are /healthz and /readyz"),
            (
                self.ipv4,
                "--ipv4 has no effect: both kinds of addresses are tried, and the first one that answers is used",
            ),
            (self.disable_cookies, "--disable-cookies has no effect: cookies go only to the server that set them"),
            (
                self.keep_alive || self.ping_interval.is_some(),
                "--keep-alive and --ping-interval have no effect: a connection that was lost is opened again by the next request",
            ),
        ];
        without_effect.into_iter().filter(|(given, _)| *given).map(|(_, note)| format!("bridge: {note}")).collect()
    }
}
