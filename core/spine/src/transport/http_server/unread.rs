//! Limits the unread responses of one HTTP/2 connection, so that they neither pile up in memory nor
//! occupy handlers that other connections need.
//!
//! The size of a response is unknown before its handler has run. So each pending request counts as
//! a response of typical size for its connection, until it is answered or has run for a while.

use super::{
    activity::{Active, Activity},
    response_body::HttpBody,
};
use crate::{on_drop::OnDrop, sync::Mutex};
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
use tokio::{
    sync::{Mutex as AsyncMutex, Notify},
    time::timeout,
};

/// Maximum number of unread response bytes; beyond it, requests wait.
const MAX_UNREAD: usize = 16 << 20;
/// The assumed size of the first responses.
const INITIAL_RESPONSE_BYTES: usize = 1 << 20;
/// How long a pending request counts. Calls may take long and must not block others.
const MAX_PENDING_TIME: Duration = Duration::from_millis(100);
/// The size of a chunk passed to the connection: that of a frame, because a chunk counts as unread
/// until the connection takes the next one.
const MAX_CHUNK_BYTES: usize = 16 << 10;

pub(super) struct UnreadResponses {
    state: Mutex<UnreadState>,
    /// Held by the request that waits for capacity. The others wait behind it in their order, in
    /// which the client may read the responses.
    turn: AsyncMutex<()>,
    freed: Notify,
    activity: Arc<Activity>,
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
    pub(super) fn new(activity: &Arc<Activity>) -> Arc<Self> {
        let state = UnreadState { bytes: 0, young: 0, typical: INITIAL_RESPONSE_BYTES };
        let (turn, freed, activity) = (AsyncMutex::default(), Notify::new(), Arc::clone(activity));
        Arc::new(Self { state: Mutex::new(state), turn, freed, activity })
    }

    /// Runs a request as soon as there is capacity for its response.
    pub(super) async fn respond(
        self: &Arc<Self>,
        respond: impl Future<Output = Response<HttpBody>>,
        request: Active,
    ) -> Response<UnreadBody> {
        let mut young = Some(self.enter().await);
        let mut respond = pin!(respond);
        let response = match timeout(MAX_PENDING_TIME, respond.as_mut()).await {
            Ok(response) => response,
            Err(_) => {
                young = None;
                respond.await
            }
        };
        let left = response.body().ready_bytes();
        {
            let mut state = self.state.lock();
            if state.bytes == 0 && left > 0 {
                self.activity.set_unread(true);
            }
            state.bytes += left;
            state.typical = left.max(state.typical / 2);
        }
        drop(young);
        let unread = Some(Arc::clone(self));
        response.map(|body| UnreadBody { body, rest: Bytes::new(), left, passed: None, unread, _request: request })
    }

    /// Waits for capacity. The request counts until the guard is dropped.
    async fn enter(&self) -> OnDrop<impl FnOnce()> {
        let _turn = self.turn.lock().await;
        loop {
            let freed = self.freed.notified();
            {
                let mut state = self.state.lock();
                if state.has_room() {
                    state.young += 1;
                    return OnDrop::new(move || self.change(|state| state.young -= 1));
                }
            }
            freed.await;
        }
    }

    /// Called when the client has read bytes, or will not read them.
    fn release(&self, bytes: usize) {
        self.change(|state| {
            state.bytes -= bytes;
            self.activity.set_unread(state.bytes > 0);
        });
    }

    fn change(&self, change: impl FnOnce(&mut UnreadState)) {
        change(&mut self.state.lock());
        self.freed.notify_one();
    }
}

/// The body of a response, in pieces.
pub(super) struct UnreadBody {
    body: HttpBody,
    /// The remaining bytes of the current frame.
    rest: Bytes,
    /// Bytes that count as unread.
    left: usize,
    /// Unread bytes that the connection has taken but not yet sent.
    passed: Option<usize>,
    /// `None` if the body is passed on unchanged.
    unread: Option<Arc<UnreadResponses>>,
    /// The request, which lasts until its response has been read or abandoned.
    _request: Active,
}

impl UnreadBody {
    /// A body that is passed on unchanged.
    pub(super) fn whole(body: HttpBody, request: Active) -> Self {
        Self { body, rest: Bytes::new(), left: 0, passed: None, unread: None, _request: request }
    }

    fn release(&mut self, bytes: usize) {
        self.left -= bytes;
        if let Some(unread) = &self.unread {
            unread.release(bytes);
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
        if let Some(sent) = self.passed.take() {
            self.release(sent);
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
        let length = self.rest.len().min(MAX_CHUNK_BYTES);
        self.passed = Some(length.min(self.left));
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
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
        if self.left > 0 {
            self.release(self.left);
        }
    }
}
