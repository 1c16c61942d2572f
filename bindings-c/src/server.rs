//! The server: its lifetime, its listeners, and blocking runs.

use std::collections::HashMap;
use std::ffi::c_int;
#[cfg(unix)]
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{OnceLock, Weak};

use serde_json::{Value, json};
use trunkline_bridge::message::{Notification, NotifyListener, Request};
use trunkline_bridge::{BridgeError, OptionNames};

use crate::edge::prelude::*;
use crate::edge::signal_actions::with_sigpipe_blocked;
use crate::foreground::SignalHandlers;
use crate::generated::options::LIMITS;
use crate::json::typed;
use crate::listener::trunkline_listener;
use crate::open_handle::{self, OpenHandle, Opened};
use crate::options::{SetMembers, trunkline_http_options, trunkline_server_options};
use crate::port::{Port, trunkline_port};
use crate::waiting::Stop;

/// A server: one set of tools, resources and prompts, available over any number of transports. Free
/// it with `trunkline_server_free`.
pub struct trunkline_server {
    pub(crate) port: trunkline_port,
    /// The named features, by kind and name.
    pub(crate) names: Mutex<HashMap<(String, String), u64>>,
    /// Closes the lifespan when it is dropped, if it is open.
    pub(crate) lifespan: OnceLock<Arc<dyn Send + Sync>>,
    pub(crate) inner: Arc<Server>,
}

/// The part that blocking functions hold while they wait, because a callback may free the server.
pub(crate) struct Server {
    port: Arc<Port>,
    pub(crate) handle: u64,
    drain_deadline_ms: u64,
    stop: Stop,
    /// The number of threads in `run_until`.
    running: AtomicUsize,
    listeners: Mutex<Vec<Arc<Opened>>>,
    /// In-memory clients, which end with the server.
    clients: Mutex<Vec<Weak<Opened>>>,
}

impl trunkline_server {
    pub(crate) fn port(&self) -> &Arc<Port> {
        &self.port.port
    }

    pub(crate) fn handle(&self) -> u64 {
        self.inner.handle
    }

    pub(crate) fn note_client(&self, client: &Arc<Opened>) {
        let mut clients = self.inner.clients.lock();
        clients.retain(|client| client.upgrade().is_some_and(|client| !client.open.is_closed()));
        clients.push(Arc::downgrade(client));
    }
}

impl Server {
    /// Opens a listener, and waits until it is listening.
    fn listen(
        &self,
        begin: impl FnOnce(&trunkline_bridge::Port) -> Result<u64, BridgeError>,
    ) -> Result<trunkline_listener, Failure> {
        let port = &self.port;
        port.check_may_wait()?;
        let open = Arc::<OpenHandle>::default();
        let handle = port.make(open.clone(), begin, |_| ())?;
        let info = port.wait_for(handle, None).inspect_err(|_| port.detach(handle))?;
        let info: Value = serde_json::from_slice(&info).unwrap_or_default();
        let url = Text::copy(info["url"].as_str().unwrap_or_default());
        let inner = Arc::new(Opened { port: port.clone(), handle, open });
        let mut listeners = self.listeners.lock();
        listeners.retain(|listener| !listener.open.is_closed());
        listeners.push(inner.clone());
        Ok(trunkline_listener { inner, url })
    }

    /// Opens a listener for the host.
    fn open(&self, transport: SetMembers, listener: Out<*mut trunkline_listener>) -> Result<(), Failure> {
        let given = self.opening(transport);
        listener.finish(give(self.listen(|core| with_sigpipe_blocked(|| core.open(given.0)))?))
    }

    fn opening(&self, transport: SetMembers) -> SetMembers {
        let given = SetMembers::default().with("server", self.handle).with("transport", transport.0);
        given.with("openLifespan", true).with("wait", true)
    }

    /// Runs callbacks until the server is stopped or `listener` ends, then closes what is still
    /// open.
    fn run_until(&self, signals: SignalHandlers<'_>, listener: Option<&Opened>) -> Result<(), Failure> {
        let has_ended = || listener.is_some_and(|listener| listener.open.is_closed());
        signals.share_with(|| self.end_by_signals());
        let is_wanted = &self.stop.is_wanted;
        self.running.fetch_add(1, Ordering::SeqCst);
        let ran = self.port.run_until(None, |_| (is_wanted.load(Ordering::SeqCst) || has_ended()).then_some(()));
        let run_elsewhere = self.running.fetch_sub(1, Ordering::SeqCst) > 1;
        ran?;
        // A stop is for all threads that run the server.
        is_wanted.fetch_and(run_elsewhere, Ordering::SeqCst);
        let listeners = std::mem::take(&mut *self.listeners.lock());
        let closed = open_handle::close(&listeners, self.drain_deadline_ms);
        drop(signals);
        listener.map_or(Ok(()), |listener| listener.open.outcome()).and(closed)
    }

    /// Lets the core end the process on a signal if a callback blocks it.
    fn end_by_signals(&self) {
        for listener in self.listeners.lock().iter() {
            let note = Notification::Listener(NotifyListener { foreground: true });
            // If no thread can be started, the process ends when the callback returns.
            let _ = self.port.core.notify_message(listener.handle, note);
        }
    }
}

