//! Servers inside web frameworks: the host brings the requests and takes the responses away, as fast as it grants credit.

use super::{
    BridgeError, ErrorKind, Event, EventKind, Lane,
    entries::{Entry, Slot},
    message::HttpHead,
    port::PortInner,
};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Response, Uri};
use http_body_util::BodyExt;
use serde_json::json;
use std::{
    future::poll_fn,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    task::{Poll, Waker},
};
use tokio::task::AbortHandle;
use trunkline::{
    bridge_support::{BodyFeed, Exchange, FedBody, Mutex},
    transport::{HttpBody, HttpOptions, Listener},
};

/// How many bytes of a response cross before the host grants more.
const FIRST_CREDIT: usize = 64 << 10;

/// A request that is being answered.
pub(super) struct Answering {
    feed: BodyFeed,
    credit: Credit,
    cancelled: AtomicBool,
    task: OnceLock<AbortHandle>,
}

impl Answering {
    /// The host does not want the response any more.
    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }

    fn runs_as(&self, task: AbortHandle) {
        let _ = self.task.set(task);
        if self.cancelled.load(Ordering::Acquire) {
            self.cancel();
        }
    }
}

impl PortInner {
    /// Opens a listener without a socket. Nothing has to be waited for: requests may come at once.
    pub(super) fn mount(
        self: &Arc<Self>,
        server: u64,
        path: Option<&str>,
        options: &HttpOptions,
        slot: Option<Arc<Slot>>,
    ) -> Result<u64, BridgeError> {
        let server = self.server(server)?;
        let listener = Listener::mounted(&server, self.runtime()?, options, path);
        let entry = Entry::Listener { listener: Arc::new(listener), slot: slot.clone() };
        let handle = self.insert_opening(entry)?;
        self.opened(handle, slot.as_deref(), Ok(json!({})));
        Ok(handle)
    }

    pub(super) fn http_request(
        self: &Arc<Self>,
        listener: u64,
        head: &HttpHead,
        end: bool,
    ) -> Result<u64, BridgeError> {
        let mounted = match self.table.lock().get(listener) {
            Some(Entry::Listener { listener, .. }) => listener.as_mounted().cloned(),
            _ => return Err(BridgeError::new(ErrorKind::Closed, "The listener is closed")),
        };
        let mounted = mounted.ok_or_else(|| {
            BridgeError::invalid("http_request: this listener has a socket of its own; open one with \"mounted\": true")
        })?;
        let process = self.process()?;
        let (feed, body) = BodyFeed::new(mounted.max_body());
        let request = request_of(head, body);
        if head.optional && !request.as_ref().is_ok_and(|request| mounted.serves(request)) {
            return Ok(0);
        }
        if end {
            feed.feed(Bytes::new(), true);
        }
        let answering = Arc::new(Answering {
            feed,
            credit: Credit::default(),
            cancelled: AtomicBool::new(false),
            task: OnceLock::new(),
        });
        let ticket = self.insert(Entry::Exchange(Arc::clone(&answering)))?;
        let told = Told {
            port: Arc::downgrade(self),
            ticket,
            listener,
            answering: Arc::clone(&answering),
            complete: false,
            exchange: mounted.enter(),
        };
        let task = self.spawn(&process, told.run(request));
        answering.runs_as(task.abort_handle());
        Ok(ticket)
    }

    pub(super) fn http_body(&self, exchange: u64, piece: Bytes, end: bool) -> bool {
        self.answering(exchange).is_some_and(|answering| answering.feed.feed(piece, end))
    }

    pub(super) fn http_credit(&self, exchange: u64, bytes: usize) {
        if let Some(answering) = self.answering(exchange) {
            answering.credit.grant(bytes);
        }
    }

    fn answering(&self, exchange: u64) -> Option<Arc<Answering>> {
        match self.table.lock().get(exchange) {
            Some(Entry::Exchange(answering)) => Some(Arc::clone(answering)),
            _ => None,
        }
    }
}

/// The events of one exchange. All of them are sent by the task that holds this, and the end when it is dropped, for whatever
/// reason. So events are in order, and there is one end, which is the last event.
struct Told {
    port: Weak<PortInner>,
    ticket: u64,
    listener: u64,
    answering: Arc<Answering>,
    complete: bool,
    /// Dropped after the end was told: only then is the listener done with it.
    exchange: Exchange,
}

