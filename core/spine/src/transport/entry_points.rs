//! The entry points of servers that need a driver: serve and listen.

#[cfg(feature = "http-server")]
use super::{HttpOptions, HttpService, ListenAddress};
use super::{Listener, TokioRuntime};
#[cfg(feature = "stdio")]
use super::{signals::SignalWatch, stdio::hold_stdio};
use crate::server::Server;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::{io, path::PathBuf};

impl Server {
    /// Serves standard input and output in the foreground, until the input ends or a signal
    /// arrives; see [`Listener::run`].
    ///
    /// Anything that the program and its lifespan print goes to standard error, except on Windows:
    /// print nothing to standard output there.
    ///
    /// # Errors
    /// If they are already being served, are closed, or the lifespan of the server cannot be
    /// opened; and as for [`Listener::run`].
    #[cfg(feature = "stdio")]
    pub async fn serve_stdio(&self) -> io::Result<()> {
        hold_stdio()?;
        let opened = self.opened(&TokioRuntime::current()).await?;
        // Before the first call, which a signal with its default action would silently end.
        let signals = SignalWatch::start(self.options().drain_time())?;
        let listener = self.listen_stdio()?;
        drop(opened);
        listener.run_until(signals).await
    }

    /// Serves standard input and output, until the input ends or the listener is closed. Use this
    /// if your program does more than serving, or handles signals itself.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # async fn run(server: trunkline::Server) -> std::io::Result<()> {
    /// let listener = server.listen_stdio()?;
    /// tokio::select! {
    ///     () = listener.closed() => {}
    ///     _ = tokio::signal::ctrl_c() => listener.close(Duration::from_secs(1)).await,
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If they are already being served, or are closed.
    #[cfg(feature = "stdio")]
    pub fn listen_stdio(&self) -> io::Result<Listener> {
        Listener::stdio(self, TokioRuntime::current(), None)
    }

    /// Serves file descriptors, with one JSON message per line as on standard input and output: a
    /// socket passed by a supervisor, two pipes, a serial line. Both may refer to the same socket.
    /// They are made blocking. Serving ends when the input ends or the listener is closed. For
    /// clients, use [`ChannelConnector`](crate::transport::ChannelConnector).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// use std::{io::{BufRead, BufReader, Write}, os::unix::net::UnixStream};
    ///
    /// let (ours, mut theirs) = UnixStream::pair()?;
    /// let server = trunkline::Server::builder("paired", "1.0.0").build();
    /// let listener = server.listen_fd(ours.try_clone()?, ours)?;
    ///
    /// theirs.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")?;
    /// let mut answer = String::new();
    /// BufReader::new(theirs).read_line(&mut answer)?;
    /// assert!(answer.contains("\"id\":1"));
    /// listener.closed().await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If a descriptor is not open, or no thread can be started.
    #[cfg(all(unix, feature = "stdio"))]
    pub fn listen_fd(&self, reader: impl Into<OwnedFd>, writer: impl Into<OwnedFd>) -> io::Result<Listener> {
        Listener::pipe(self, TokioRuntime::current(), reader.into(), writer.into(), None)
    }

    /// Listens for HTTP at an address such as `"127.0.0.1:8000"`, `("localhost", 8000)` or a
    /// [`SocketAddr`](std::net::SocketAddr), endpoint `/mcp`. Port 0 picks a free one.
    ///
    /// ```no_run
    /// # async fn run(server: trunkline::Server) -> std::io::Result<()> {
    /// let listener = server.listen("127.0.0.1:8000").await?;
    /// println!("listening at {}", listener.url().unwrap_or_default());
    /// listener.closed().await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the address is malformed or taken, or the lifespan of the server cannot be opened.
    #[cfg(feature = "http-server")]
    pub async fn listen(&self, address: impl ListenAddress) -> io::Result<Listener> {
        let (host, port) = address.into_host_and_port()?;
        self.listen_with(HttpOptions { host, port, ..HttpOptions::default() }).await
    }

    /// Listens for HTTP on a Unix socket at `path`, for programs of the same user, endpoint `/mcp`.
    ///
    /// # Errors
    /// If another server is listening there, the path is taken by something else, or the system has
    /// no Unix sockets.
    #[cfg(feature = "http-server")]
    pub async fn listen_unix(&self, path: impl Into<PathBuf>) -> io::Result<Listener> {
        self.listen_with(HttpOptions { unix: Some(path.into()), ..HttpOptions::default() }).await
    }

    /// Listens for HTTP with options.
    ///
    /// # Errors
    /// As for [`Server::listen`].
    #[cfg(feature = "http-server")]
    pub async fn listen_with(&self, options: HttpOptions) -> io::Result<Listener> {
        let runtime = TokioRuntime::current();
        let lifespan = self.opened(&runtime).await?;
        lifespan.until_used(Listener::http(self, runtime, options)).await
    }

    /// Turns the server into a tower service, to mount in axum or any other tower stack. Requires a
    /// tokio runtime. Call [`HttpService::close`] before the framework shuts down.
    ///
    /// Only requests that name this machine in `Host` are served, as a guard against DNS rebinding
    /// by web pages. List other names in [`HttpOptions::allowed_hosts`].
    #[cfg(feature = "http-server")]
    pub fn into_service(self) -> HttpService {
        self.into_service_with(HttpOptions::default())
    }

    /// The same with options. Host, port and path are up to the surrounding server.
    #[cfg(feature = "http-server")]
    pub fn into_service_with(self, options: HttpOptions) -> HttpService {
        HttpService::new(self, &options, TokioRuntime::current())
    }
}
