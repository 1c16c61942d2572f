//! Options of clients.

use std::ffi::c_void;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::callback::{NotificationCallback, UserData, trunkline_destructor, trunkline_notification_callback};
use crate::error::{Failure, trunkline_error, trunkline_result};
use crate::ffi::{free, guard, handle, out, set, text};
use crate::hub::Hub;
use crate::options::options;
use crate::port::trunkline_port;
use crate::server_options::put;
use crate::text::trunkline_str;

/// Options of a client. Made by `trunkline_client_options_new`, read by the
/// `trunkline_client_connect_*` functions, freed by `trunkline_client_options_free`. What is not
/// set keeps its default.
#[derive(Default)]
pub struct trunkline_client_options {
    pub(crate) hub: Option<Arc<Hub>>,
    pub(crate) client: Map<String, Value>,
    pub(crate) limits: Map<String, Value>,
    pub(crate) headers: Map<String, Value>,
    pub(crate) env: Map<String, Value>,
    pub(crate) inherit_env: Option<bool>,
    pub(crate) cwd: Option<String>,
    pub(crate) background: bool,
    pub(crate) notification: Option<Arc<NotificationCallback>>,
    wrong: Option<Failure>,
}

options!(trunkline_client_options);

/// Makes options in which nothing is set. `options` is yours: `trunkline_client_options_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_new(
    options: *mut *mut trunkline_client_options,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        out!(options).put(crate::ffi::give(trunkline_client_options::default()));
        Ok(())
    })
}

/// Runs the client on a port of yours instead of one of its own. A client in memory always runs on
/// the port of its server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_port(
    options: *mut trunkline_client_options,
    port: *mut trunkline_port,
) -> trunkline_result {
    set!(options, {
        options.hub = Some(handle!(port).hub.clone());
        Ok(())
    })
}

/// Sets what the client calls itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_info(
    options: *mut trunkline_client_options,
    name: trunkline_str,
    version: trunkline_str,
) -> trunkline_result {
    set!(options, {
        let (name, version) = (text!(name), text!(version));
        put(&mut options.client, "info", serde_json::json!({"name": name, "version": version}))
    })
}

/// Sets the protocol revision: "auto" (negotiate, the default), "legacy", "modern", or one such as
/// "2025-06-18", spoken without a probe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_revision(
    options: *mut trunkline_client_options,
    revision: trunkline_str,
) -> trunkline_result {
    set!(options, put(&mut options.client, "revision", text!(revision)))
}

/// Sets whether to hear of changed lists of tools on every revision. Servers up to 2025-11-25 tell by themselves; others
/// are asked with a subscription. They come to the callback of `trunkline_client_options_on_notification`. Default false.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_listen(
    options: *mut trunkline_client_options,
    listen: bool,
) -> trunkline_result {
    set!(options, put(&mut options.client, "listen", listen))
}

/// Sets how long a request waits, in milliseconds; progress renews it. Default 60 s.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_timeout_ms(
    options: *mut trunkline_client_options,
    timeout_ms: u64,
) -> trunkline_result {
    set!(options, put(&mut options.limits, "timeoutMs", timeout_ms))
}

/// Sets how long a request waits at most, whatever progress it makes, in milliseconds. Default 10
/// minutes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_max_timeout_ms(
    options: *mut trunkline_client_options,
    timeout_ms: u64,
) -> trunkline_result {
    set!(options, put(&mut options.limits, "maxTimeoutMs", timeout_ms))
}

/// Sets how long connecting may take, in milliseconds. Default 30 s.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_connect_timeout_ms(
    options: *mut trunkline_client_options,
    timeout_ms: u64,
) -> trunkline_result {
    set!(options, put(&mut options.limits, "connectTimeoutMs", timeout_ms))
}

/// Sets how long a server may be silent when it is asked whether it speaks the newest revision, in milliseconds. Default 5 s.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_probe_timeout_ms(
    options: *mut trunkline_client_options,
    timeout_ms: u64,
) -> trunkline_result {
    set!(options, put(&mut options.limits, "probeTimeoutMs", timeout_ms))
}

/// Sets the most bytes that a message may have. Default 64 MiB.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_max_message_bytes(
    options: *mut trunkline_client_options,
    bytes: u64,
) -> trunkline_result {
    set!(options, put(&mut options.limits, "maxMessageBytes", bytes))
}

/// Adds an HTTP header to each request. For HTTP only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_header(
    options: *mut trunkline_client_options,
    name: trunkline_str,
    value: trunkline_str,
) -> trunkline_result {
    set!(options, put(&mut options.headers, text!(name), text!(value)))
}

/// Sets an environment variable of the child process. For child processes only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_env(
    options: *mut trunkline_client_options,
    name: trunkline_str,
    value: trunkline_str,
) -> trunkline_result {
    set!(options, put(&mut options.env, text!(name), text!(value)))
}

/// Sets whether the child process gets this process's environment. Default true. For child
/// processes only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_inherit_env(
    options: *mut trunkline_client_options,
    inherit: bool,
) -> trunkline_result {
    set!(options, {
        options.inherit_env = Some(inherit);
        Ok(())
    })
}

/// Sets the folder that the child process starts in. For child processes only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_cwd(
    options: *mut trunkline_client_options,
    cwd: trunkline_str,
) -> trunkline_result {
    set!(options, {
        options.cwd = Some(text!(cwd).to_owned());
        Ok(())
    })
}

/// Makes `trunkline_client_connect_*` return at once, for programs with a loop of their own.
/// Requests wait for the connection; if it cannot be made, they fail, and `trunkline_client_closed`
/// says so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_set_background(
    options: *mut trunkline_client_options,
    background: bool,
) -> trunkline_result {
    set!(options, {
        options.background = background;
        Ok(())
    })
}

/// Runs `callback` for each notification of the server. `destructor` fires exactly once, when
/// neither the options nor a client uses `user_data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_on_notification(
    options: *mut trunkline_client_options,
    callback: trunkline_notification_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    set!(options, {
        let callback = NotificationCallback::new(callback, user_data).ok_or_else(|| Failure::null("callback"))?;
        options.notification = Some(Arc::new(callback));
        Ok(())
    })
}

/// Frees options. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_client_options_free(options: *mut trunkline_client_options) {
    free!(options)
}