impl Told {
    async fn run(mut self, request: Result<Request<FedBody>, String>) {
        let answered = tokio::select! {
            biased;
            () = self.exchange.cut() => false,
            () = self.answer(request) => true,
        };
        self.complete = answered;
    }

    async fn answer(&self, request: Result<Request<FedBody>, String>) {
        let response = match request {
            Ok(request) => self.exchange.respond(request).await,
            Err(text) => Exchange::refuse(text),
        };
        self.tell(EventKind::HttpHead, true, head_of(&response));
        let mut body = response.into_body();
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(mut piece) = frame.into_data() else { continue };
            while !piece.is_empty() {
                let length = self.answering.credit.take(piece.len()).await;
                self.tell(EventKind::HttpChunk, true, piece.split_to(length));
            }
        }
    }

    fn tell(&self, kind: EventKind, ok: bool, body: Bytes) {
        if let Some(port) = self.port.upgrade() {
            let event = Event { kind, ticket: self.ticket, handle: self.listener, ok, name: String::new(), body };
            port.push(Lane::Queue, event);
        }
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        let error = match () {
            () if self.complete => None,
            () if std::thread::panicking() => Some((ErrorKind::Internal, "The response was cut short inside")),
            () if self.answering.cancelled.load(Ordering::Acquire) => {
                Some((ErrorKind::Cancelled, "The request was cancelled"))
            }
            () => Some((ErrorKind::Closed, "The listener was closed before the response had ended")),
        };
        let Some(port) = self.port.upgrade() else { return };
        port.remove(self.ticket);
        let body = error.map_or_else(|| b"{}".to_vec(), |(kind, text)| BridgeError::new(kind, text).to_json());
        self.tell(EventKind::HttpEnd, error.is_none(), body.into());
    }
}

/// The request of a head; the error says why it is none. One that went wrong on its way through a framework is the client's
/// business, so it is answered and not thrown at the host.
fn request_of(head: &HttpHead, body: FedBody) -> Result<Request<FedBody>, String> {
    let target = match head.query.as_deref() {
        None | Some("") => head.path.clone(),
        Some(query) => format!("{}?{query}", head.path),
    };
    let mut request = Request::new(body);
    *request.method_mut() =
        Method::from_bytes(head.method.as_bytes()).map_err(|_| format!("{:?} is no method", head.method))?;
    *request.uri_mut() = Uri::try_from(&target).map_err(|error| format!("{target:?} is no target: {error}"))?;
    let headers = request.headers_mut();
    for (name, value) in &head.headers {
        let parsed = HeaderName::from_bytes(name.as_bytes()).ok().zip(value_of(value));
        let (name, value) = parsed.ok_or_else(|| format!("The header {name:?} has a wrong name or value"))?;
        headers.append(name, value);
    }
    Ok(request)
}

/// The bytes of a header's value, one for each character, as Fetch has it ("isomorphic").
fn value_of(text: &str) -> Option<HeaderValue> {
    let bytes: Option<Vec<u8>> = text.chars().map(|character| u8::try_from(character).ok()).collect();
    HeaderValue::from_bytes(&bytes?).ok()
}

fn head_of(response: &Response<HttpBody>) -> Bytes {
    let text = |value: &HeaderValue| -> String { value.as_bytes().iter().copied().map(char::from).collect() };
    let headers: Vec<_> = response.headers().iter().map(|(name, value)| (name.as_str(), text(value))).collect();
    let empty = http_body::Body::is_end_stream(response.body());
    json!({"status": response.status().as_u16(), "headers": headers, "empty": empty}).to_string().into()
}

/// How much of a response the host takes.
struct Credit(Mutex<(usize, Option<Waker>)>);

impl Default for Credit {
    fn default() -> Self {
        Self(Mutex::new((FIRST_CREDIT, None)))
    }
}

impl Credit {
    fn grant(&self, bytes: usize) {
        let waiting = {
            let mut state = self.0.lock();
            state.0 = state.0.saturating_add(bytes);
            if bytes > 0 { state.1.take() } else { None }
        };
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }

    /// Waits until there is any, and takes at most `most`.
    async fn take(&self, most: usize) -> usize {
        poll_fn(|context| {
            let mut state = self.0.lock();
            if state.0 == 0 {
                state.1 = Some(context.waker().clone());
                return Poll::Pending;
            }
            let taken = most.min(state.0);
            state.0 -= taken;
            Poll::Ready(taken)
        })
        .await
    }
}
