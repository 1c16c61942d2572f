//! The entry points that need a driver: serve, listen, connect.

#[cfg(feature = "http-client")]
use super::HttpConnector;
#[cfg(any(feature = "stdio", feature = "http-server"))]
use super::Listener;
#[cfg(all(feature = "client", feature = "server"))]
use super::MemoryConnector;
#[cfg(any(feature = "client", feature = "stdio", feature = "http-server"))]
use super::TokioRuntime;
#[cfg(feature = "child-process")]
use super::{ChildCommand, ChildConnector};
#[cfg(feature = "http-server")]
use super::{HttpOptions, HttpService, ListenAddress};
#[cfg(feature = "client")]
use crate::client::{Client, ClientError, ClientEvents, ClientOptions, Connector};
#[cfg(feature = "server")]
use crate::server::Server;
#[cfg(feature = "http-client")]
use std::collections::BTreeMap;
#[cfg(any(feature = "stdio", feature = "http-server"))]
use std::io;
#[cfg(feature = "http-server")]
use std::path::PathBuf;
#[cfg(feature = "client")]
use std::sync::Arc;

#[cfg(any(feature = "stdio", feature = "http-server"))]
impl Server {
    /// Serves standard input and output until the input ends.
    ///
    /// Needs a tokio runtime. From now on what the program prints goes to standard error.
    ///
    /// # Errors
    /// If they are served already, or closed.
    #[cfg(feature = "stdio")]
    pub async fn serve_stdio(&self) -> io::Result<()> {
        Listener::stdio(self, TokioRuntime::current(), None)?.ended().await;
        Ok(())
    }

    /// Listens for HTTP at an address such as `"127.0.0.1:8000"`, `("localhost", 8000)` or a [`SocketAddr`](std::net::SocketAddr), endpoint `/mcp`.
    /// Port 0 takes a free one.
    ///
    /// ```no_run
    /// # async fn run(server: trunkline::Server) -> std::io::Result<()> {
    /// let listener = server.listen("127.0.0.1:8000").await?;
    /// println!("listening at {}", listener.url().unwrap_or_default());
    /// listener.ended().await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the address is malformed or taken.
    #[cfg(feature = "http-server")]
    pub async fn listen(&self, address: impl ListenAddress) -> io::Result<Listener> {
        let (host, port) = address.into_host_and_port()?;
        self.listen_with(HttpOptions { host, port, ..HttpOptions::default() }).await
    }

    /// Listens for HTTP on a Unix socket at `path`, for programs of the same user, endpoint `/mcp`.
    ///
    /// # Errors
    /// If another server listens there, something else is there, or the system has no Unix sockets.
    #[cfg(feature = "http-server")]
    pub async fn listen_unix(&self, path: impl Into<PathBuf>) -> io::Result<Listener> {
        self.listen_with(HttpOptions { unix: Some(path.into()), ..HttpOptions::default() }).await
    }

    /// Listens for HTTP with options.
    ///
    /// # Errors
    /// If the address is malformed or taken.
    #[cfg(feature = "http-server")]
    pub async fn listen_with(&self, options: HttpOptions) -> io::Result<Listener> {
        Listener::http(self, TokioRuntime::current(), options).await
    }

    /// The server as a tower service, to mount in axum or any other tower stack. Needs a tokio runtime.
    ///
    /// Only requests that name this machine are answered, as a guard against web pages that reach for it (DNS rebinding):
    /// for other names, list them in [`HttpOptions::allowed_hosts`].
    #[cfg(feature = "http-server")]
    pub fn into_service(self) -> HttpService {
        self.into_service_with(HttpOptions::default())
    }

    /// The same with options; host, port and path are the surrounding server's business.
    #[cfg(feature = "http-server")]
    pub fn into_service_with(self, options: HttpOptions) -> HttpService {
        HttpService::new(self, &options, TokioRuntime::current())
    }
}

/// Where a client finds its server.
#[cfg(feature = "client")]
#[derive(Clone)]
#[non_exhaustive]
pub enum Target {
    /// The URL of an HTTP endpoint, with extra headers; `unix:/run/it.sock:/mcp` for one on a Unix socket.
    #[cfg(feature = "http-client")]
    Http(String, BTreeMap<String, String>),
    /// A command that serves standard input and output.
    #[cfg(feature = "child-process")]
    Child(ChildCommand),
    /// A server of this process.
    #[cfg(feature = "server")]
    Memory(Server),
}

#[cfg(feature = "http-client")]
impl From<&str> for Target {
    fn from(url: &str) -> Self {
        Self::Http(url.to_owned(), BTreeMap::new())
    }
}

#[cfg(feature = "http-client")]
impl From<String> for Target {
    fn from(url: String) -> Self {
        Self::Http(url, BTreeMap::new())
    }
}

#[cfg(feature = "child-process")]
impl From<ChildCommand> for Target {
    fn from(command: ChildCommand) -> Self {
        Self::Child(command)
    }
}

#[cfg(all(feature = "server", feature = "client"))]
impl From<&Server> for Target {
    fn from(server: &Server) -> Self {
        Self::Memory(server.clone())
    }
}

#[cfg(feature = "client")]
impl Client {
    /// Connects to a server: a URL, a [`ChildCommand`], or a [`Server`] of this process. Needs a tokio runtime.
    ///
    /// # Errors
    /// If the server cannot be reached, does not answer in time, or speaks no revision of ours.
    pub async fn connect(target: impl Into<Target>) -> Result<Self, ClientError> {
        Self::connect_with(target, ClientOptions::default(), ()).await
    }

    /// Connects with options, and with someone to hear of notifications and of the end; `()` if nobody wants to.
    ///
    /// # Errors
    /// As for [`Client::connect`].
    pub async fn connect_with(
        target: impl Into<Target>,
        options: ClientOptions,
        events: impl ClientEvents,
    ) -> Result<Self, ClientError> {
        let runtime = TokioRuntime::current();
        let connector: Arc<dyn Connector> = match target.into() {
            #[cfg(feature = "http-client")]
            Target::Http(url, headers) => {
                let connector = HttpConnector::new(&url, &headers, options.limits()).map_err(ClientError::Invalid)?;
                Arc::new(connector.with_auth(options.auth.clone()))
            }
            #[cfg(feature = "child-process")]
            Target::Child(command) => Arc::new(ChildConnector::new(command, options.limits(), None)),
            #[cfg(feature = "server")]
            Target::Memory(server) => Arc::new(MemoryConnector::new(server, Arc::clone(&runtime))),
        };
        Self::open(runtime, connector, options, Arc::new(events)).await
    }
}

/// Takes no notice.
#[cfg(feature = "client")]
impl ClientEvents for () {}
