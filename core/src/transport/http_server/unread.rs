//! Limits the unread responses of one HTTP/2 connection, so that they neither pile up in memory nor
//! occupy handlers that other connections need.
//!
//! The size of a response is unknown before its handler has run. So each pending request counts as
//! a response of typical size for its connection, until it is answered or has run for a while.

use super::{connection_limits::Active, response_body::HttpBody};
use crate::sync::Mutex;
use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame, SizeHint};
use std::{
    convert::Infallible,
    future::Future,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{sync::Notify, time::timeout};

/// Maximum number of unread response bytes; beyond it, requests wait.
const MAX_UNREAD: usize = 16 << 20;
/// The assumed size of the first responses.
const FIRST: usize = 1 << 20;
/// How long a pending request counts. Calls may take long and must not block others.
const YOUNG: Duration = Duration::from_millis(100);
/// Maximum number of bytes passed to the connection at a time; these are unread, too.
const PIECE: usize = 64 << 10;

pub(super) struct UnreadResponses {
    state: Mutex<UnreadState>,
    freed: Notify,
}

struct UnreadState {
    bytes: usize,
    /// Pending requests that count.
    young: usize,
    /// The size of the largest recent response.
    typical: usize,
}

impl UnreadState {
    fn has_room(&self) -> bool {
        let expected = self.young.saturating_add(1).saturating_mul(self.typical);
        let alone = self.young == 0 && self.bytes <= MAX_UNREAD;
        alone || self.bytes.saturating_add(expected) <= MAX_UNREAD
    }
}

impl UnreadResponses {
    pub(super) fn new() -> Arc<Self> {
        let state = UnreadState { bytes: 0, young: 0, typical: FIRST };
        Arc::new(Self { state: Mutex::new(state), freed: Notify::new() })
    }

    /// Runs a request as soon as there is capacity for its response.
    pub(super) async fn respond(
        self: &Arc<Self>,
        respond: impl Future<Output = Response<HttpBody>>,
    ) -> Response<UnreadBody> {
        let mut young = Some(self.enter().await);
        let mut respond = pin!(respond);
        let response = match timeout(YOUNG, respond.as_mut()).await {
            Ok(response) => response,
            Err(_) => {
                young = None;
                respond.await
            }
        };
        let left = response.body().ready_bytes();
        {
            let mut state = self.state.lock();
            state.bytes += left;
            state.typical = left.max(state.typical / 2);
        }
        drop(young);
        let unread = Some(Arc::clone(self));
        response.map(|body| UnreadBody { body, rest: Bytes::new(), left, unread, request: None })
    }

    async fn enter(self: &Arc<Self>) -> YoungRequest {
        loop {
            let freed = self.freed.notified();
            {
                let mut state = self.state.lock();
                if state.has_room() {
                    state.young += 1;
                    break;
                }
            }
            freed.await;
        }
        // There may be capacity for another request.
        self.freed.notify_one();
        YoungRequest(Arc::clone(self))
    }

    fn change(&self, change: impl FnOnce(&mut UnreadState)) {
        change(&mut self.state.lock());
        self.freed.notify_one();
    }
}

struct YoungRequest(Arc<UnreadResponses>);

impl Drop for YoungRequest {
    fn drop(&mut self) {
        self.0.change(|state| state.young -= 1);
    }
}

/// The body of a response, in pieces.
pub(super) struct UnreadBody {
    body: HttpBody,
    /// The remaining bytes of the current frame.
    rest: Bytes,
    /// Bytes that count as unread.
    left: usize,
    /// `None` if the body is passed on unchanged.
    unread: Option<Arc<UnreadResponses>>,
    /// The request, which lasts until its response has been read or abandoned.
    request: Option<Active>,
}

impl UnreadBody {
    /// A body that is passed on unchanged.
    pub(super) fn whole(body: HttpBody) -> Self {
        Self { body, rest: Bytes::new(), left: 0, unread: None, request: None }
    }

    /// Sets the request.
    pub(super) fn during(mut self, request: Active) -> Self {
        self.request = Some(request);
        self
    }

    fn take(&mut self) -> Bytes {
        let piece = self.rest.split_to(self.rest.len().min(PIECE));
        self.read(piece.len().min(self.left));
        piece
    }

    fn read(&mut self, bytes: usize) {
        if let (Some(unread), 1..) = (&self.unread, bytes) {
            self.left -= bytes;
            unread.change(|state| state.bytes -= bytes);
        }
    }
}

impl Body for UnreadBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.unread.is_none() {
            return Pin::new(&mut self.body).poll_frame(context);
        }
        if self.rest.is_empty() {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                other => return other,
            }
        }
        Poll::Ready(Some(Ok(Frame::data(self.take()))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let exact = self.body.size_hint().exact().map(|bytes| bytes + self.rest.len() as u64);
        exact.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for UnreadBody {
    fn drop(&mut self) {
        self.read(self.left);
    }
}
