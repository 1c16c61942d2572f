//! The socket of an HTTP server, and its connections.

use super::{
    super::closing::Deadline,
    options::HttpOptions,
    service::HttpService,
    socket::{Address, Socket, Stream},
};
use crate::{http::routes, runtime::Runtime, server::Server, sync::Mutex};
use hyper::service::service_fn;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    io,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::watch,
    task::{JoinHandle, JoinSet},
};

/// How long a connection may take for the head of a request, and may be idle.
const HEAD_DEADLINE: Duration = Duration::from_secs(60);
/// The head of a request.
const HEAD_BYTES: usize = 64 << 10;
/// Requests at once on one HTTP/2 connection.
const MAX_STREAMS: u32 = 256;
/// How often an HTTP/2 client is asked whether it is still there, and how long it may take to say
/// so.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_DEADLINE: Duration = Duration::from_secs(20);
/// How long to wait when the system gives no more sockets.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A server that listens on a socket, until it is closed or its runtime ends.
pub(crate) struct HttpListener {
    service: HttpService,
    address: Address,
    path: String,
    stopping: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl HttpListener {
    /// Listens. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// If the address cannot be had; the text names it.
    pub(crate) async fn bind(server: Server, options: &HttpOptions, runtime: Arc<dyn Runtime>) -> io::Result<Self> {
        let socket = Socket::bind(options).await?;
        let address = socket.address();
        let service = HttpService::at_path(server, options, runtime);
        let (stopping, stop) = watch::channel(false);
        let task = tokio::spawn(accept(socket, service.clone(), options.max_connections.max(1), stop));
        Ok(Self { service, address, path: routes::normal(&options.path), stopping, task: Mutex::new(Some(task)) })
    }

    /// The URL of the endpoint, for clients on this machine.
    pub(crate) fn url(&self) -> String {
        self.address.url(&self.path)
    }

    /// The URL, and the port that was chosen or the path of the socket.
    pub(crate) fn description(&self) -> Value {
        match &self.address {
            Address::Tcp(address) => {
                json!({"url": self.url(), "host": address.ip().to_string(), "port": address.port()})
            }
            #[cfg(unix)]
            Address::Unix(path) => json!({"url": self.url(), "unix": path.to_string_lossy()}),
        }
    }

    /// Stops to listen; calls in flight may go on until the deadline, then they are cancelled and
    /// everything is cut.
    pub(crate) async fn close(&self, mut deadline: Deadline) {
        let Some(mut task) = self.task.lock().take() else { return };
        self.service.begin_closing();
        self.stopping.send_replace(true);
        let drained = async {
            self.service.drain().await;
            // Panics in a connection have cost that connection, and nothing here.
            let _ = (&mut task).await;
        };
        if !deadline.allows(drained).await {
            task.abort();
            let _ = task.await;
        }
        self.service.end_all();
    }
}

/// Accepts until it is told to stop, then waits for the connections to end. Dropping it cuts them.
async fn accept(socket: Socket, service: HttpService, max: usize, mut stop: watch::Receiver<bool>) {
    let stopped = stop.clone();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = told(&mut stop) => break,
            Some(_) = connections.join_next() => {}
            accepted = socket.accept(), if connections.len() < max => match accepted {
                Ok(stream) => {
                    connections.spawn(serve(stream, service.clone(), stopped.clone()));
                }
                Err(error) => {
                    tracing::debug!(target: "trunkline", "a connection was not accepted: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
    drop(socket);
    while connections.join_next().await.is_some() {}
}

/// Completes when it is time to stop.
async fn told(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        // The listener was dropped without being closed: it goes on.
        std::future::pending::<()>().await;
    }
}

/// Speaks HTTP/1.1, or HTTP/2 to a client that begins with its preface.
async fn serve(stream: Stream, service: HttpService, mut stop: watch::Receiver<bool>) {
    let begun = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&begun);
    let answer = service_fn(move |request| {
        seen.store(true, Ordering::Relaxed);
        let service = service.clone();
        async move { Ok::<_, Infallible>(service.respond(request).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_DEADLINE).max_buf_size(HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(HEAD_BYTES as u32)
        .max_concurrent_streams(MAX_STREAMS)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_DEADLINE);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), answer));
    // Until a client has said which version it speaks, and in HTTP/2 after that, nothing else
    // limits its silence.
    let mut silence = pin!(tokio::time::sleep(HEAD_DEADLINE));
    let (mut stopping, mut silent) = (false, true);
    let served = loop {
        tokio::select! {
            biased;
            served = connection.as_mut() => break served,
            () = told(&mut stop), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
            () = silence.as_mut(), if silent => {
                silent = false;
                if !begun.load(Ordering::Relaxed) {
                    break Err("no request came in time".into());
                }
            }
        }
    };
    if let Err(error) = served {
        tracing::debug!(target: "trunkline", "a connection ended early: {error}");
    }
}
