//! The server: its life, transports, the blocking run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Failure, trunkline_error, trunkline_result};
use crate::ffi::{Out, free, guard, handle, out, quietly, settled, text, value_or};
use crate::http_options::trunkline_http_options;
use crate::hub::Hub;
use crate::listener::{Listener, trunkline_listener};
use crate::offers::Offered;
use crate::port::trunkline_port;
use crate::server_options::{put, trunkline_server_options};
use crate::sync::Mutex;
use crate::text::trunkline_str;

/// A server: one set of tools, resources and prompts, reachable over any number of transports. Freed with
/// `trunkline_server_free`.
pub struct trunkline_server {
    port: trunkline_port,
    pub(crate) offered: Mutex<Offered>,
    serving: Arc<Serving>,
}

/// What blocking functions hold while they wait, for a callback may free the server.
struct Serving {
    hub: Arc<Hub>,
    /// The server's.
    handle: u64,
    drain_deadline_ms: u64,
    stop: AtomicBool,
    listeners: Mutex<Vec<Arc<Listener>>>,
}

/// What the core says of a server.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Facts {
    drain_deadline_ms: u64,
}

impl trunkline_server {
    fn new(name: &str, version: &str, options: &trunkline_server_options) -> Result<Self, Failure> {
        let mut info = options.info.clone();
        put(&mut info, "name", name)?;
        put(&mut info, "version", version)?;
        let mut registration = json!({"info": info, "options": options.options});
        if let Some(instructions) = &options.instructions {
            registration["instructions"] = instructions.as_str().into();
        }
        let hub = options.hub.clone().map_or_else(Hub::new, Ok)?;
        let handle = hub.port.register("server", registration.to_string().as_bytes())?;
        let facts: Facts = serde_json::from_slice(&hub.port.describe(handle)?)
            .map_err(|reason| Failure::internal(format!("unreadable facts of a server: {reason}")))?;
        let serving = Serving {
            hub: hub.clone(),
            handle,
            drain_deadline_ms: facts.drain_deadline_ms,
            stop: AtomicBool::new(false),
            listeners: Mutex::default(),
        };
        Ok(Self { port: trunkline_port { hub }, offered: Mutex::default(), serving: Arc::new(serving) })
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.port.hub
    }

    pub(crate) fn handle(&self) -> u64 {
        self.serving.handle
    }
}

impl Serving {
    fn listen(&self, transport: &Value) -> Result<Arc<Listener>, Failure> {
        let json = json!({"server": self.handle, "transport": transport});
        let listener = Listener::open(&self.hub, json.to_string().as_bytes())?;
        let mut listeners = self.listeners.lock();
        listeners.retain(|listener| !listener.session.is_closed());
        listeners.push(listener.clone());
        Ok(listener)
    }

    fn open(&self, transport: &Value, listener: Out<*mut trunkline_listener>) -> Result<(), Failure> {
        let inner = self.listen(transport)?;
        listener.put(crate::ffi::give(trunkline_listener { inner }));
        Ok(())
    }

    /// Runs callbacks until `stop`, or until `listener` ends; then closes what is still open.
    fn run(&self, listener: Option<&Listener>) -> Result<(), Failure> {
        let is_over =
            || self.stop.load(Ordering::SeqCst) || listener.is_some_and(|listener| listener.session.is_closed());
        self.hub.run_until(None, |_| is_over().then_some(()))?;
        self.stop.store(false, Ordering::SeqCst);
        let open = std::mem::take(&mut *self.listeners.lock());
        let sessions = open.iter().map(|listener| (listener.handle(), &listener.session));
        let closed = self.hub.close(sessions, self.drain_deadline_ms);
        listener.map_or(Ok(()), |listener| listener.session.how_it_ended()).and(closed)
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.hub.wake();
    }
}

impl Drop for trunkline_server {
    fn drop(&mut self) {
        // In a forked child there is nothing to close, and the locks may be held by threads that are not there.
        if self.hub().check_process().is_err() {
            return;
        }
        for listener in self.serving.listeners.lock().iter() {
            listener.close_now();
        }
        self.serving.stop();
        let _ = self.hub().port.unregister(self.handle());
        let Ok(mut state) = self.hub().state() else {
            return;
        };
        let forgotten = state.forget_server(self.handle());
        // The host's destructors run when the tables are unlocked.
        drop(state);
        drop(forgotten);
    }
}

