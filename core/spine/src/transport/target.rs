//! How a client reaches its server.

#[cfg(all(feature = "client", feature = "server"))]
use super::MemoryConnector;
use super::{Channel, ChannelConnector};
#[cfg(feature = "child-process")]
use super::{ChildCommand, ChildConnector};
#[cfg(feature = "http-client")]
use super::{HttpConnector, HttpEndpoint, config_file::is_file};
#[cfg(feature = "server")]
use crate::server::Server;
#[cfg(all(feature = "auth", feature = "http-client"))]
use crate::{
    auth::{OAuth, OAuthOptions},
    client_auth::ClientAuth,
    protocol::fault,
};
use crate::{
    client::{
        Client, ClientError, ClientOptions, ConfigError, Connector, GroupTarget, LinkFailure, ServerDefaults,
        ServerEntry,
    },
    runtime::Runtime,
};
use serde_json::Value;
use std::{
    borrow::Cow,
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A server to connect to, for [`Client::connect`](crate::Client::connect).
///
/// | from | is |
/// | --- | --- |
/// | `"https://example.com/mcp"`, `"unix:/run/it.sock:/mcp"` | the URL of an HTTP endpoint |
/// | [`HttpEndpoint`](super::HttpEndpoint) | a URL with headers, certificates and a proxy |
/// | `["python", "weather.py"]`, [`ChildCommand`](crate::ChildCommand) | a command that serves standard input and output; no shell reads it |
/// | `&Server` | a server of this process |
/// | `json!({"command": "python", "args": ["weather.py"]})`, [`ServerEntry`] | an entry of `mcpServers` |
/// | `"mcp.json"`, `Path::new("mcp.json")`, `json!({"mcpServers": {…}})` | a configuration with one server |
/// | [`ChannelConnector`](super::ChannelConnector) | a custom transport: see [`Channel`](super::Channel) |
/// | `&Client` | for a `ClientGroup`: an existing client, which the group shares |
/// | `Arc<dyn Connector>` | a transport that needs to know of requests or revisions: see [`Connector`] |
///
/// ```no_run
/// use std::path::Path;
/// use trunkline::{Client, transport::Target};
///
/// # async fn run() -> Result<(), trunkline::ClientError> {
/// let targets = [Target::from("https://example.com/mcp"), Target::from(Path::new("mcp.json"))];
/// for target in targets {
///     let client = Client::connect(target).await?;
///     client.close().await;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum Target {
    /// An HTTP endpoint.
    #[cfg(feature = "http-client")]
    Http(HttpEndpoint),
    /// A command that serves on its standard input and output.
    #[cfg(feature = "child-process")]
    Child(ChildCommand),
    /// A server in this process.
    #[cfg(feature = "server")]
    Memory(Server),
    /// An entry of a configuration.
    Entry(ServerEntry),
    /// JSON as in a configuration: a URL, a file, a command as a list, an entry, or a configuration
    /// with one server.
    Json(Value),
    /// A configuration file with one server.
    File(PathBuf),
    /// An invalid entry; connecting returns the error.
    Invalid(ConfigError),
    /// An existing client, for a `ClientGroup`.
    Client(Client),
    /// A custom transport.
    Custom(Arc<dyn Connector>),
}

impl Target {
    /// Returns the connector. A configuration file is read here.
    ///
    /// # Errors
    /// [`ClientError::Invalid`] if the URL, a header, or the configuration is invalid, or if this
    /// build lacks the transport.
    pub fn connector(
        self,
        options: &ClientOptions,
        runtime: &Arc<dyn Runtime>,
    ) -> Result<Arc<dyn Connector>, ClientError> {
        Ok(match self {
            #[cfg(feature = "http-client")]
            Self::Http(endpoint) => {
                let connector = HttpConnector::new(&endpoint, options.limits()).map_err(ClientError::Invalid)?;
                Arc::new(connector.with_info(&options.info).with_auth(options.auth.clone()))
            }
            #[cfg(feature = "child-process")]
            Self::Child(command) => Arc::new(ChildConnector::new(command, options.limits(), None)),
            #[cfg(feature = "server")]
            Self::Memory(server) => Arc::new(MemoryConnector::new(server, Arc::clone(runtime))),
            Self::Entry(entry) => {
                let options = with_own_auth(&entry, options)?;
                return Self::of_entry(entry, &options.server_defaults)?.connector(&options, runtime);
            }
            Self::Json(value) => {
                let entry = ServerEntry::from_value_with(&value, &options.variables)?;
                return Self::Entry(entry).connector(options, runtime);
            }
            Self::File(path) => {
                let entry = ServerEntry::from_file_with(&path, &options.variables)?;
                return Self::Entry(entry).connector(options, runtime);
            }
            Self::Invalid(error) => return Err(error.into()),
            Self::Client(_) => {
                let text = "This client is already connected: use it directly, or add it to a group";
                return Err(ClientError::Invalid(text.to_owned()));
            }
            Self::Custom(connector) => connector,
        })
    }

