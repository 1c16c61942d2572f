//! The flags of mcp-remote, supergateway and mcp-proxy, so that one word changes in a
//! configuration.

use crate::failure::Failure;
use clap::{ArgAction, Args};
use std::time::Duration;

/// Flags that other bridges have under another name or in another form. Those of npm have a second
/// spelling, as `yargs` reads both.
#[derive(Args, Debug, Default)]
pub(super) struct OtherBridges {
    #[command(flatten)]
    pub(super) gateways: Gateways,
    #[command(flatten)]
    pub(super) proxies: Proxies,
    #[command(flatten)]
    pub(super) remote: Remote,
}

/// The flags of supergateway, some of which mcp-proxy has, too.
#[derive(Args, Debug, Default)]
pub(super) struct Gateways {
    #[arg(long, value_name = "COMMAND", hide = true)]
    pub(super) stdio: Option<String>,
    #[arg(long, value_name = "URL", hide = true)]
    pub(super) sse: Option<String>,
    #[arg(long = "streamableHttp", alias = "streamable-http", value_name = "URL", hide = true)]
    pub(super) streamable_http: Option<String>,
    #[arg(long, alias = "sse-port", value_name = "PORT", hide = true)]
    pub(super) port: Option<u16>,
    #[arg(long = "outputTransport", alias = "output-transport", value_name = "TRANSPORT", hide = true)]
    pub(super) output_transport: Option<String>,
    #[arg(long, hide = true)]
    pub(super) stateful: bool,
    #[arg(long = "oauth2Bearer", alias = "oauth2-bearer", value_name = "TOKEN", hide = true)]
    pub(super) oauth2_bearer: Option<String>,
    #[arg(long, value_name = "ORIGIN", num_args = 0.., hide = true)]
    pub(super) cors: Option<Vec<String>>,
    #[arg(long = "healthEndpoint", alias = "health-endpoint", value_name = "PATH", hide = true)]
    pub(super) health_endpoints: Vec<String>,
    #[arg(long = "ssePath", aliases = ["sseEndpoint", "sse-endpoint"], value_name = "PATH", hide = true)]
    pub(super) other_sse_path: Option<String>,
    #[arg(long = "messagePath", value_name = "PATH", hide = true)]
    pub(super) other_message_path: Option<String>,
    #[arg(long = "streamableHttpPath", aliases = ["streamable-http-path", "streamEndpoint", "stream-endpoint"], value_name = "PATH", hide = true)]
    pub(super) streamable_http_path: Option<String>,
    #[arg(long = "sessionTimeout", aliases = ["session-timeout", "sessionIdleTimeout", "session-idle-timeout"], value_name = "MILLISECONDS", hide = true)]
    pub(super) session_timeout: Option<u64>,
    #[arg(long = "baseUrl", alias = "base-url", value_name = "URL", hide = true)]
    pub(super) base_url: Option<String>,
    #[arg(long = "logLevel", alias = "log-level", value_name = "LEVEL", hide = true)]
    pub(super) log_level: Option<String>,
    #[arg(long = "protocolVersion", alias = "protocol-version", value_name = "DATE", hide = true)]
    pub(super) protocol_version: Option<String>,
}

