//! A listening server, on any transport, also in the foreground, with graceful shutdown on signals.

#[cfg(feature = "http-server")]
use super::http_server::{HttpListener, HttpOptions, MountedListener};
#[cfg(feature = "stdio")]
use super::stdio::{PipeServer, ReadHandoff, take_stdio};
use super::{
    blocked::exit_if_blocked,
    bound_address::BoundAddress,
    closing::{Closing, Deadline},
    signals::SignalWatch,
};
use crate::{runtime::Runtime, server::Server};
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::{fs::File, io, sync::Arc, time::Duration};
use tokio::runtime::Handle;

/// A running listener. Dropping it does not close it.
///
/// ```no_run
/// # #[cfg(feature = "http-server")]
/// # async fn run(server: trunkline::Server) -> std::io::Result<()> {
/// let listener = server.listen("127.0.0.1:8000").await?;
/// println!("{}", listener.url().unwrap_or_default());
/// listener.closed().await;
/// # Ok(())
/// # }
/// ```
pub struct Listener {
    kind: Arc<ListenerKind>,
    closing: Closing,
    drain_time: Duration,
}

enum ListenerKind {
    #[cfg(feature = "stdio")]
    Pipe(PipeServer),
    #[cfg(feature = "http-server")]
    Http(HttpListener),
    #[cfg(feature = "http-server")]
    Mounted(Arc<MountedListener>),
}

/// Returns whether two files are the same, such as a bidirectional socket.
#[cfg(all(unix, feature = "stdio"))]
fn is_same(one: &File, other: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |file: &File| file.metadata().map(|metadata| (metadata.dev(), metadata.ino())).ok();
    identity(one) == identity(other)
}

#[cfg(all(not(unix), feature = "stdio"))]
fn is_same(_: &File, _: &File) -> bool {
    false
}

impl Listener {
    /// Serves this process's standard input and output, which nothing else can use afterwards.
    /// `handoff` is for a host that sometimes reads the input itself; without one, the runtime
    /// does.
    #[cfg(feature = "stdio")]
    #[doc(hidden)]
    pub fn stdio(server: &Server, runtime: Arc<dyn Runtime>, handoff: Option<Arc<ReadHandoff>>) -> io::Result<Self> {
        let (reader, writer) = take_stdio()?;
        // An event loop makes the file that it watches non-blocking, which must not affect the
        // writer.
        let handoff = handoff.map(|handoff| if is_same(&reader, &writer) { Arc::default() } else { handoff });
        let pipe = PipeServer::start(server, runtime, reader, writer, handoff)?;
        Ok(Self::of(server, ListenerKind::Pipe(pipe)))
    }

    /// Serves two descriptors, which may be one: a socket, pipes, a serial line.
    #[cfg(all(unix, feature = "stdio"))]
    #[doc(hidden)]
    pub fn pipe(
        server: &Server,
        runtime: Arc<dyn Runtime>,
        reader: OwnedFd,
        writer: OwnedFd,
        handoff: Option<Arc<ReadHandoff>>,
    ) -> io::Result<Self> {
        // The threads block in reads and writes, but an event loop may have made the files
        // non-blocking.
        let blocking = |file: OwnedFd| {
            let flags = rustix::fs::fcntl_getfl(&file)?;
            rustix::fs::fcntl_setfl(&file, flags - rustix::fs::OFlags::NONBLOCK)?;
            io::Result::Ok(File::from(file))
        };
        let (reader, writer) = (blocking(reader)?, blocking(writer)?);
        Ok(Self::of(server, ListenerKind::Pipe(PipeServer::start(server, runtime, reader, writer, handoff)?)))
    }

    #[cfg(feature = "http-server")]
    #[doc(hidden)]
    pub async fn http(server: &Server, runtime: Arc<dyn Runtime>, options: HttpOptions) -> io::Result<Self> {
        let http = HttpListener::bind(server.clone(), &options, runtime).await?;
        Ok(Self::of(server, ListenerKind::Http(http)))
    }

    /// An endpoint inside a web framework. `path` is the only path that is served, unless the
    /// framework has already routed requests.
    #[cfg(feature = "http-server")]
    #[doc(hidden)]
    pub fn mounted(server: &Server, runtime: Arc<dyn Runtime>, options: &HttpOptions, path: Option<&str>) -> Self {
        let mounted = MountedListener::new(server.clone(), options, path, runtime);
        Self::of(server, ListenerKind::Mounted(Arc::new(mounted)))
    }

    /// The endpoint, if it is inside a web framework.
    #[cfg(feature = "http-server")]
    #[doc(hidden)]
    pub fn as_mounted(&self) -> Option<&Arc<MountedListener>> {
        match &*self.kind {
            ListenerKind::Mounted(mounted) => Some(mounted),
            _ => None,
        }
    }

