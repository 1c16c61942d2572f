//! Requests of the server's own to the client of a call: only the handshake era has them (RPC-31).

use super::{
    call::CallInner,
    connection::Connection,
    outbound::{Outbound, Outgoing},
};
use crate::{
    engine::{Patience, later},
    protocol::{RawJson, RequestId, RpcError},
};
use std::{
    sync::{Arc, Weak},
    time::Instant,
};

/// Takes the outcome of a request, once.
pub(crate) type Asked = Box<dyn FnOnce(Result<RawJson, AskError>) + Send>;

/// Why a client gave no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AskError {
    /// The client answered with an error, or the revision has no such request.
    #[error("{0}")]
    Refused(RpcError),
    /// Cancelled by the handler; the client was told.
    #[error("The request was cancelled")]
    Cancelled,
    /// No answer in time; the client was told to cancel.
    #[error("The client did not answer in time")]
    Timeout,
    /// The client cannot be asked here: answers are JSON only, or there is no session.
    #[error(
        "The client of this call cannot be asked: HTTP without sessions, or without event streams, has no way back"
    )]
    NoWayBack,
    /// The connection is closed.
    #[error("The connection is closed")]
    Closed,
}

impl Connection {
    /// Asks the client of a call, on that call's stream (HTTP-17). The outcome comes exactly once, unless this fails.
    pub(super) fn ask(
        self: &Arc<Self>,
        call: &CallInner,
        patience: Patience,
        method: &str,
        params: Option<&RawJson>,
        asked: Asked,
    ) -> Result<RequestId, AskError> {
        if self.is_closed() {
            return Err(AskError::Closed);
        }
        if !call.reply.can_ask() {
            return Err(AskError::NoWayBack);
        }
        let revision = call.scope.revision;
        let now = self.runtime().now();
        let (id, message) =
            self.conversation().ask(now, patience, revision, method, params, asked).map_err(AskError::Refused)?;
        let outgoing = Outgoing::Request(message);
        self.log_sent(&outgoing, Some(revision), method);
        call.reply.send(outgoing);
        self.watch(id.clone(), later(now, patience.timeout), Arc::clone(&call.reply));
        Ok(id)
    }

    /// Ends the request when its time is over. Progress may have moved the deadline meanwhile.
    fn watch(self: &Arc<Self>, id: RequestId, deadline: Instant, reply: Arc<dyn Outbound>) {
        let connection: Weak<Self> = Arc::downgrade(self);
        let runtime = Arc::clone(self.runtime());
        let task = {
            let runtime = Arc::clone(&runtime);
            async move {
                let mut deadline = deadline;
                loop {
                    runtime.sleep_until(deadline).await;
                    let Some(connection) = connection.upgrade() else { return };
                    let moved = connection.conversation().deadline_of(&id);
                    match moved {
                        None => return,
                        Some(later) if later > runtime.now() => deadline = later,
                        Some(_) => return connection.give_up(&id, "timed out", &*reply, AskError::Timeout),
                    }
                }
            }
        };
        runtime.spawn(Box::pin(task));
    }

    /// Ends a request that is no longer wanted, and tells the client.
    pub(super) fn give_up(&self, id: &RequestId, reason: &str, reply: &dyn Outbound, error: AskError) {
        let given_up = self.conversation().cancel_asked(id, reason);
        if let Some((asked, told)) = given_up {
            let outgoing = Outgoing::Notification(told);
            self.log_sent(&outgoing, None, "");
            reply.send(outgoing);
            asked(Err(error));
        }
    }
}