impl Drop for trunkline_server {
    fn drop(&mut self) {
        // In a forked child there is nothing to close, and the locks may be held by threads that
        // don't exist there.
        if self.port().check_process().is_err() {
            std::mem::forget(self.lifespan.take());
            return;
        }
        let clients: Vec<_> = self.inner.clients.lock().iter().filter_map(Weak::upgrade).collect();
        for opened in self.inner.listeners.lock().iter().chain(&clients) {
            let _ = opened.start_close(0);
        }
        self.inner.stop.request();
        let _ = self.port().core.unregister(self.handle());
        self.port().detach_all_of(self.handle());
        self.port().detach(self.handle());
        // No callback of the server is running anymore.
        drop(self.lifespan.take());
    }
}

/// A `trunkline_limit` as C may pass it: any number.
pub type trunkline_limit_number = u32;

/// Sets a limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_options_set_limit(
    options: *mut trunkline_server_options,
    limit: trunkline_limit_number,
    value: u64,
) -> trunkline_result {
    set!(options, {
        let name = (limit as usize).checked_sub(1).and_then(|index| LIMITS.get(index)).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| Failure::invalid("the argument `limit` is not a trunkline_limit"))?;
        options.given.put(name, value);
    })
}

/// Creates a server. It starts nothing. The caller owns `server`; free it with
/// `trunkline_server_free`.
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

/// Creates a server with options (NULL: none). The options are copied. The caller owns `server`;
/// free it with `trunkline_server_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_new_with(
    name: trunkline_str,
    version: trunkline_str,
    options: *const trunkline_server_options,
    server: *mut *mut trunkline_server,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (server, defaults) = (out!(server), trunkline_server_options::default());
        let options = settled!(options).unwrap_or(&defaults);
        let info = options.info.clone().with("name", text!(name)).with("version", text!(version));
        let registration = options.registration.clone().with("info", info.0).with("options", options.given.clone().0);
        let port = options.port.clone().map_or_else(|| Port::new(OptionNames::C), Ok)?;
        let handle = match &options.store {
            Some(store) => {
                let registration = registration.with("store", json!(store.lanes()));
                port.make(Arc::new(store.clone()), |core| core.register("server", registration.0), |_| ())?
            }
            None => port.core.register("server", registration.0)?,
        };
        let inner = Arc::new(Server {
            port: port.clone(),
            handle,
            drain_deadline_ms: port.core.close_deadline(handle)?,
            stop: Stop::new(port.waiting.clone()),
            running: AtomicUsize::default(),
            listeners: Mutex::default(),
            clients: Mutex::default(),
        });
        server.finish(give(trunkline_server {
            port: trunkline_port { port },
            names: Mutex::default(),
            lifespan: OnceLock::new(),
            inner,
        }))
    })
}

/// Checks that a server's store, such as a custom one, fulfills its contract (`trunkline_store`).
/// `findings` has one line per finding, and is empty if there are none. The caller owns it; free it
/// with `trunkline_text_free`. Blocks for several seconds and runs callbacks; `TRUNKLINE_BLOCKING`
/// inside a callback of the same port. The check uses keys below `check/` and removes them
/// afterwards. `TRUNKLINE_INVALID_ARGUMENT` if the server has no store.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_check_store(
    server: *mut trunkline_server,
    findings: *mut *mut trunkline_text,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (port, server) = (handle!(server).port().clone(), handle!(server).handle());
        let output = out!(findings);
        port.check_may_wait()?;
        let request = Request::default().with_method("checkStore".to_owned()).with_wait(true);
        let reply = port.wait_for(port.core.request_message(server, request)?, None)?;
        let findings: Vec<String> = typed(Text::copy(reply).as_str()?, "/findings", "a list of strings")?;
        let lines: Vec<_> = findings.iter().map(|finding| finding.replace('\n', " ")).collect();
        output.finish(Text::copy(lines.join("\n")).give())
    })
}

/// Serves stdin and stdout until stdin ends or `trunkline_server_stop` is called. Blocks and runs
/// callbacks. A process can do this only once: on Unix, descriptor 1 then points to stderr and
/// descriptor 0 to the null device, so that stray output cannot corrupt the protocol; on Windows
/// they are unchanged, so print to stderr only. Calls in flight get a second when stdin ends, and
/// the drain deadline after `trunkline_server_stop`. A callback that still blocks two seconds after
/// the end cannot keep the process alive: it exits with status 1. On Unix, SIGINT and SIGTERM act
/// like `trunkline_server_stop` if the program does not handle them, and a second signal ends the
/// process at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_serve_stdio(
    server: *mut trunkline_server,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let server = handle!(server).inner.clone();
        let given = server.opening(SetMembers::default().with("type", "stdio")).with("foreground", true);
        // Before the first call, which a signal with its default action would silently end.
        let signals = SignalHandlers::install(&server.stop);
        let listener = server.listen(|core| with_sigpipe_blocked(|| core.open(given.0)))?;
        server.run_until(signals, Some(&listener.inner))
    })
}

