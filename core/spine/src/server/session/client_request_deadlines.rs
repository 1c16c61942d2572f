//! Cancels client requests that have timed out or are no longer needed.

use super::{
    connection::Connection,
    conversation_observers::LogContext,
    outbound::{Outbound, OutgoingMessage},
};
use crate::{protocol::RequestId, race, runtime::Promise, server::handlers::ClientRequestError};
use std::{
    sync::{Arc, Weak},
    time::Instant,
};

impl Connection {
    /// Cancels the request at its deadline, which progress may have extended, unless it ends
    /// earlier. Doesn't keep the stream alive: it may close when the call is over, and then the
    /// client is not notified.
    pub(in crate::server) fn watch_deadline(
        self: &Arc<Self>,
        id: RequestId,
        mut deadline: Instant,
        reply: Option<Weak<dyn Outbound>>,
        ended: Arc<Promise<()>>,
    ) {
        let (connection, runtime) = (Arc::downgrade(self), Arc::clone(self.runtime()));
        self.runtime().spawn(Box::pin(async move {
            loop {
                if race::unless(ended.kept(), runtime.sleep_until(deadline)).await.is_none() {
                    return;
                }
                let Some(connection) = connection.upgrade() else { return };
                let moved = connection.conversation().deadline_of(&id);
                match moved {
                    None => return,
                    Some(later) if later > runtime.now() => deadline = later,
                    Some(_) => {
                        let reply = reply.as_ref().and_then(Weak::upgrade);
                        let error = ClientRequestError::Timeout;
                        return connection.cancel_client_request(&id, "timed out", reply.as_deref(), error);
                    }
                }
            }
        }));
    }

    /// Cancels a client request that is no longer needed, and notifies the client.
    pub(in crate::server) fn cancel_client_request(
        &self,
        id: &RequestId,
        reason: &str,
        reply: Option<&dyn Outbound>,
        error: ClientRequestError,
    ) {
        let request = {
            let _in_order = self.client_requests.in_order();
            let cancelled = self.conversation().cancel_client_request(id, reason);
            cancelled.map(|(request, notification)| {
                if let Some(reply) = reply {
                    let outgoing = OutgoingMessage::Notification(notification);
                    self.send(reply, outgoing, LogContext::default(), "");
                }
                request
            })
        };
        if let Some(request) = request {
            (request.on_response)(Err(error));
        }
    }
}