/// The flags of the two programs named mcp-proxy.
#[derive(Args, Debug, Default)]
pub(super) struct Proxies {
    // npm
    #[arg(long = "apiKey", alias = "api-key", value_name = "KEY", hide = true)]
    pub(super) api_key: Option<String>,
    #[arg(long = "upstreamProtocol", alias = "upstream-protocol", value_name = "ERA", hide = true)]
    pub(super) upstream_protocol: Option<crate::flags::Era>,
    #[arg(long, value_name = "TRANSPORT", hide = true)]
    pub(super) server: Option<String>,
    #[arg(long, value_name = "PATH", requires = "server", hide = true)]
    pub(super) endpoint: Option<String>,
    #[arg(long = "connectionTimeout", alias = "connection-timeout", value_name = "MILLISECONDS", hide = true)]
    pub(super) connection_timeout: Option<u64>,
    #[arg(long = "requestTimeout", alias = "request-timeout", value_name = "MILLISECONDS", hide = true)]
    pub(super) request_timeout: Option<u64>,
    #[arg(long = "eventStoreMaxEvents", alias = "event-store-max-events", value_name = "NUMBER", hide = true)]
    pub(super) event_store_max_events: Option<usize>,
    #[arg(long = "eventStore", alias = "event-store", hide = true)]
    pub(super) event_store: bool,
    #[arg(long = "no-eventStore", alias = "no-event-store", hide = true)]
    pub(super) no_event_store: bool,
    #[arg(long, hide = true)]
    pub(super) modern: bool,
    #[arg(long = "no-modern", hide = true)]
    pub(super) no_modern: bool,
    #[arg(long, hide = true)]
    pub(super) shell: bool,
    #[arg(long, hide = true)]
    pub(super) tunnel: bool,
    #[arg(long = "tunnelSubdomain", alias = "tunnel-subdomain", value_name = "NAME", hide = true)]
    pub(super) tunnel_subdomain: Option<String>,
    #[arg(long = "sslCert", aliases = ["ssl-cert", "sslKey", "ssl-key", "sslCa", "ssl-ca"], value_name = "FILE", hide = true)]
    pub(super) ssl: Vec<String>,
    #[arg(long = "maxBodySize", alias = "max-body-size", value_name = "BYTES", hide = true)]
    pub(super) max_body_size: Option<u64>,
    #[arg(long = "keepAliveTimeout", alias = "keep-alive-timeout", value_name = "MILLISECONDS", hide = true)]
    pub(super) keep_alive_timeout: Option<u64>,
    #[arg(
        long = "gracefulShutdownTimeout",
        alias = "graceful-shutdown-timeout",
        value_name = "MILLISECONDS",
        hide = true
    )]
    pub(super) graceful_shutdown_timeout: Option<u64>,
    #[arg(long = "corsAddAllowedHeader", aliases = ["cors-add-allowed-header", "expose-header"], value_name = "HEADER", hide = true)]
    pub(super) cors_headers: Vec<String>,
    // PyPI
    #[arg(short = 'H', long = "headers", num_args = 2, value_names = ["NAME", "VALUE"], hide = true)]
    pub(super) header_pairs: Vec<String>,
    #[arg(short = 'e', num_args = 2, value_names = ["NAME", "VALUE"], hide = true)]
    pub(super) variable_pairs: Vec<String>,
    #[arg(long, value_name = "SECRET", hide = true)]
    pub(super) client_secret: Option<String>,
    #[arg(long, value_name = "URL", hide = true)]
    pub(super) token_url: Option<String>,
    #[arg(long, value_name = "NAME", requires = "password", hide = true)]
    pub(super) username: Option<String>,
    #[arg(long, value_name = "PASSWORD", requires = "username", hide = true)]
    pub(super) password: Option<String>,
    #[arg(long, hide = true)]
    pub(super) digest: bool,
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "true", hide = true)]
    pub(super) verify_ssl: Option<String>,
    #[arg(long, hide = true)]
    pub(super) no_verify_ssl: bool,
    #[arg(long, hide = true)]
    pub(super) pass_environment: bool,
    #[arg(long = "no-pass-environment", aliases = ["no-debug", "no-stateless"], action = ArgAction::Count, hide = true)]
    pub(super) defaults: u8,
    #[arg(long, num_args = 2, value_names = ["NAME", "COMMAND"], hide = true)]
    pub(super) named_server: Vec<String>,
    #[arg(long, value_name = "FILE", hide = true)]
    pub(super) named_server_config: Option<String>,
}

