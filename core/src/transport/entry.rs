//! The entry points that need a driver: serve, listen, connect.

use super::{
    ChildCommand, ChildConnector, HttpConnector, HttpOptions, HttpService, Listener, MemoryConnector, TokioRuntime,
};
use crate::{
    client::{Client, ClientError, ClientEvents, ClientOptions, Connector},
    server::Server,
};
use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6},
    path::PathBuf,
    sync::Arc,
};

impl Server {
    /// Serves standard input and output until the input ends.
    ///
    /// Needs a tokio runtime. From now on what the program prints goes to standard error.
    ///
    /// # Errors
    /// If they are served already, or closed.
    pub async fn serve_stdio(&self) -> io::Result<()> {
        Listener::stdio(self, TokioRuntime::current(), None)?.ended().await;
        Ok(())
    }

    /// Listens for HTTP at an address such as `"127.0.0.1:8000"`, `("localhost", 8000)` or a [`SocketAddr`], endpoint `/mcp`.
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
    pub async fn listen(&self, address: impl ListenAddress) -> io::Result<Listener> {
        let (host, port) = address.into_host_and_port()?;
        self.listen_with(HttpOptions { host, port, ..HttpOptions::default() }).await
    }

    /// Listens for HTTP on a Unix socket at `path`, for programs of the same user, endpoint `/mcp`.
    ///
    /// # Errors
    /// If another server listens there, something else is there, or the system has no Unix sockets.
    pub async fn listen_unix(&self, path: impl Into<PathBuf>) -> io::Result<Listener> {
        self.listen_with(HttpOptions { unix: Some(path.into()), ..HttpOptions::default() }).await
    }

    /// Listens for HTTP with options.
    ///
    /// # Errors
    /// If the address is malformed or taken.
    pub async fn listen_with(&self, options: HttpOptions) -> io::Result<Listener> {
        Listener::http(self, TokioRuntime::current(), options).await
    }

    /// The server as a tower service, to mount in axum or any other tower stack. Needs a tokio runtime.
    ///
    /// Only requests that name this machine are answered, as a guard against web pages that reach for it (DNS rebinding):
    /// for other names, list them in [`HttpOptions::allowed_hosts`].
    pub fn into_service(self) -> HttpService {
        self.into_service_with(HttpOptions::default())
    }

    /// The same with options; host, port and path are the surrounding server's business.
    pub fn into_service_with(self, options: HttpOptions) -> HttpService {
        HttpService::new(self, &options, TokioRuntime::current())
    }
}

/// An address to listen at: `"host:port"`, a host and a port, or a [`SocketAddr`]. Unlike [`std::net::ToSocketAddrs`], it keeps
/// the name of the host, and looks nothing up.
pub trait ListenAddress {
    /// The host and the port.
    ///
    /// # Errors
    /// If the text is malformed.
    fn into_host_and_port(self) -> io::Result<(String, u16)>;
}

impl ListenAddress for &str {
    fn into_host_and_port(self) -> io::Result<(String, u16)> {
        let wrong = || {
            io::Error::new(io::ErrorKind::InvalidInput, format!("{self:?} is not an address such as 127.0.0.1:8000"))
        };
        let (host, port) = self.rsplit_once(':').ok_or_else(wrong)?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok((host, port.parse().map_err(|_| wrong())?))
    }
}

impl ListenAddress for String {
    fn into_host_and_port(self) -> io::Result<(String, u16)> {
        self.as_str().into_host_and_port()
    }
}

impl ListenAddress for &String {
    fn into_host_and_port(self) -> io::Result<(String, u16)> {
        self.as_str().into_host_and_port()
    }
}

macro_rules! socket_addresses {
    ($($address:ty),*) => {
        $(impl ListenAddress for $address {
            fn into_host_and_port(self) -> io::Result<(String, u16)> {
                Ok((self.ip().to_string(), self.port()))
            }
        })*
    };
}

socket_addresses!(SocketAddr, SocketAddrV4, SocketAddrV6);

macro_rules! host_and_port {
    ($($host:ty),*) => {
        $(impl ListenAddress for ($host, u16) {
            fn into_host_and_port(self) -> io::Result<(String, u16)> {
                Ok((self.0.to_string(), self.1))
            }
        })*
    };
}

host_and_port!(&str, String, IpAddr, Ipv4Addr, Ipv6Addr);

/// Where a client finds its server.
#[derive(Clone)]
#[non_exhaustive]
pub enum Target {
    /// The URL of an HTTP endpoint, with extra headers; `unix:/run/it.sock:/mcp` for one on a Unix socket.
    Http(String, BTreeMap<String, String>),
    /// A command that serves standard input and output.
    Child(ChildCommand),
    /// A server of this process.
    Memory(Server),
}

impl From<&str> for Target {
    fn from(url: &str) -> Self {
        Self::Http(url.to_owned(), BTreeMap::new())
    }
}

impl From<String> for Target {
    fn from(url: String) -> Self {
        Self::Http(url, BTreeMap::new())
    }
}

impl From<ChildCommand> for Target {
    fn from(command: ChildCommand) -> Self {
        Self::Child(command)
    }
}

impl From<&Server> for Target {
    fn from(server: &Server) -> Self {
        Self::Memory(server.clone())
    }
}

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
            Target::Http(url, headers) => {
                Arc::new(HttpConnector::new(&url, &headers, options.limits()).map_err(ClientError::Invalid)?)
            }
            Target::Child(command) => Arc::new(ChildConnector::new(command, options.limits(), None)),
            Target::Memory(server) => Arc::new(MemoryConnector::new(server, Arc::clone(&runtime))),
        };
        Self::open(runtime, connector, options, Arc::new(events)).await
    }
}

/// Takes no notice.
impl ClientEvents for () {}
