//! Servers inside a web server of the host.

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
use crate::scope::CallSurroundings;

/// Gives a request to a server that was mounted with `trunkline_server_mount_http`. `target` is
/// what the request line says, such as "/mcp?a=b". `remote_address` is the IP address of the peer,
/// such as "192.0.2.7", or empty if it is not known. The response comes to the callbacks: the head,
/// chunks, the end. Any of them may be NULL. `user_data` is theirs and that of the calls that the
/// request brings (`trunkline_call_exchange_data`); it is freed when the exchange is over or freed
/// and no such call is left. `end_of_request`: it has no body; otherwise that follows with
/// `trunkline_http_body`. `exchange` is yours: `trunkline_http_exchange_free`. An invalid HTTP
/// request is answered with status 400.
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
        // Given away before the first callback can run.
        let begun = |ticket| exchange.put(give(trunkline_http_exchange { port: port.clone(), ticket }));
        let begin = |core: &Port| core.http_request_message(listener.inner.handle, &request, end_of_request);
        let data = Arc::new(user_data);
        let surroundings = CallSurroundings::with_data(data.clone());
        port.make(Arc::new(ResponseReceiver { head, chunk, end, data, surroundings }), begin, begun).map(drop)
    })
}

/// Gives the next `len` bytes of the request's body; `end`: they are the last (`len` may be 0).
/// They are copied. `wanted` may be NULL; otherwise it gets whether further ones are of use: they
/// are not if the body is too long or the request was refused already. The response comes all the
/// same.
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

/// Lets so many more bytes of the response come. The first 65,536 come without; after that, grant
/// the length of each chunk once it was passed on: a client that reads slowly then costs no memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_credit(exchange: *mut trunkline_http_exchange, len: usize) -> trunkline_result {
    guard_result(|| {
        let exchange = handle!(exchange);
        Ok(exchange.port.core.http_credit(exchange.ticket, len as u64)?)
    })
}

/// The client is gone: its call is cancelled, and the end comes with `TRUNKLINE_CANCELLED`. An
/// exchange that is over is left as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_cancel(exchange: *mut trunkline_http_exchange) -> trunkline_result {
    guard_result(|| handle!(exchange).cancel())
}

/// Frees an exchange. One that is not over is cancelled, and no callback of it runs any more. May
/// be called inside its callbacks. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_exchange_free(exchange: *mut trunkline_http_exchange) {
    free!(exchange)
}
