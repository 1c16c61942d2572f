//! Servers.

use std::ffi::{c_int, c_void};
#[cfg(unix)]
use std::os::fd::BorrowedFd;

use crate::edge::prelude::*;
use crate::lifespan::{LifespanCallbacks, trunkline_lifespan_close_callback, trunkline_lifespan_open_callback};
use crate::listener::trunkline_listener;
use crate::options::{trunkline_http_options, trunkline_server_options};
use crate::port::trunkline_port;
use crate::server::trunkline_server;

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
        let (name, version, server) = (text!(name), text!(version), out!(server));
        let defaults = trunkline_server_options::default();
        let made = trunkline_server::new(name, version, settled!(options).unwrap_or(&defaults))?;
        server.finish(give(made))
    })
}

/// Checks that a server's store, such as a custom one, fulfils its contract (`trunkline_store`).
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
        let (server, findings) = (handle!(server), out!(findings));
        findings.finish(server.check_store()?.give())
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
pub unsafe extern "C" fn trunkline_server_run_stdio(
    server: *mut trunkline_server,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || handle!(server).inner.clone().run_stdio())
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
    guard(error, || handle!(server).inner.clone().open_stdio(out!(listener)))
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
            // SAFETY: the numbers are not negative, and only duplicated during this function: the
            // system refuses one that is not open.
            let (input, output) = unsafe { (BorrowedFd::borrow_raw(input), BorrowedFd::borrow_raw(output)) };
            listener.finish(give(trunkline_listener { inner: server.listen_fd(&input, &output)? }))
        }
        #[cfg(not(unix))]
        {
            let _ = (server, listener, input, output);
            Err(Failure::invalid("file descriptors are supported only on Unix: use trunkline_server_listen_http"))
        }
    })
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
    guard(error, || {
        let transport = settled!(options).map(|options| options.given.clone()).unwrap_or_default();
        handle!(server).inner.clone().open(transport.with("type", "http"), out!(listener))
    })
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
    guard(error, || {
        let transport = settled!(options).map(|options| options.given.clone()).unwrap_or_default();
        handle!(server).inner.clone().open(transport.with("type", "http").with("mounted", true), out!(listener))
    })
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
    guard(error, || handle!(server).inner.clone().run())
}

/// Ends `trunkline_server_run` or `trunkline_server_run_stdio`, now or when it starts. May be
/// called on any thread, inside callbacks, and on Unix inside a signal handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_stop(server: *mut trunkline_server) -> trunkline_result {
    guard_result(|| {
        handle!(server).inner.stop();
        Ok(())
    })
}

/// Sets the lifespan callbacks, which open something that calls need, such as a database, and close
/// it again. `open` runs before the first call, inside the function that starts to listen or
/// connects in memory, which fails with `TRUNKLINE_TRANSPORT` if it returns false. `close` runs
/// when the last listener and the last in-memory client have ended, however they end, and by
/// `trunkline_server_free` at the latest. Both run like callbacks, alternately, each time the
/// server is served, with the same `user_data`; either may be NULL. The lifespan of a mounted
/// server opens and closes with the server it is mounted on. `TRUNKLINE_INVALID_ARGUMENT` while the
/// server is being served.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_set_lifespan(
    server: *mut trunkline_server,
    open: trunkline_lifespan_open_callback,
    close: trunkline_lifespan_close_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    let data = UserData::new(user_data, destructor);
    guard(error, || handle!(server).inner.lifespan.set(LifespanCallbacks { open, close, data }))
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
