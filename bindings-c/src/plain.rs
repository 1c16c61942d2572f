//! Functions without `trunkline_str` by value: what a server and a client need from a language
//! whose FFI cannot pass structs.

use std::ffi::c_char;

use crate::calls::*;
use crate::client::trunkline_client;
use crate::context::{trunkline_call_log, trunkline_call_progress};
use crate::edge::prelude::*;
use crate::features::trunkline_server_add;
use crate::generated::client_group::trunkline_client_connect_config;
use crate::generated::requests::{trunkline_client_request, trunkline_client_start};
use crate::generated::returns::trunkline_call_fail_tool;
use crate::listener::{trunkline_listener, trunkline_listener_url};
use crate::options::{trunkline_client_options, trunkline_server_options};
use crate::requests::{trunkline_reply_callback, trunkline_request_options};
use crate::server::{trunkline_server, trunkline_server_new_with};
use crate::texts::{trunkline_str_of, trunkline_text_str, trunkline_version};

/// The bytes of a string passed to a callback or an output argument, and their number. `len` may be
/// NULL. Borrowed: valid as long as the string. "" for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_str(text: *const trunkline_str, len: *mut usize) -> *const c_char {
    lend(value_or(trunkline_str::empty(), || Ok(*handle!(text))), len)
}

/// The bytes of a string created by the library, and their number. `len` may be NULL. Borrowed:
/// valid until the string is freed. "" for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_text(text: *const trunkline_text, len: *mut usize) -> *const c_char {
    // SAFETY: the same arguments under the same conventions, here and below.
    lend(unsafe { trunkline_text_str(text) }, len)
}

/// The version of the library, such as "0.1.0". Static: never freed.
#[unsafe(no_mangle)]
pub extern "C" fn trunkline_plain_version() -> *const c_char {
    trunkline_version().data
}

/// The URL of an HTTP listener; see `trunkline_listener_url`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_listener_url(listener: *const trunkline_listener) -> *const c_char {
    unsafe { trunkline_listener_url(listener) }.data
}

/// Creates a server; see `trunkline_server_new_with`. `options` may be NULL. The caller owns
/// `server`; free it with `trunkline_server_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_server_new(
    name: *const c_char,
    version: *const c_char,
    options: *const trunkline_server_options,
    server: *mut *mut trunkline_server,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    unsafe { trunkline_server_new_with(trunkline_str_of(name), trunkline_str_of(version), options, server, error) }
}

/// Adds a feature or a hook; see `trunkline_server_add`, which lists the entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_server_add(
    server: *mut trunkline_server,
    kind: *const c_char,
    entry: *const c_char,
    callback: trunkline_call_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
    registration: *mut u64,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    let [kind, entry] = [kind, entry].map(|text| unsafe { trunkline_str_of(text) });
    unsafe { trunkline_server_add(server, kind, entry, callback, user_data, destructor, registration, error) }
}

/// The arguments of a call as JSON; see `trunkline_call_arguments`. `len` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_call_arguments(call: *const trunkline_call, len: *mut usize) -> *const c_char {
    lend(unsafe { trunkline_call_arguments(call) }, len)
}

/// The string at a JSON pointer in the arguments; see `trunkline_call_text`. `len` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_call_text(
    call: *const trunkline_call,
    pointer: *const c_char,
    otherwise: *const c_char,
    len: *mut usize,
) -> *const c_char {
    lend(unsafe { trunkline_call_text(call, trunkline_str_of(pointer), trunkline_str_of(otherwise)) }, len)
}

/// Completes a call with JSON or, with `TRUNKLINE_SHAPE_TEXT`, with text; see
/// `trunkline_call_return_json`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_call_return(
    call: *mut trunkline_call,
    shape: trunkline_shape_number,
    json: *const c_char,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    unsafe { trunkline_call_return_json(call, shape, trunkline_str_of(json), error) }
}

/// Fails a tool call with a message for the model; see `trunkline_call_fail_tool`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_call_fail_tool(
    call: *mut trunkline_call,
    message: *const c_char,
) -> trunkline_result {
    unsafe { trunkline_call_fail_tool(call, trunkline_str_of(message)) }
}

/// Reports the progress of a call; see `trunkline_call_progress`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_call_progress(
    call: *mut trunkline_call,
    progress: f64,
    total: f64,
    message: *const c_char,
) -> trunkline_result {
    unsafe { trunkline_call_progress(call, progress, total, trunkline_str_of(message)) }
}

/// Sends a log message to the client of a call; see `trunkline_call_log`.
///
/// @deprecated Since 2026-07-28: log to standard error or through OpenTelemetry instead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_call_log(
    call: *mut trunkline_call,
    level: *const c_char,
    message: *const c_char,
) -> trunkline_result {
    unsafe { trunkline_call_log(call, trunkline_str_of(level), trunkline_str_of(message)) }
}

/// Connects to a command or a URL given as an entry of `mcpServers`; see
/// `trunkline_client_connect_config`. Blocks until connected. `options` may be NULL. The caller
/// owns `client`; free it with `trunkline_client_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_client_connect(
    server: *const c_char,
    options: *const trunkline_client_options,
    client: *mut *mut trunkline_client,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    unsafe { trunkline_client_connect_config(trunkline_str_of(server), options, client, error) }
}

/// Sends any request; see `trunkline_client_request`. Blocks until the result arrives. The caller
/// owns `result`; free it with `trunkline_text_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_client_request(
    client: *mut trunkline_client,
    method: *const c_char,
    params: *const c_char,
    options: *const trunkline_request_options,
    result: *mut *mut trunkline_text,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    let [method, params] = [method, params].map(|text| unsafe { trunkline_str_of(text) });
    unsafe { trunkline_client_request(client, method, params, options, result, error) }
}

/// Starts any request; see `trunkline_client_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_client_start(
    client: *mut trunkline_client,
    method: *const c_char,
    params: *const c_char,
    options: *const trunkline_request_options,
    callback: trunkline_reply_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
    ticket: *mut u64,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    let [method, params] = [method, params].map(|text| unsafe { trunkline_str_of(text) });
    unsafe { trunkline_client_start(client, method, params, options, callback, user_data, destructor, ticket, error) }
}

fn lend(text: trunkline_str, len: *mut usize) -> *const c_char {
    out_or_null!(len)(text.len);
    text.data
}
