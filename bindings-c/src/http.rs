//! A server inside a web server of the host: requests in, responses out.

use std::ffi::c_void;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use trunkline_bridge::{Event, EventKind};

use crate::callback::{
    HttpReceiver, UserData, trunkline_destructor, trunkline_http_chunk_callback, trunkline_http_end_callback,
    trunkline_http_head_callback,
};
use crate::error::{Failure, trunkline_error, trunkline_result};
use crate::ffi::{Out, bytes, free, guard, handle, out, quietly, slice, told};
use crate::hub::Hub;
use crate::listener::trunkline_listener;
use crate::text::{Text, trunkline_str};
use crate::work::{Work, outcome};

/// A header of a request or response. Its value may have any bytes that HTTP allows.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct trunkline_http_header {
    /// The name.
    pub name: trunkline_str,
    /// The value.
    pub value: trunkline_str,
}

/// A request that is being answered. Freed with `trunkline_http_exchange_free`.
pub struct trunkline_http_exchange {
    hub: Arc<Hub>,
    ticket: u64,
}

impl trunkline_http_exchange {
    /// Begins an exchange, and gives it away before the first callback can run.
    fn start(
        listener: &trunkline_listener,
        head: &[u8],
        end: bool,
        receiver: HttpReceiver,
        exchange: Out<*mut Self>,
    ) -> Result<(), Failure> {
        let hub = listener.inner.hub();
        let mut state = hub.state()?;
        let ticket = hub.port.http_request(listener.inner.handle(), head, end)?;
        state.exchanges.insert(ticket, Arc::new(receiver));
        exchange.put(crate::ffi::give(Self { hub: hub.clone(), ticket }));
        Ok(())
    }
}

impl Drop for trunkline_http_exchange {
    fn drop(&mut self) {
        let Ok(mut state) = self.hub.state() else { return };
        let receiver = state.exchanges.remove(&self.ticket);
        let ours = |work: &Work| matches!(work, Work::Http { event, .. } if event.ticket == self.ticket);
        let gone = state.due.extract(ours);
        // The host's destructor runs when the tables are unlocked.
        drop(state);
        drop((receiver, gone));
        let _ = self.hub.port.cancel(self.ticket, "the client has gone away");
    }
}

#[derive(Deserialize)]
struct Head {
    status: u16,
    headers: Vec<(String, String)>,
}

/// Tells the host of an event of its exchange.
pub(crate) fn tell(receiver: &HttpReceiver, event: &Event) {
    match event.kind {
        EventKind::HttpHead => {
            let Ok(head) = serde_json::from_slice::<Head>(&event.body) else { return };
            let fields: Vec<_> =
                head.headers.iter().map(|(name, value)| (Text::copy(name.as_bytes()), bytes_of(value))).collect();
            let headers: Vec<_> = fields
                .iter()
                .map(|(name, value)| trunkline_http_header { name: name.lend(), value: value.lend() })
                .collect();
            receiver.head(head.status, &headers);
        }
        EventKind::HttpChunk => receiver.chunk(&event.body),
        _ => match outcome(event) {
            Ok(_) => receiver.end(trunkline_result::TRUNKLINE_OK, None),
            Err(failure) => {
                let error = failure.into_error();
                receiver.end(error.result(), Some(&error));
            }
        },
    }
}

/// Bytes that are no text are no target: what stands in their place has the core refuse the request.
fn target_of(target: &[u8]) -> String {
    String::from_utf8_lossy(target).replace(char::REPLACEMENT_CHARACTER, "\0")
}

/// In JSON, the value of a header has one character for each of its bytes.
fn text_of(value: &[u8]) -> String {
    value.iter().copied().map(char::from).collect()
}

fn bytes_of(value: &str) -> Text {
    Text::new(value.chars().map(|character| u8::try_from(character).unwrap_or(b'?')).collect())
}

/// Gives a request to a server that was mounted with `trunkline_server_mount_http`. `target` is what the
/// request line says, such as "/mcp?a=b". The response comes to the callbacks: the head, chunks, the
/// end. Any of them may be NULL; `user_data` is theirs, and freed when the exchange is over or freed.
/// `end_of_request`: it has no body; otherwise that follows with `trunkline_http_body`. `exchange` is yours:
/// `trunkline_http_exchange_free`. What is no HTTP request is answered with status 400.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_request(
    listener: *mut trunkline_listener,
    method: trunkline_str,
    target: trunkline_str,
    headers: *const trunkline_http_header,
    header_count: usize,
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
        let mut fields = Vec::with_capacity(header_count);
        for header in slice!(headers, header_count) {
            let (name, value) = (header.name, header.value);
            fields.push((text_of(bytes!(name)), text_of(bytes!(value))));
        }
        let (path, query) = target.split_once('?').map_or((&*target, None), |(path, query)| (path, Some(query)));
        let described = json!({"method": method, "path": path, "query": query, "headers": fields});
        let receiver = HttpReceiver::new(head, chunk, end, user_data);
        let described = described.to_string();
        trunkline_http_exchange::start(listener, described.as_bytes(), end_of_request, receiver, exchange)
    })
}

/// Gives the next `len` bytes of the request's body; `end`: they are the last (`len` may be 0). They are
/// copied. `wanted` may be NULL; otherwise it gets whether further ones are of use: they are not if the
/// body is too long or the request was refused already. The response comes all the same.
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
        let more = exchange.hub.port.http_body(exchange.ticket, piece, end)?;
        told!(wanted)(more);
        Ok(())
    })
}

/// Lets so many more bytes of the response come. The first 65,536 come without; after that, grant the
/// length of each chunk once it was passed on: a client that reads slowly then costs no memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_credit(exchange: *mut trunkline_http_exchange, len: usize) -> trunkline_result {
    quietly(|| {
        let exchange = handle!(exchange);
        Ok(exchange.hub.port.http_credit(exchange.ticket, len as u64)?)
    })
}

/// The client is gone: its call is cancelled, and the end comes with `TRUNKLINE_CANCELLED`. An exchange
/// that is over is left as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_cancel(exchange: *mut trunkline_http_exchange) -> trunkline_result {
    quietly(|| {
        let exchange = handle!(exchange);
        Ok(exchange.hub.port.cancel(exchange.ticket, "the client has gone away")?)
    })
}

/// Frees an exchange. One that is not over is cancelled, and no callback of it runs any more. May be
/// called inside its callbacks. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_http_exchange_free(exchange: *mut trunkline_http_exchange) {
    free!(exchange)
}
