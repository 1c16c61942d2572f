//! Opening listeners.

use crate::{
    BridgeError, ErrorKind, PortState,
    message::OpenMessage,
    open::{
        host_reads, process_exit,
        read::{Endpoint, endpoint},
        state::{PendingOpen, become_open, ended, ends_with, opened},
    },
    state::entries::OpenState,
};
use serde_json::{Value, json};
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::{io, sync::Arc, time::Duration};
use tokio::task::JoinHandle;
use trunkline::{
    bridge_support::{BLOCKED_TIMEOUT, ReadHandoff, hold_stdio},
    runtime::Runtime,
    server::Server,
    transport::{HttpOptions, Listener},
};

pub(super) fn open(state: &Arc<PortState>, server: u64, mut given: OpenMessage) -> Result<u64, BridgeError> {
    match endpoint(state, std::mem::take(&mut given.transport))? {
        Endpoint::Mounted(path, options) if !given.open_lifespan => {
            mount(state, server, path.as_deref(), &options, given.wait)
        }
        endpoint => start(state, server, endpoint, given),
    }
}

/// Serves on file descriptors of the host.
#[cfg(unix)]
pub(crate) fn open_pipe(
    state: &Arc<PortState>,
    server: u64,
    (reader, writer): (OwnedFd, OwnedFd),
    wait: bool,
) -> Result<u64, BridgeError> {
    start(state, server, Endpoint::Pipe(reader, writer), OpenMessage { wait, ..OpenMessage::default() })
}

/// Opens a listener without a socket. Requests may arrive immediately.
fn mount(
    state: &Arc<PortState>,
    server: u64,
    path: Option<&str>,
    options: &HttpOptions,
    wait: bool,
) -> Result<u64, BridgeError> {
    if !cfg!(feature = "http-server") {
        return Err(BridgeError::without("http-server"));
    }
    let (server, runtime) = (state.server(server)?, state.runtime()?);
    let listener = Arc::new(Listener::mounted(&server, runtime, options, path));
    let handle = state.insert_opening(wait, |tables| tables.listeners.insert(OpenState::Open(listener)))?;
    opened(state, handle, Ok(json!({})));
    Ok(handle)
}

/// Starts the task of a listener.
fn start(state: &Arc<PortState>, server: u64, endpoint: Endpoint, given: OpenMessage) -> Result<u64, BridgeError> {
    let (process, server, runtime) = (state.process()?, state.server(server)?, state.runtime()?);
    if matches!(endpoint, Endpoint::Stdio) {
        // The program's own output, such as from its lifespan, must not reach the client.
        hold_stdio().map_err(|error| not_opened(&error))?;
    }
    let opening = PendingOpen::enter(state, given.wait)?;
    let handle = opening.handle;
    // If it is not enabled, the thread always reads: it passes calls to the host with fewer hops
    // than the runtime would.
    let handoff = Arc::<ReadHandoff>::default();
    if given.host_driven_reads {
        host_reads::enable(&state.handoffs, &state.queue, handle, &handoff);
    }
    let listening = state.spawn(&process, listener(server, runtime, endpoint, handoff));
    ends_with::<Arc<Listener>>(state, handle, (listening.abort_handle(), Arc::default()));
    state.spawn(&process, listen(opening, listening, given));
    Ok(handle)
}

async fn listen(
    opening: PendingOpen<Arc<Listener>>,
    listening: JoinHandle<Result<(Listener, Value), BridgeError>>,
    given: OpenMessage,
) {
    let (state, handle) = (&opening.state, opening.handle);
    let (listener, described) = match listening.await {
        Ok(Ok((listener, described))) => (Arc::new(listener), described),
        Ok(Err(error)) => return opening.failed(error),
        // The listener was closed while it was opening, or its task panicked.
        Err(_) => return,
    };
    if become_open(state, handle, Arc::clone(&listener)).is_none() {
        return listener.close(Duration::ZERO).await;
    }
    if given.signals
        && let Err(error) = process_exit::end_by_signals(state, handle)
    {
        // The host still handles them, so a blocking handler keeps the process alive until it
        // returns.
        tracing::warn!(target: "trunkline::server::listener", %error, "a blocked process does not end by signals");
    }
    opening.opened(described);
    listener.served().await;
    if given.foreground {
        tokio::spawn(process_exit::exit_if_blocked(Arc::downgrade(state), handle, BLOCKED_TIMEOUT));
    }
    listener.closed().await;
    ended::<Arc<Listener>>(state, handle, None);
}

/// A listener, with its description. Opens the lifespan of the server first.
async fn listener(
    server: Server,
    runtime: Arc<dyn Runtime>,
    endpoint: Endpoint,
    handoff: Arc<ReadHandoff>,
) -> Result<(Listener, Value), BridgeError> {
    // Until the listener uses it.
    let lifespan = server.opened(&runtime).await.map_err(|error| not_opened(&error))?;
    lifespan.until_used(serving(&server, runtime, endpoint, handoff)).await
}

async fn serving(
    server: &Server,
    runtime: Arc<dyn Runtime>,
    endpoint: Endpoint,
    handoff: Arc<ReadHandoff>,
) -> Result<(Listener, Value), BridgeError> {
    let listener = match endpoint {
        Endpoint::Stdio => Listener::stdio(server, runtime, Some(handoff)),
        #[cfg(unix)]
        Endpoint::Pipe(reader, writer) => Listener::pipe(server, runtime, reader, writer, Some(Arc::default())),
        #[cfg(not(feature = "http-server"))]
        Endpoint::Http(_) | Endpoint::Mounted(..) => return Err(BridgeError::without("http-server")),
        #[cfg(feature = "http-server")]
        Endpoint::Http(options) => {
            let listener = Listener::http(server, runtime, *options).await;
            let listener = listener.map_err(|error| BridgeError::not_listening(&error))?;
            let described = json!(listener.address());
            return Ok((listener, described));
        }
        #[cfg(feature = "http-server")]
        Endpoint::Mounted(path, options) => Ok(Listener::mounted(server, runtime, &options, path.as_deref())),
    };
    Ok((listener.map_err(|error| not_opened(&error))?, json!({})))
}

fn not_opened(error: &io::Error) -> BridgeError {
    BridgeError::new(ErrorKind::Transport, error.to_string())
}