    /// Converts the target into one for a group, which can also share an existing client.
    ///
    /// # Errors
    /// As for [`Target::connector`].
    pub fn into_group_target(
        self,
        options: &ClientOptions,
        runtime: &Arc<dyn Runtime>,
    ) -> Result<GroupTarget, ClientError> {
        match self {
            Self::Client(client) => Ok(GroupTarget::Client(client)),
            target => target.connector(options, runtime).map(GroupTarget::Connector),
        }
    }

    /// Returns the target of an entry, with the defaults for missing values. Credentials in the
    /// entry are left to [`Target::Entry`].
    ///
    /// # Errors
    /// [`ClientError::Invalid`] if this build lacks the transport.
    #[cfg_attr(
        not(any(feature = "http-client", feature = "child-process")),
        allow(unused_variables, reason = "A build without a transport does not use what that transport takes.")
    )]
    pub fn of_entry(entry: ServerEntry, defaults: &ServerDefaults) -> Result<Self, ClientError> {
        match entry {
            #[cfg(feature = "child-process")]
            ServerEntry::Command { command, env, cwd, inherit_env, stderr, stderr_file } => {
                let child = ChildCommand::new(command);
                // Each of them sets the destination of standard error.
                let (stderr, stderr_file) = match (stderr, stderr_file) {
                    (None, None) => (defaults.stderr.clone(), defaults.stderr_file.clone()),
                    own => own,
                };
                let stderr = stderr.and_then(|word| serde_json::from_value(word.into()).ok()).unwrap_or(child.stderr);
                Ok(Self::Child(ChildCommand {
                    env: defaults.env.clone().into_iter().chain(env).collect(),
                    cwd: cwd.or_else(|| defaults.cwd.clone()).map(Into::into),
                    inherit_env: inherit_env.or(defaults.inherit_env).unwrap_or(child.inherit_env),
                    stderr,
                    stderr_file: stderr_file.map(Into::into),
                    ..child
                }))
            }
            #[cfg(feature = "http-client")]
            ServerEntry::Url { url, shown_url, headers, http_sse, .. } => {
                let own: BTreeSet<_> = headers.keys().map(|name| name.to_ascii_lowercase()).collect();
                let others = defaults.headers.clone().into_iter().filter(|(name, _)| !own.contains(&name.to_ascii_lowercase()));
                let headers = others.chain(headers).collect();
                let mut endpoint = HttpEndpoint { headers, shown_url, ..HttpEndpoint::new(url).with_http_sse(http_sse) };
                if endpoint.url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:")) {
                    endpoint.ca.clone_from(&defaults.ca);
                    endpoint.client_certificate.clone_from(&defaults.client_certificate);
                    endpoint.client_key.clone_from(&defaults.client_key);
                }
                if !endpoint.is_local() {
                    endpoint.proxy.clone_from(&defaults.proxy);
                }
                Ok(Self::Http(endpoint))
            }
            #[cfg(not(all(feature = "child-process", feature = "http-client")))]
            _ => Err(ClientError::Invalid(
                "This program is built without the transport of the server: enable the feature child-process or http-client of the crate trunkline".to_owned(),
            )),
        }
    }
}

/// The client options for a server whose entry may have credentials.
#[cfg(all(feature = "auth", feature = "http-client"))]
fn with_own_auth<'a>(entry: &ServerEntry, options: &'a ClientOptions) -> Result<Cow<'a, ClientOptions>, ClientError> {
    let ServerEntry::Url { auth: Some(given), .. } = entry else { return Ok(Cow::Borrowed(options)) };
    let invalid = |error: &dyn std::fmt::Display| ClientError::Invalid(format!("auth: {error}"));
    let own: Option<Arc<dyn ClientAuth>> = match options.auth.as_ref().and_then(|auth| auth.for_server(given)) {
        Some(own) => Some(own.map_err(|error| ClientError::Invalid(error.0))?),
        None => {
            let own: OAuthOptions = fault::read(given).map_err(|fault| invalid(&fault))?;
            OAuth::new(own).map_err(|error| ClientError::Invalid(error.in_json()))?.into()
        }
    };
    let auth = match &options.auth {
        Some(auth) => own.map(|own| auth.around(own)),
        None => own,
    };
    Ok(Cow::Owned(options.clone().with_auth(auth)))
}

#[cfg(not(all(feature = "auth", feature = "http-client")))]
fn with_own_auth<'a>(entry: &ServerEntry, options: &'a ClientOptions) -> Result<Cow<'a, ClientOptions>, ClientError> {
    match entry {
        ServerEntry::Url { auth: Some(_), .. } => Err(ClientError::Invalid(
            "The entry has \"auth\", and this program is built without it: enable the feature auth of the crate trunkline".to_owned(),
        )),
        _ => Ok(Cow::Borrowed(options)),
    }
}

