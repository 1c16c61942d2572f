//! Opening listeners.

use super::PendingOpen;
use crate::{
    BridgeError, ErrorKind, PortState,
    events::slot::ReplySlot,
    message::{Listening, OpenListener},
    open::{
        endpoint_auth::authorization,
        foreground, host_reads, signals,
        state::{OpenState, become_open, ended, opened},
    },
};
use serde_json::{Value, json};
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::{io, sync::Arc, time::Duration};
use trunkline::{
    bridge_support::ReadHandoff,
    runtime::Runtime,
    server::Server,
    transport::{HttpOptions, Listener},
};

/// How a server listens.
enum How {
    Stdio(Option<Arc<ReadHandoff>>),
    #[cfg(unix)]
    Pipe(OwnedFd, OwnedFd),
    Http(Box<HttpOptions>),
}

/// What the end of a foreground listener does to its program.
#[derive(Default)]
struct Ending {
    foreground: bool,
    signals: bool,
}

pub(super) fn open(state: &Arc<PortState>, given: OpenListener) -> Result<u64, BridgeError> {
    let ending = Ending { foreground: given.foreground, signals: given.signals };
    match given.transport {
        Listening::Mounted { path, options, auth } => {
            let options = with_auth(state, options, auth)?;
            mount(state, given.server, path.as_deref(), &options, given.wait)
        }
        Listening::Http { options, auth } => {
            let options = with_auth(state, options, auth)?;
            start(state, given.server, given.wait, ending, |_| How::Http(Box::new(options)))
        }
        Listening::Stdio => start(state, given.server, given.wait, ending, |handle| {
            let handoff = given.host_driven_reads.then(Arc::default);
            if let Some(handoff) = &handoff {
                host_reads::enable(&state.handoffs, &state.queue, handle, handoff);
            }
            How::Stdio(handoff)
        }),
    }
}

pub(super) fn check(state: &Arc<PortState>, given: OpenListener) -> Result<(), BridgeError> {
    match given.transport {
        Listening::Mounted { options, auth, .. } | Listening::Http { options, auth } => {
            with_auth(state, options, auth).map(drop)
        }
        Listening::Stdio => Ok(()),
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
    start(state, server, wait, Ending::default(), |_| How::Pipe(reader, writer))
}

/// Adds authorization to the options of an endpoint.
fn with_auth(state: &Arc<PortState>, options: HttpOptions, auth: Option<Value>) -> Result<HttpOptions, BridgeError> {
    let auth = auth.map(|auth| authorization(state, auth)).transpose()?;
    Ok(options.with_auth(auth))
}

/// Opens a listener without a socket. Requests may arrive immediately.
fn mount(
    state: &Arc<PortState>,
    server: u64,
    path: Option<&str>,
    options: &HttpOptions,
    wait: bool,
) -> Result<u64, BridgeError> {
    let (server, runtime) = (state.server(server)?, state.runtime()?);
    let listener = Arc::new(Listener::mounted(&server, runtime, options, path));
    let slot = wait.then(Arc::<ReplySlot>::default);
    let entry = OpenState::Open { thing: listener, slot: slot.clone() };
    let handle = state.insert_opening(|tables| tables.listeners.insert(entry))?;
    opened(state, handle, slot, Ok(json!({})));
    Ok(handle)
}

/// Starts the task of a listener. `how` gets its handle.
fn start(
    state: &Arc<PortState>,
    server: u64,
    wait: bool,
    ending: Ending,
    how: impl FnOnce(u64) -> How,
) -> Result<u64, BridgeError> {
    let (process, server) = (state.process()?, state.server(server)?);
    let opening = PendingOpen::enter(state, wait)?;
    let handle = opening.handle;
    state.spawn(&process, listen(opening, server, how(handle), ending));
    Ok(handle)
}

async fn listen(opening: PendingOpen<Arc<Listener>>, server: Server, how: How, ending: Ending) {
    let (state, handle) = (&opening.state, opening.handle);
    let listening = match state.runtime() {
        Ok(runtime) => listener(&server, runtime, how).await,
        Err(error) => Err(error),
    };
    let (listener, described) = match listening {
        Ok((listener, described)) => (Arc::new(listener), described),
        Err(error) => return opening.failed(error),
    };
    if become_open(state, handle, Arc::clone(&listener)).is_none() {
        return listener.close(Duration::ZERO).await;
    }
    if ending.signals
        && let Err(error) = signals::end_by_signals(state, handle)
    {
        // The host still handles them, so a blocking handler keeps the process alive until it
        // returns.
        tracing::warn!(target: "trunkline::server::listener", %error, "a blocked process does not end by signals");
    }
    opening.opened(described);
    listener.ended().await;
    ended::<Arc<Listener>>(state, handle, None);
    if ending.foreground {
        foreground::exit_if_blocked(state, handle);
    }
}

/// A listener, with its description.
async fn listener(server: &Server, runtime: Arc<dyn Runtime>, how: How) -> Result<(Listener, Value), BridgeError> {
    let failed = |error: io::Error| BridgeError::new(ErrorKind::Transport, error.to_string());
    let listener = match how {
        How::Stdio(handoff) => Listener::stdio(server, runtime, handoff).map_err(failed)?,
        #[cfg(unix)]
        How::Pipe(reader, writer) => Listener::pipe(server, runtime, reader, writer).map_err(failed)?,
        How::Http(options) => {
            let listener = Listener::http(server, runtime, *options).await;
            let listener = listener.map_err(|error| BridgeError::not_listening(&error))?;
            let described = json!(listener.address());
            return Ok((listener, described));
        }
    };
    Ok((listener, json!({})))
}
