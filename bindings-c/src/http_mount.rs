//! A server inside the host's web server: requests in, responses out.

use std::net::IpAddr;

use bytes::Bytes;
use trunkline_bridge::message::HttpHead;
use trunkline_bridge::{self as bridge, Body, Event, EventKind, ResponseHead};

use crate::edge::prelude::*;
use crate::listener::trunkline_listener;
use crate::port::{EventReceiver, Port};
use crate::requests::lend_outcome;
use crate::scope::CallScope;

/// A header of a request or response. Its value may contain any bytes that HTTP allows.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct trunkline_http_header {
    /// The name.
    pub name: trunkline_str,
    /// The value.
    pub value: trunkline_str,
}

/// Receives the status and headers of a response. `headers` is NULL if there are none. All
/// arguments are borrowed until the callback returns.
pub type trunkline_http_head_callback = Option<
    unsafe extern "C" fn(
        status: u16,
        headers: *const trunkline_http_header,
        header_count: usize,
        user_data: *mut c_void,
    ),
>;

/// Receives the next bytes of a response, borrowed until the callback returns. Grant credit for
/// them with `trunkline_http_credit` once you have passed them on.
pub type trunkline_http_chunk_callback =
    Option<unsafe extern "C" fn(data: *const c_void, len: usize, user_data: *mut c_void)>;

/// Runs at the end of a response with `TRUNKLINE_OK`, or with the reason why the response is
/// incomplete. `error` is NULL on success; it is borrowed until the callback returns.
pub type trunkline_http_end_callback =
    Option<unsafe extern "C" fn(result: trunkline_result, error: *const trunkline_error, user_data: *mut c_void)>;

/// A request that is being handled. Free it with `trunkline_http_exchange_free`.
pub struct trunkline_http_exchange {
    pub(crate) port: Arc<Port>,
    pub(crate) ticket: u64,
}

impl Drop for trunkline_http_exchange {
    fn drop(&mut self) {
        self.port.detach(self.ticket);
        let _ = self.cancel();
    }
}

impl trunkline_http_exchange {
    fn cancel(&self) -> Result<(), Failure> {
        Ok(self.port.core.cancel(self.ticket, "the client has disconnected")?)
    }
}

/// The host's functions that receive a response, and the data that they share.
struct ResponseReceiver {
    head: trunkline_http_head_callback,
    chunk: trunkline_http_chunk_callback,
    end: trunkline_http_end_callback,
    data: Arc<UserData>,
    scope: Arc<CallScope>,
}

impl Drop for ResponseReceiver {
    fn drop(&mut self) {
        self.scope.end_origin();
    }
}

impl EventReceiver for ResponseReceiver {
    fn scope(&self) -> Option<Arc<CallScope>> {
        Some(self.scope.clone())
    }

    fn receive(self: Arc<Self>, _: &Arc<Port>, event: Event) -> bool {
        let data = self.data.pointer();
        match (event.kind, event.body) {
            (EventKind::HttpHead, Body::Head(given)) => self.head(&given),
            (EventKind::HttpChunk, Body::Bytes(bytes)) => {
                // SAFETY: the host's function with the host's data; the bytes live until it
                // returns.
                self.chunk.inspect(|chunk| unsafe { chunk(bytes.as_ptr().cast(), bytes.len(), data) });
            }
            (EventKind::HttpEnd, body) => {
                if let Some(end) = self.end {
                    let outcome = body.into_outcome().map_err(Failure::from);
                    // SAFETY: the host's function with the host's data; the error lives until it
                    // returns.
                    lend_outcome(outcome, |result, _, error| unsafe { end(result, error, data) });
                }
            }
            _ => return false,
        }
        true
    }
}

impl ResponseReceiver {
    fn head(&self, given: &ResponseHead) {
        let Some(head) = self.head else { return };
        let fields: Vec<_> = given.headers.iter().map(|(name, value)| (Text::copy(name), Text::copy(value))).collect();
        let header = |(name, value): &(Text, Text)| trunkline_http_header { name: name.lend(), value: value.lend() };
        let headers: Vec<_> = fields.iter().map(header).collect();
        // The pointer of an empty list dangles, and some languages check pointers.
        let first = if headers.is_empty() { std::ptr::null() } else { headers.as_ptr() };
        // SAFETY: the host's function with the host's data; the headers live until it returns.
        unsafe { head(given.status.as_u16(), first, headers.len(), self.data.pointer()) }
    }
}

/// In JSON, the value of a header has one character per byte.
fn text_of(value: &[u8]) -> String {
    value.iter().copied().map(char::from).collect()
}

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
    let data = Arc::new(UserData::new(user_data, destructor));
    guard(error, || {
        let (listener, exchange) = (handle!(listener), out!(exchange));
        let method = text_of(bytes!(method));
        // The core rejects the NUL bytes that replace invalid UTF-8.
        let target = String::from_utf8_lossy(bytes!(target)).replace(char::REPLACEMENT_CHARACTER, "\0");
        let remote_address = Some(text!(remote_address)).filter(|address| !address.is_empty()).map(str::to_owned);
        if let Some(address) = remote_address.as_ref().filter(|address| address.parse::<IpAddr>().is_err()) {
            return Err(Failure::invalid(format!("the argument `remote_address` is not an IP address: {address:?}")));
        }
        let field = |&trunkline_http_header { name, value }: &_| Ok((text_of(bytes!(name)), text_of(bytes!(value))));
        let headers = slice!(headers, header_count).iter().map(field).collect::<Result<_, Failure>>()?;
        let (path, query) = target.split_once('?').map_or((&*target, None), |(path, query)| (path, Some(query)));
        let (path, query) = (path.to_owned(), query.map(str::to_owned));
        let request = HttpHead { method, path, query, headers, remote_address, ..HttpHead::default() };
        let port = &listener.inner.port;
        // Stored before the first callback can run.
        let begun = |ticket| exchange.put(give(trunkline_http_exchange { port: port.clone(), ticket }));
        let begin = |core: &bridge::Port| core.http_request_message(listener.inner.handle, &request, end_of_request);
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
        let (exchange, body) = (handle!(exchange), trunkline_str { data: data.cast(), len });
        let more = exchange.port.core.http_body(exchange.ticket, Bytes::copy_from_slice(bytes!(body)), end)?;
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