    fn of(server: &Server, kind: ListenerKind) -> Self {
        let drain_time = server.options().drain_time();
        Self { kind: Arc::new(kind), closing: Closing::default(), drain_time }
    }

    /// Marks the listener as the foreground work of the program.
    pub(super) fn move_to_foreground(&self) {
        match &*self.kind {
            #[cfg(feature = "stdio")]
            ListenerKind::Pipe(pipe) => pipe.move_to_foreground(),
            #[cfg(feature = "http-server")]
            ListenerKind::Http(_) | ListenerKind::Mounted(_) => {}
        }
    }

    /// Maximum time for the server's calls after a signal.
    #[doc(hidden)]
    pub fn drain_time(&self) -> Duration {
        self.drain_time
    }

    /// The URL of the endpoint, if it listens on HTTP.
    pub fn url(&self) -> Option<String> {
        self.address().url
    }

    /// The address, for bindings.
    #[doc(hidden)]
    pub fn address(&self) -> BoundAddress {
        #[cfg(feature = "http-server")]
        if let ListenerKind::Http(listener) = &*self.kind {
            return listener.address();
        }
        BoundAddress::default()
    }

    /// Completes when all calls are over. The lifespan of the server may still be closing.
    #[doc(hidden)]
    pub async fn served(&self) {
        match &*self.kind {
            #[cfg(feature = "stdio")]
            ListenerKind::Pipe(pipe) => pipe.served().await,
            #[cfg(feature = "http-server")]
            ListenerKind::Http(_) | ListenerKind::Mounted(_) => self.closing.ended().await,
        }
    }

    /// Completes when the listener has ended: it was closed, or its standard input ended.
    pub async fn closed(&self) {
        match &*self.kind {
            #[cfg(feature = "stdio")]
            ListenerKind::Pipe(pipe) => pipe.ended().await,
            #[cfg(feature = "http-server")]
            ListenerKind::Http(_) | ListenerKind::Mounted(_) => self.closing.ended().await,
        }
    }

    /// Closes the listener. Calls may run until the deadline, then they are cancelled. Requires a
    /// tokio runtime.
    ///
    /// If called repeatedly, all callers wait for the same end, and the earliest deadline wins.
    /// Dropping the future does not stop closing.
    ///
    /// A handler that blocks its thread keeps the runtime from shutting down: use
    /// [`Runtime::shutdown_timeout`](tokio::runtime::Runtime::shutdown_timeout), or serve with
    /// [`Self::run`], which exits the process.
    pub async fn close(&self, deadline: Duration) {
        let kind = Arc::clone(&self.kind);
        self.closing.begin(&Handle::current(), deadline, |deadline| async move { kind.close(deadline).await });
        self.closing.ended().await;
    }
}

impl ListenerKind {
    async fn close(&self, deadline: Deadline) {
        match self {
            #[cfg(feature = "stdio")]
            Self::Pipe(pipe) => pipe.close(deadline).await,
            #[cfg(feature = "http-server")]
            Self::Http(listener) => listener.close(deadline).await,
            #[cfg(feature = "http-server")]
            Self::Mounted(listener) => listener.close(deadline).await,
        }
    }
}

impl Listener {
    /// Serves until the listener has ended, or until the process gets SIGINT (Ctrl-C) or SIGTERM.
    /// It then shuts down within [`drain_deadline`](crate::ServerOptions::drain_deadline): calls in
    /// flight may complete, and new ones are refused. A second signal ends the process immediately.
    ///
    /// The program should end after this. A handler that blocks its thread would keep the runtime
    /// from shutting down, and thereby the program from exiting: if one still blocks after two
    /// seconds, or has done so for the whole deadline since the signal, the process exits with
    /// status 1.
    ///
    /// Requires a tokio runtime.
    ///
    /// ```no_run
    /// # #[cfg(feature = "http-server")]
    /// # async fn run(server: trunkline::Server) -> std::io::Result<()> {
    /// server.listen("127.0.0.1:8000").await?.run().await
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the system does not let the process handle signals.
    pub async fn run(&self) -> io::Result<()> {
        self.run_until(SignalWatch::start(self.drain_time())?).await
    }

    /// [`Listener::run`] with signal handling already set up.
    pub(super) async fn run_until(&self, signals: SignalWatch) -> io::Result<()> {
        self.move_to_foreground();
        tokio::select! {
            () = self.closed() => {}
            () = signals.came() => self.close(self.drain_time()).await,
        }
        drop(signals);
        exit_if_blocked();
        Ok(())
    }
}
