//! Connects a client and a server in the same process: with real envelopes, projection and
//! validation, but without I/O.

use crate::{
    client::{Connector, Inbox, Link, LinkFailure, LinkMessage},
    protocol::envelope::Frame,
    runtime::{BoxedTask, Runtime},
    server::{
        Arrival, ArrivalReply, Connection, ConversationSetup, ConversationStart, LifespanUse, Origin, Outbound,
        OutgoingMessage, Server, TestSession,
    },
    wire_log::Transport,
};
use bytes::Bytes;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::mpsc;

/// With more messages in the queue, the client is behind.
const MAX_QUEUED: usize = 256;

/// Connects to a server in this process.
pub struct MemoryConnector {
    server: Server,
    runtime: Arc<dyn Runtime>,
    test_session: Option<Arc<TestSession>>,
}

impl MemoryConnector {
    /// Connects to a server in this process.
    pub fn new(server: Server, runtime: Arc<dyn Runtime>) -> Self {
        Self { server, runtime, test_session: None }
    }

    /// Sets the test session.
    #[doc(hidden)]
    pub fn in_test_session(self, test_session: &Arc<TestSession>) -> Self {
        Self { test_session: Some(Arc::clone(test_session)), ..self }
    }
}

impl Connector for MemoryConnector {
    fn connect(&self, inbox: Arc<dyn Inbox>) -> BoxedTask<Result<Arc<dyn Link>, LinkFailure>> {
        // Queues, so that neither side runs on the other's stack. Admission on both sides bounds
        // them.
        let (to_server, mut from_client) = mpsc::unbounded_channel::<LinkMessage>();
        let (to_client, mut from_server) = mpsc::unbounded_channel::<Bytes>();
        let queued = Arc::new(AtomicUsize::new(0));
        let out: Arc<dyn Outbound> = Arc::new(ToClient { messages: to_client, queued: Arc::clone(&queued) });
        let setup = ConversationSetup {
            runtime: Arc::clone(&self.runtime),
            transport: Transport::Memory,
            unrelated: Arc::clone(&out),
            origin: Origin::Server,
        };
        let connection = self.server.connect(setup, ConversationStart::Session);
        if let Some(test_session) = &self.test_session {
            connection.observe_in(test_session);
        }
        let lifespan = Arc::new(self.server.live(&self.runtime));
        let (opening, used) = (Arc::clone(&lifespan), Arc::clone(&lifespan));
        let bounds = self.server.options().limits.frame();
        let served = Arc::clone(&connection);
        self.runtime.spawn(Box::pin(async move {
            while let Some(LinkMessage { bytes, caller, .. }) = from_client.recv().await {
                let reply = match caller {
                    Some(caller) => ArrivalReply::channel(Arc::clone(&out), Arrival::within(caller.span, caller.cause)),
                    None => Arc::clone(&out),
                };
                if let Err(refusal) = served.receive(Frame::parse(&bytes, bounds), None, &reply) {
                    out.send(OutgoingMessage::error(refusal.id.as_ref(), &refusal.error, true));
                }
            }
            // The client was closed or dropped, so its requests are cancelled.
            served.close();
            drop(used);
        }));
        self.runtime.spawn(Box::pin(async move {
            while let Some(frame) = from_server.recv().await {
                inbox.message(frame);
                queued.fetch_sub(1, Ordering::Relaxed);
            }
        }));
        let link: Arc<dyn Link> = Arc::new(MemoryLink { to_server, connection, lifespan });
        Box::pin(async move {
            match opening.open().await {
                Ok(()) => Ok(link),
                Err(error) => Err(LinkFailure::Unreachable(error.to_string())),
            }
        })
    }

    /// A server in this process ends its connections only when it closes.
    fn reconnects(&self) -> bool {
        false
    }

    fn is_pipe(&self) -> bool {
        true
    }

    fn is_of_server(&self, identity: usize) -> bool {
        self.server.identity() == identity
    }

    fn transport(&self) -> Transport {
        Transport::Memory
    }
}

struct MemoryLink {
    to_server: mpsc::UnboundedSender<LinkMessage>,
    connection: Arc<Connection>,
    lifespan: Arc<LifespanUse>,
}

impl Link for MemoryLink {
    fn send(&self, message: LinkMessage) {
        // The receiver lives as long as its task. A closed connection sends no responses, and the
        // client has ended its requests.
        let _ = self.to_server.send(message);
    }

    fn close(&self, _: Duration) -> BoxedTask {
        self.connection.close();
        let lifespan = Arc::clone(&self.lifespan);
        Box::pin(async move { lifespan.release().await })
    }
}

struct ToClient {
    messages: mpsc::UnboundedSender<Bytes>,
    queued: Arc<AtomicUsize>,
}

impl Outbound for ToClient {
    fn send(&self, outgoing: OutgoingMessage) {
        match outgoing {
            OutgoingMessage::Response { message, .. }
            | OutgoingMessage::Notification(message)
            | OutgoingMessage::Request(message) => {
                self.queued.fetch_add(1, Ordering::Relaxed);
                let _ = self.messages.send(message);
            }
            OutgoingMessage::Abandoned => {}
        }
    }

    /// Otherwise, handlers that report progress faster than the client reads would fill the queue.
    fn is_behind(&self) -> bool {
        self.queued.load(Ordering::Relaxed) > MAX_QUEUED
    }
}
