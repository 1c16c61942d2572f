//! Exchanges: requests that a web framework passes to a mounted listener. Responses are sent to the
//! host as fast as it grants credit.

use crate::{
    Body, BridgeError, ErrorKind, Event, EventKind, Lane, PortState, ResponseHead,
    calls::causes,
    message::HttpHead,
    state::{entries::HttpExchange, tables::full},
};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::BodyExt;
use std::sync::{Arc, Weak};
use trunkline::{
    bridge_support::{Exchange, FedBody},
    server::RemoteAddress,
};

pub(crate) fn request(state: &Arc<PortState>, listener: u64, head: &HttpHead, end: bool) -> Result<u64, BridgeError> {
    if !cfg!(feature = "http-server") {
        return Err(BridgeError::without("http-server"));
    }
    let mounted = match state.tables.lock().listeners.get(listener).and_then(|listener| listener.get()) {
        Some(listener) => listener.as_mounted().cloned(),
        None => return Err(BridgeError::new(ErrorKind::Closed, "The listener is closed")),
    };
    let mounted = mounted.ok_or_else(|| {
        BridgeError::invalid("http_request: this listener has its own socket; open one with \"mounted\": true")
    })?;
    let process = state.process()?;
    let (feed, body) = mounted.new_body();
    let mut request = request_of(head, body);
    if head.optional && !request.as_ref().is_ok_and(|request| mounted.serves(request)) {
        return Ok(0);
    }
    if end {
        feed.feed(Bytes::new(), true);
    }
    let exchange = HttpExchange::new(feed);
    let ticket = state.tables.lock().exchanges.insert(Arc::clone(&exchange)).ok_or_else(full)?;
    let cause = causes::of(state, ticket);
    if let Ok(request) = &mut request {
        request.extensions_mut().insert(cause);
    }
    let response = ResponseEvents {
        state: Arc::downgrade(state),
        ticket,
        listener,
        exchange: Arc::clone(&exchange),
        complete: false,
        served: mounted.enter(),
    };
    let task = state.spawn(&process, response.run(request));
    exchange.runs_as(task.abort_handle());
    Ok(ticket)
}

/// An exchange that is not over.
pub(crate) fn find(state: &PortState, ticket: u64) -> Option<Arc<HttpExchange>> {
    state.tables.lock().exchanges.get(ticket).cloned()
}

/// Sends the events of one exchange. Only the task that owns this sends them, and the end is sent
/// on drop, for whatever reason. So events are in order and the end is always sent, once and last.
struct ResponseEvents {
    state: Weak<PortState>,
    ticket: u64,
    listener: u64,
    exchange: Arc<HttpExchange>,
    complete: bool,
    /// Dropped after the end has been sent; only then has the listener finished it.
    served: Exchange,
}

impl ResponseEvents {
    async fn run(mut self, request: Result<Request<FedBody>, String>) {
        self.complete = tokio::select! {
            biased;
            () = self.served.cut() => false,
            () = self.answer(request) => true,
        };
    }

    async fn answer(&self, request: Result<Request<FedBody>, String>) {
        let response = match request {
            Ok(request) => self.served.respond(request).await,
            Err(text) => Exchange::refuse(text),
        };
        let (head, mut body) = response.into_parts();
        let empty = http_body::Body::is_end_stream(&body);
        let head = ResponseHead { status: head.status, headers: head.headers, empty };
        self.send(EventKind::HttpHead, Body::Head(head));
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(mut piece) = frame.into_data() else { continue };
            while !piece.is_empty() {
                let length = self.exchange.credit.take(piece.len()).await;
                self.send(EventKind::HttpChunk, piece.split_to(length).into());
            }
        }
    }

    fn send(&self, kind: EventKind, body: Body) {
        if let Some(state) = self.state.upgrade() {
            let event = Event { kind, ticket: self.ticket, handle: self.listener, body, ..Event::default() };
            state.queue.push(Lane::Queue, event);
        }
    }
}

impl Drop for ResponseEvents {
    fn drop(&mut self) {
        let error = match () {
            () if self.complete => None,
            () if std::thread::panicking() => {
                Some((ErrorKind::Internal, "The response was aborted by an internal error"))
            }
            () if self.exchange.is_cancelled() => Some((ErrorKind::Cancelled, "The request was cancelled")),
            () => Some((ErrorKind::Closed, "The listener was closed before the response was complete")),
        };
        let Some(state) = self.state.upgrade() else { return };
        // Dropped after the lock is released.
        let removed = state.tables.lock().exchanges.remove(self.ticket);
        drop(removed);
        self.send(EventKind::HttpEnd, error.map(|(kind, text)| BridgeError::new(kind, text)).into());
    }
}

/// Builds a request from its head. The error says why it is invalid. An invalid request is the
/// client's fault, so it gets a response instead of raising an error in the host.
fn request_of(head: &HttpHead, body: FedBody) -> Result<Request<FedBody>, String> {
    let target = match head.query.as_deref() {
        None | Some("") => head.path.clone(),
        Some(query) => format!("{}?{query}", head.path),
    };
    let mut request = Request::new(body);
    *request.method_mut() =
        Method::from_bytes(head.method.as_bytes()).map_err(|_| format!("{:?} is not an HTTP method", head.method))?;
    *request.uri_mut() =
        Uri::try_from(&target).map_err(|error| format!("{target:?} is not a request target: {error}"))?;
    // Some frameworks append the zone of a link-local address.
    let address = head.remote_address.as_deref().and_then(|address| address.split('%').next());
    if let Some(address) = address.and_then(|address| address.parse().ok()) {
        request.extensions_mut().insert(RemoteAddress(address));
    }
    let headers = request.headers_mut();
    for (name, value) in &head.headers {
        let parsed = HeaderName::from_bytes(name.as_bytes()).ok().zip(value_of(value));
        let (name, value) = parsed.ok_or_else(|| format!("The header {name:?} has a wrong name or value"))?;
        headers.append(name, value);
    }
    Ok(request)
}

/// The bytes of a header value, one per character ("isomorphic encode" in Fetch).
fn value_of(text: &str) -> Option<HeaderValue> {
    let bytes: Option<Vec<u8>> = text.chars().map(|character| u8::try_from(character).ok()).collect();
    HeaderValue::from_bytes(&bytes?).ok()
}
