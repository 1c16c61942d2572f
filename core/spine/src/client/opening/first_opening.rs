//! The opening of a connection by its first request (the option `lazy`).

use crate::{
    client::{Client, ClientError, LinkFailure, ServerDescription, inner::ClientInner},
    connection_state::ConnectionState,
    engine::later,
    protocol::{RawJson, method},
    runtime::Promise,
    wire_log::Transport,
};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// An attempt in progress. When its task ends, for whatever reason, the waiting requests get the
/// outcome.
struct Attempt {
    client: Arc<ClientInner>,
    outcome: Result<(), ClientError>,
}

impl Client {
    /// Returns whether the connection was opened. If it was lost since then, the next request
    /// reconnects.
    #[doc(hidden)]
    pub fn was_opened(&self) -> bool {
        self.inner.was_opened.load(Ordering::Acquire)
    }

    /// The state of the connection.
    #[doc(hidden)]
    pub fn connection_state(&self) -> ConnectionState {
        match self.was_opened() {
            _ if self.inner.check_open().is_err() => ConnectionState::Closed,
            true if self.lost().is_none() => ConnectionState::Connected,
            true => ConnectionState::Down,
            false if self.inner.reconnecting.lock().has_failed() => ConnectionState::Down,
            false if self.inner.first_opening.lock().waiting.is_empty() => ConnectionState::Idle,
            false => ConnectionState::Connecting,
        }
    }

    /// Opens the connection if no request has opened it yet. An attempt that follows failed ones
    /// begins after a pause, and all who wait share it.
    ///
    /// # Errors
    /// As for [`Client::open`].
    #[doc(hidden)]
    pub async fn opened(&self) -> Result<(), ClientError> {
        if self.was_opened() {
            return Ok(());
        }
        let (inner, opened) = (&self.inner, Arc::new(Promise::default()));
        inner.check_open()?;
        let pause = {
            let mut first = inner.first_opening.lock();
            if self.was_opened() {
                return Ok(());
            }
            let waiting = first.waiting.len();
            if waiting >= inner.options.max_in_flight {
                return Err(ClientError::Busy(format!("{waiting} requests are already waiting for the connection")));
            }
            first.waiting.push(Arc::clone(&opened));
            (waiting == 0).then(|| inner.reconnecting.lock().pause(inner.runtime.now()))
        };
        if let Some(pause) = pause {
            // In a separate task, because others may still wait for it when the caller no longer
            // does.
            let outcome = Err(ClientError::Link(LinkFailure::RuntimeEnded));
            let attempt = Attempt { client: Arc::clone(inner), outcome };
            inner.runtime.spawn(Box::pin(attempt.run(pause)));
        }
        opened.kept().await
    }

    /// The description of the server, which is requested if the revision was pinned and the
    /// description has not arrived yet.
    ///
    /// # Errors
    /// As for [`Client::request`].
    #[doc(hidden)]
    pub async fn described(&self) -> Result<&ServerDescription, ClientError> {
        self.opened().await?;
        if self.server().declared().is_none() {
            let result = self.request(method::DISCOVER, None, &Default::default()).await?;
            self.describe(&result);
        }
        Ok(self.server())
    }

    fn describe(&self, result: &RawJson) {
        let _ = self.inner.described.set(ServerDescription::read(self.server_label(), self.revision(), result));
    }
}

impl Attempt {
    async fn run(mut self, pause: Duration) {
        let client = Arc::clone(&self.client);
        if !pause.is_zero() {
            client.runtime.sleep_until(later(client.runtime.now(), pause)).await;
        }
        if client.closed.load(Ordering::Acquire) {
            self.outcome = Err(ClientError::Closed);
            return;
        }
        let span = client.first_opening.lock().span.take();
        self.outcome = client.open_now(span).await;
        let Err(error) = &self.outcome else { return };
        match error {
            // The connection was lost as soon as it was open: the next request reconnects.
            ClientError::Link(failure) if client.was_opened.load(Ordering::Acquire) => client.lose(failure),
            _ => {
                client.reconnecting.lock().lost(client.runtime.now());
                let closing = client.close_unopened();
                // The waiting requests fail at once, unless the program's transport must be closed
                // before it is opened again.
                if client.transport == Transport::Channel {
                    closing.await;
                }
            }
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let waiting = std::mem::take(&mut self.client.first_opening.lock().waiting);
        waiting.iter().for_each(|opened| opened.keep(self.outcome.clone()));
    }
}