macro_rules! targets {
    ($($(#[$condition:meta])? $given:ident: $from:ty => $target:expr,)*) => {
        $($(#[$condition])?
        impl From<$from> for Target {
            fn from($given: $from) -> Self {
                $target
            }
        })*
    };
}

targets! {
    #[cfg(feature = "http-client")]
    target: &str => Self::from(target.to_owned()),
    #[cfg(feature = "http-client")]
    target: String => if is_file(&target) { Self::File(target.into()) } else { HttpEndpoint::new(target).into() },
    #[cfg(feature = "http-client")]
    endpoint: HttpEndpoint => Self::Http(endpoint),
    #[cfg(feature = "child-process")]
    command: ChildCommand => Self::Child(command),
    #[cfg(feature = "server")]
    server: &Server => Self::Memory(server.clone()),
    client: &Client => Self::Client(client.clone()),
    entry: ServerEntry => Self::Entry(entry),
    entry: Result<ServerEntry, ConfigError> => entry.map_or_else(Self::Invalid, Self::Entry),
    target: Value => Self::Json(target),
    file: &Path => Self::File(file.to_owned()),
    file: PathBuf => Self::File(file),
    connector: Arc<dyn Connector> => Self::Custom(connector),
}

#[cfg(feature = "child-process")]
impl<S: Into<String>, const N: usize> From<[S; N]> for Target {
    fn from(command: [S; N]) -> Self {
        Self::Child(ChildCommand::new(command))
    }
}

#[cfg(feature = "child-process")]
impl<S: Into<String>> From<Vec<S>> for Target {
    fn from(command: Vec<S>) -> Self {
        Self::Child(ChildCommand::new(command))
    }
}

impl<F, R, C> From<ChannelConnector<F>> for Target
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output = Result<C, LinkFailure>> + Send + 'static,
    C: Channel,
{
    fn from(connector: ChannelConnector<F>) -> Self {
        Self::Custom(Arc::new(connector))
    }
}

#[cfg(all(test, feature = "http-client", feature = "child-process"))]
mod tests {
    use super::*;
    use crate::transport::ChildStderr;
    use serde_json::json;
    use std::collections::BTreeMap;

    fn target(entry: Value) -> Target {
        let map = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
        let mut defaults = ServerDefaults::default()
            .with_env(map("A", "default"))
            .with_inherit_env(Some(true))
            .with_stderr("keep")
            .with_headers(map("X-A", "default"))
            .with_ca("pem")
            .with_proxy("http://proxy:1");
        defaults.cwd = Some("/srv".to_owned());
        Target::of_entry(ServerEntry::from_value(&entry).unwrap(), &defaults).unwrap()
    }

    #[test]
    fn defaults_fill_in_what_an_entry_omits() {
        let child = |entry| match target(entry) {
            Target::Child(command) => command,
            _ => panic!("not a command"),
        };
        let given = child(json!(["server"]));
        assert_eq!((given.env["A"].as_str(), given.cwd, given.inherit_env), ("default", Some("/srv".into()), true));
        assert_eq!(given.stderr, ChildStderr::Keep);
        let own =
            json!({"command": "x", "env": {"A": "own"}, "cwd": "/own", "inheritEnv": false, "stderrFile": "/log"});
        let given = child(own);
        assert_eq!((given.env["A"].as_str(), given.cwd, given.inherit_env), ("own", Some("/own".into()), false));
        assert_eq!((given.stderr, given.stderr_file), (ChildStderr::PassThrough, Some("/log".into())));
    }

    #[test]
    fn defaults_go_to_the_endpoints_that_they_fit() {
        let http = |entry| match target(entry) {
            Target::Http(endpoint) => (endpoint.headers, endpoint.ca, endpoint.proxy),
            _ => panic!("not an endpoint"),
        };
        let headers = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
        let (ca, proxy) = (Some("pem".to_owned()), Some("http://proxy:1".to_owned()));
        for (url, ca, proxy) in [
            ("https://a.example/mcp", ca.clone(), proxy.clone()),
            ("http://a.example/mcp", None, proxy),
            ("https://localhost:1/mcp", ca.clone(), None),
            ("HTTPS://localhost:1/mcp", ca, None),
            ("http://127.0.0.1:1/mcp", None, None),
            ("unix:/run/it.sock", None, None),
        ] {
            assert_eq!(http(json!(url)), (headers("X-A", "default"), ca, proxy), "{url}");
        }
        let own = http(json!({"url": "http://a.example/", "headers": {"x-a": "own"}})).0;
        assert_eq!(own, headers("x-a", "own"));
    }
}