/// Makes a server. It starts nothing. `server` is yours: `trunkline_server_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_new(
    name: trunkline_str,
    version: trunkline_str,
    server: *mut *mut trunkline_server,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    // SAFETY: the same arguments under the same conventions.
    unsafe { trunkline_server_new_with(name, version, std::ptr::null(), server, error) }
}

/// Makes a server with options (NULL: none). The options are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_new_with(
    name: trunkline_str,
    version: trunkline_str,
    options: *const trunkline_server_options,
    server: *mut *mut trunkline_server,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (name, version, server) = (text!(name), text!(version), out!(server));
        let made = match settled!(options) {
            Some(options) => trunkline_server::new(name, version, options)?,
            None => trunkline_server::new(name, version, &trunkline_server_options::default())?,
        };
        server.put(crate::ffi::give(made));
        Ok(())
    })
}

/// Serves stdin and stdout until stdin ends or `trunkline_server_stop`. Blocks and runs callbacks. A process can do this once: on
/// Unix, descriptor 1 points at stderr and descriptor 0 at the null device from now on, so that stray prints cannot touch the
/// protocol; on Windows they stay as they are, so print to stderr only. Calls in flight get a second when stdin ends, and the drain
/// deadline after `trunkline_server_stop`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_run_stdio(
    server: *mut trunkline_server,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let serving = handle!(server).serving.clone();
        let listener = serving.listen(&json!({"type": "stdio"}))?;
        serving.run(Some(&listener))
    })
}

/// Opens stdin and stdout without running: for programs with a loop of their own. `listener` is
/// yours: `trunkline_listener_free`. Ends when stdin ends: `trunkline_listener_closed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_listen_stdio(
    server: *mut trunkline_server,
    listener: *mut *mut trunkline_listener,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || handle!(server).serving.clone().open(&json!({"type": "stdio"}), out!(listener)))
}

/// Listens for HTTP (options may be NULL) and returns when the address is taken. Calls run inside
/// `trunkline_server_run` or `trunkline_dispatch`. `listener` is yours: `trunkline_listener_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_listen_http(
    server: *mut trunkline_server,
    options: *const trunkline_http_options,
    listener: *mut *mut trunkline_listener,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let mut transport = settled!(options).map(|options| options.transport.clone()).unwrap_or_default();
        put(&mut transport, "type", "http")?;
        handle!(server).serving.clone().open(&Value::Object(transport), out!(listener))
    })
}

/// Mounts the server in a web server of the program's own: no socket is opened, requests come with
/// `trunkline_http_request`. Options may be NULL; they have no host and no port here, and without a path
/// every path is served. Only requests that name this machine in their Host header are answered unless
/// others are allowed (`trunkline_http_options_allow_host`; "*" allows all). Calls run as with
/// `trunkline_server_listen_http`. `listener` is yours: `trunkline_listener_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_mount_http(
    server: *mut trunkline_server,
    options: *const trunkline_http_options,
    listener: *mut *mut trunkline_listener,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let mut transport = settled!(options).map(|options| options.transport.clone()).unwrap_or_default();
        put(&mut transport, "type", "http")?;
        put(&mut transport, "mounted", true)?;
        handle!(server).serving.clone().open(&Value::Object(transport), out!(listener))
    })
}

/// Blocks and runs callbacks until `trunkline_server_stop`; then closes the server's listeners,
/// calls in flight getting the drain deadline. `TRUNKLINE_BLOCKING` inside a callback of the same
/// port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_run(
    server: *mut trunkline_server,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || handle!(server).serving.clone().run(None))
}

/// Ends `trunkline_server_run` or `trunkline_server_run_stdio`, now or when it starts. May be
/// called on any thread, inside callbacks, and on Unix inside a signal handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_stop(server: *mut trunkline_server) -> trunkline_result {
    quietly(|| {
        handle!(server).serving.stop();
        Ok(())
    })
}

/// The port of the server. Borrowed: valid until the server is freed. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_port(server: *const trunkline_server) -> *mut trunkline_port {
    value_or(std::ptr::null_mut(), || Ok(std::ptr::from_ref(&handle!(server).port).cast_mut()))
}

/// Frees a server: closes its listeners without waiting and removes what it offers. Also inside callbacks: the function that
/// runs them ends. Not while another thread uses the server. Calls that were kept with
/// `trunkline_call_retain` stay valid, and their answers give `TRUNKLINE_DONE`. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_free(server: *mut trunkline_server) {
    free!(server)
}