/// Opens stdin and stdout without running callbacks: for programs with their own loop. Blocks until
/// they are open; `TRUNKLINE_BLOCKING` inside a callback of the same port. The caller owns
/// `listener`; free it with `trunkline_listener_free`. Ends when stdin ends:
/// `trunkline_listener_closed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_listen_stdio(
    server: *mut trunkline_server,
    listener: *mut *mut trunkline_listener,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || handle!(server).inner.clone().open(SetMembers::default().with("type", "stdio"), out!(listener)))
}

/// Serves file descriptors, with one JSON message per line as on stdin and stdout: a socket (the
/// same descriptor twice), two pipes, a serial line. You keep ownership: the library uses
/// duplicates, and makes them, and with them the originals, blocking. Blocks until they are open;
/// `TRUNKLINE_BLOCKING` inside a callback of the same port. Ends when the input ends:
/// `trunkline_listener_closed`. The caller owns `listener`; free it with `trunkline_listener_free`.
/// `TRUNKLINE_INVALID_ARGUMENT` if a descriptor is not open, and on Windows, which has no such
/// descriptors. For clients, use `trunkline_client_connect_channel`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_listen_fd(
    server: *mut trunkline_server,
    input: c_int,
    output: c_int,
    listener: *mut *mut trunkline_listener,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (server, listener) = (handle!(server).inner.clone(), out!(listener));
        #[cfg(unix)]
        {
            if input < 0 || output < 0 {
                return Err(Failure::invalid(format!("the descriptors {input} and {output} are not open")));
            }
            let duplicate = |descriptor| {
                // SAFETY: the number is not negative, and only duplicated: the system refuses one
                // that is not open.
                let duplicate = unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned();
                duplicate.map_err(|reason| Failure::invalid(format!("the descriptor is not open: {reason}")))
            };
            let (input, output) = (duplicate(input)?, duplicate(output)?);
            listener.finish(give(server.listen(|core| core.open_pipe(server.handle, input, output, true))?))
        }
        #[cfg(not(unix))]
        {
            let _ = (server, listener, input, output);
            Err(Failure::invalid("file descriptors are supported only on Unix: use trunkline_server_listen_http"))
        }
    })
}

/// The transport of a listener for HTTP.
fn http(options: Option<&trunkline_http_options>) -> SetMembers {
    options.map(|options| options.given.clone()).unwrap_or_default().with("type", "http")
}

/// Listens for HTTP (options may be NULL). Blocks until the address is bound; `TRUNKLINE_BLOCKING`
/// inside a callback of the same port. Calls run inside `trunkline_server_run` or
/// `trunkline_dispatch`. The caller owns `listener`; free it with `trunkline_listener_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_listen_http(
    server: *mut trunkline_server,
    options: *const trunkline_http_options,
    listener: *mut *mut trunkline_listener,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || handle!(server).inner.clone().open(http(settled!(options)), out!(listener)))
}

/// Mounts the server in your own web server: no socket is opened; pass requests to it with
/// `trunkline_http_request`. Options may be NULL; host and port have no effect, and without a path
/// every path is served. Only requests that name this machine in their Host header are accepted
/// unless others are allowed (`trunkline_http_options_allow_host`; "*" allows all). Calls run as
/// with `trunkline_server_listen_http`. Blocks until the lifespan of the server is open;
/// `TRUNKLINE_BLOCKING` inside a callback of the same port. The caller owns `listener`; free it
/// with `trunkline_listener_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_mount_http(
    server: *mut trunkline_server,
    options: *const trunkline_http_options,
    listener: *mut *mut trunkline_listener,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || handle!(server).inner.clone().open(http(settled!(options)).with("mounted", true), out!(listener)))
}

/// Blocks and runs callbacks until `trunkline_server_stop`; then closes the server's listeners
/// within the drain deadline. On Unix, SIGINT and SIGTERM act like `trunkline_server_stop` if the
/// program does not handle them, and a second signal ends the process at once. `TRUNKLINE_BLOCKING`
/// inside a callback of the same port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_run(
    server: *mut trunkline_server,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let server = handle!(server).inner.clone();
        server.run_until(SignalHandlers::install(&server.stop), None)
    })
}

/// Ends `trunkline_server_run` or `trunkline_server_serve_stdio`, now or when it starts. May be
/// called on any thread, inside callbacks, and on Unix inside a signal handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_stop(server: *mut trunkline_server) -> trunkline_result {
    guard_result(|| {
        handle!(server).inner.stop.request();
        Ok(())
    })
}

/// The port of the server. Borrowed: valid until the server is freed. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_port(server: *const trunkline_server) -> *mut trunkline_port {
    value_or(std::ptr::null_mut(), || Ok(std::ptr::from_ref(&handle!(server).port).cast_mut()))
}

/// Frees a server: closes its listeners without waiting and removes its features. Allowed inside
/// callbacks: the function that runs them returns. Not while another thread uses the server. Calls
/// kept with `trunkline_call_retain` stay valid, and completing them returns `TRUNKLINE_DONE`. NULL
/// is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_free(server: *mut trunkline_server) {
    free!(server)
}
