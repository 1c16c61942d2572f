//! A server inside the host's web server: requests in, responses out.

use std::ffi::c_void;
use std::sync::Arc;

use trunkline_bridge::{Body, Event, EventKind, ResponseHead};

use crate::edge::failure::{Failure, trunkline_error, trunkline_result};
use crate::edge::text::{Text, trunkline_str};
use crate::edge::user_data::UserData;
use crate::port::{EventReceiver, Port};
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

/// Receives the status and headers of a response. All arguments are borrowed until the callback
/// returns.
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
    pub(crate) fn cancel(&self) -> Result<(), Failure> {
        Ok(self.port.core.cancel(self.ticket, "the client has disconnected")?)
    }
}

/// The host's functions that receive a response, and the data that they share.
pub(crate) struct ResponseReceiver {
    pub(crate) head: trunkline_http_head_callback,
    pub(crate) chunk: trunkline_http_chunk_callback,
    pub(crate) end: trunkline_http_end_callback,
    pub(crate) data: Arc<UserData>,
    pub(crate) scope: Arc<CallScope>,
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
        match (event.kind, event.body) {
            (EventKind::HttpHead, Body::Head(head)) => self.head(&head),
            (EventKind::HttpChunk, Body::Bytes(bytes)) => self.chunk(&bytes),
            (EventKind::HttpEnd, Body::Error(error)) => self.end(Some(&Failure::from(error).into_error())),
            (EventKind::HttpEnd, _) => self.end(None),
            _ => return false,
        }
        true
    }
}

impl ResponseReceiver {
    fn head(&self, given: &ResponseHead) {
        let Some(head) = self.head else { return };
        let copied =
            given.headers.iter().map(|(name, value)| (Text::copy(name.as_ref()), Text::copy(value.as_bytes())));
        let fields: Vec<_> = copied.collect();
        let headers: Vec<_> = fields
            .iter()
            .map(|(name, value)| trunkline_http_header { name: name.lend(), value: value.lend() })
            .collect();
        // SAFETY: the host's function with the host's data; the headers live until it returns.
        unsafe { head(given.status.as_u16(), headers.as_ptr(), headers.len(), self.data.pointer()) }
    }

    fn chunk(&self, bytes: &[u8]) {
        if let Some(chunk) = self.chunk {
            // SAFETY: the host's function with the host's data; the bytes live until it returns.
            unsafe { chunk(bytes.as_ptr().cast(), bytes.len(), self.data.pointer()) }
        }
    }

    fn end(&self, error: Option<&trunkline_error>) {
        if let Some(end) = self.end {
            let result = error.map_or(trunkline_result::TRUNKLINE_OK, |error| error.result);
            let error = error.map_or(std::ptr::null(), std::ptr::from_ref);
            // SAFETY: the host's function with the host's data; the error lives until it returns.
            unsafe { end(result, error, self.data.pointer()) }
        }
    }
}

/// The target of a request. Invalid UTF-8 is replaced by NUL bytes, so that the core rejects the
/// request.
pub(crate) fn target_of(target: &[u8]) -> String {
    String::from_utf8_lossy(target).replace(char::REPLACEMENT_CHARACTER, "\0")
}

/// In JSON, the value of a header has one character per byte.
pub(crate) fn text_of(value: &[u8]) -> String {
    value.iter().copied().map(char::from).collect()
}
