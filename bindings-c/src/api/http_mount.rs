//! Servers inside a host's web server.

use std::ffi::c_void;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use trunkline_bridge::Port;
use trunkline_bridge::message::HttpHead;

use crate::edge::prelude::*;
use crate::http_mount::{
    ResponseReceiver, target_of, text_of, trunkline_http_chunk_callback, trunkline_http_end_callback,
    trunkline_http_exchange, trunkline_http_head_callback, trunkline_http_header,
};
use crate::listener::trunkline_listener;
use crate::scope::CallScope;

/// Passes a request to a server mounted with `trunkline_server_mount_http`. `target` is the request
/// target, such as "/mcp?a=b". `remote_address` is the IP address of the peer, such as "192.0.2.7",
/// or empty if unknown. The response is passed to the callbacks: the head, chunks, the end. Any of
/// them may be NULL. `user_data` is shared by the callbacks and the calls of the request
/// (`trunkline_call_exchange_data`); it is freed once the exchange has ended or was freed and no
/// such call is left. `end_of_request` means that there is no body; otherwise pass it with
/// `trunkline_http_body`. The caller owns `exchange`; free it with `trunkline_http_exchange_free`.
/// An invalid HTTP request gets status 400.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_request(
    listener: *mut trunkline_listener,
    method: trunkline_str,
    target: trunkline_str,
    headers: *const trunkline_http_header,
    header_count: usize,
    remote_address: trunkline_str,
    end_of_request: bool,
    head: trunkline_http_head_callback,
    chunk: trunkline_http_chunk_callback,
    end: trunkline_http_end_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
    exchange: *mut *mut trunkline_http_exchange,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    guard(error, || {
        let (listener, exchange) = (handle!(listener), out!(exchange));
        let (method, target) = (text_of(bytes!(method)), target_of(bytes!(target)));
        let remote_address = text!(remote_address);
        if !remote_address.is_empty() && remote_address.parse::<IpAddr>().is_err() {
            return Err(Failure::invalid(format!(
                "the argument `remote_address` is not an IP address: {remote_address:?}"
            )));
        }
        let mut fields = Vec::with_capacity(header_count);
        for header in slice!(headers, header_count) {
            let (name, value) = (header.name, header.value);
            fields.push((text_of(bytes!(name)), text_of(bytes!(value))));
        }
        let (path, query) = target.split_once('?').map_or((&*target, None), |(path, query)| (path, Some(query)));
        let (path, query) = (path.to_owned(), query.map(str::to_owned));
        let remote_address = (!remote_address.is_empty()).then(|| remote_address.to_owned());
        let request = HttpHead { method, path, query, headers: fields, remote_address, ..HttpHead::default() };
        let port = &listener.inner.port;
        // Stored before the first callback can run.
        let begun = |ticket| exchange.put(give(trunkline_http_exchange { port: port.clone(), ticket }));
        let begin = |core: &Port| core.http_request_message(listener.inner.handle, &request, end_of_request);
        let data = Arc::new(user_data);
        let scope = CallScope::with_data(data.clone());
        port.make(Arc::new(ResponseReceiver { head, chunk, end, data, scope }), begin, begun).map(drop)
    })
}

/// Passes the next `len` bytes of the request's body; `end` marks the last ones (`len` may be 0).
/// They are copied. `wanted` may be NULL; otherwise it receives whether more of the body is needed:
/// it is not if the body is too long or the request was already refused. The response still
/// follows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_body(
    exchange: *mut trunkline_http_exchange,
    data: *const c_void,
    len: usize,
    end: bool,
    wanted: *mut bool,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let exchange = handle!(exchange);
        let body = trunkline_str { data: data.cast(), len };
        let piece = Bytes::copy_from_slice(bytes!(body));
        let more = exchange.port.core.http_body(exchange.ticket, piece, end)?;
        out_or_null!(wanted)(more);
        Ok(())
    })
}

/// Allows that many more bytes of the response. The first 65,536 need no credit; after that, grant
/// the length of each chunk once you have passed it on, so that slow clients do not use up memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_credit(exchange: *mut trunkline_http_exchange, len: usize) -> trunkline_result {
    guard_result(|| {
        let exchange = handle!(exchange);
        Ok(exchange.port.core.http_credit(exchange.ticket, len as u64)?)
    })
}

/// Reports that the client has disconnected: its call is cancelled, and the exchange ends with
/// `TRUNKLINE_CANCELLED`. No effect if the exchange has already ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_cancel(exchange: *mut trunkline_http_exchange) -> trunkline_result {
    guard_result(|| handle!(exchange).cancel())
}

/// Frees an exchange. If it has not ended, it is cancelled, and its callbacks no longer run.
/// Allowed inside its callbacks. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_exchange_free(exchange: *mut trunkline_http_exchange) {
    free!(exchange)
}