/// The flags of mcp-remote.
#[derive(Args, Debug, Default)]
pub(super) struct Remote {
    /// Of mcp-proxy, where to listen; of mcp-remote, where the login redirects.
    #[arg(long, alias = "sse-host", value_name = "HOST", hide = true)]
    pub(super) host: Option<String>,
    #[arg(long, value_name = "WORD", hide = true)]
    pub(super) protocol: Option<String>,
    #[arg(long, value_name = "JSON", hide = true)]
    pub(super) static_oauth_client_info: Option<String>,
    #[arg(long, value_name = "JSON", hide = true)]
    pub(super) static_oauth_client_metadata: Option<String>,
    #[arg(long, value_name = "TIME", value_parser = crate::flags::time, hide = true)]
    pub(super) auth_timeout: Option<Duration>,
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
    #[arg(long, value_name = "TIME", value_parser = crate::flags::time, hide = true)]
    pub(super) ping_interval: Option<Duration>,
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
        let Self { gateways, proxies, .. } = self;
        let is_regex = |origin: &String| origin.starts_with('/');
        let is_unverified = |value: &String| matches!(&*value.to_lowercase(), "false" | "0" | "no" | "off");
        let refused = [
            (
                proxies.api_key.is_some(),
                "--apiKey: others on this machine would see the key in the list of processes",
                "trunkline token new NAME >> tokens.txt, and --tokens tokens.txt",
            ),
            (
                !proxies.named_server.is_empty() || proxies.named_server_config.is_some(),
                "--named-server: a bridge has one server",
                "start one for each: trunkline bridge --listen :PORT -- COMMAND",
            ),
            (proxies.shell, "--shell: no shell runs the command", "put one there: -- sh -c 'COMMAND'"),
            (
                proxies.no_modern,
                "--no-modern: clients of all revisions are served",
                "leave it out: older clients notice nothing",
            ),
            (
                proxies.tunnel || proxies.tunnel_subdomain.is_some(),
                "--tunnel: the bridge is not published by a third party",
                "listen with --tokens FILE, behind a proxy with a certificate",
            ),
            (
                !proxies.ssl.is_empty(),
                "--sslCert, --sslKey and --sslCa: the bridge serves HTTP without TLS",
                "put it behind a proxy that has the certificate",
            ),
            (
                proxies.no_verify_ssl || proxies.verify_ssl.as_ref().is_some_and(is_unverified),
                "--no-verify-ssl: certificates are always verified",
                "trust that of the server with --ca FILE",
            ),
            (proxies.digest, "--digest: HTTP digest authentication is not supported", "pass a token with --bearer-env"),
            (
                gateways.cors.iter().flatten().any(is_regex),
                "--cors: regular expressions are not supported",
                "name each origin with --allow-origin, or allow all with --allow-origin '*'",
            ),
        ];
        match refused.into_iter().find(|(given, ..)| *given) {
            Some((_, problem, hint)) => Err(Failure::usage(problem).hint(hint)),
            None => Ok(()),
        }
    }

    /// Notes about flags that have no effect.
    pub(super) fn notes(&self) -> Vec<String> {
        let Self { gateways, proxies, remote } = self;
        let without_effect = [
            (gateways.base_url.is_some(), "--baseUrl has no effect: clients get paths, not URLs"),
            (
                remote.ipv4,
                "--ipv4 has no effect: both kinds of addresses are tried, and the first one that answers is used",
            ),
            (remote.disable_cookies, "--disable-cookies has no effect: cookies go only to the server that set them"),
            (
                remote.headers_timeout.is_some() || remote.body_timeout.is_some(),
                "--headers-timeout and --body-timeout have no effect: --timeout limits a request without progress",
            ),
            (
                proxies.max_body_size.is_some(),
                "--maxBodySize has no effect: messages have up to 64 MiB, and share a limit",
            ),
            (
                proxies.keep_alive_timeout.is_some() || proxies.graceful_shutdown_timeout.is_some(),
                "--keepAliveTimeout and --gracefulShutdownTimeout have no effect: --idle ends sessions",
            ),
            (
                !proxies.cors_headers.is_empty(),
                "--corsAddAllowedHeader and --expose-header have no effect: pages of allowed origins may send all headers, and read those of the protocol",
            ),
        ];
        without_effect.into_iter().filter(|(given, _)| *given).map(|(_, note)| format!("bridge: {note}")).collect()
    }
}
