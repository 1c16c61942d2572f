//! A server on a pipe: one thread reads and serves lines, another writes responses. Sometimes the
//! host reads instead of the thread (`read_handoff.rs`).
//!
//! A blocking read on a thread is the shortest path from a pipe to a handler. Unlike a task, it
//! works the same way for pipes, files and terminals on every system.

use super::{
    busy_poll::RoundTripTracker,
    direct::Direct,
    line_reader::LineReader,
    lines::Line,
    pipe_writer::PipeWriter,
    read_handoff::{ReadHandoff, read_to_end},
    runtime_reads::handoff_to_runtime,
};
use crate::transport::{
    blocked::{CUT_TIMEOUT, exit_if_blocked},
    closing::Deadline,
};
use crate::{
    engine::Limits,
    protocol::{RequestId, RpcError, envelope::Frame},
    runtime::Runtime,
    server::{
        Connection, ConversationSetup, ConversationStart, LifespanUse, Origin, Outbound, OutgoingMessage, Server,
    },
    wire_log::Transport,
};
use std::{
    fs::File,
    io,
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};
use tokio::sync::watch;

/// A running server on a pipe.
pub(in crate::transport) struct PipeServer {
    connection: Arc<Connection>,
    writer: Arc<PipeWriter>,
    ended: watch::Receiver<bool>,
    /// Released when it has ended.
    lifespan: Arc<LifespanUse>,
    /// True if the program ends with this server.
    in_foreground: Arc<AtomicBool>,
}

/// Time for calls to complete after the input has ended. Clients wait about twice as long before
/// they kill the process.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Time for the client to read the last answers.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_millis(500);
/// Messages accepted from a client that does not read, once the queue of answers is full. Each is
/// refused as busy; beyond this number the connection ends. A long message counts once per KiB,
/// because its refusal contains its id.
const MAX_MESSAGES_WHILE_CONGESTED: usize = 100_000;

impl PipeServer {
    /// Serves a pipe until its input ends. `handoff` is for a host that sometimes reads the pipe
    /// itself; without one, the runtime does.
    ///
    /// # Errors
    /// If no threads can be started.
    pub(in crate::transport) fn start(
        server: &Server,
        runtime: Arc<dyn Runtime>,
        reader: File,
        writer: File,
        handoff: Option<Arc<ReadHandoff>>,
    ) -> io::Result<Self> {
        let round_trips = Arc::<RoundTripTracker>::default();
        let handoff = handoff.or_else(|| handoff_to_runtime(&round_trips));
        let lifespan = Arc::new(server.live(&runtime));
        let pipe = Arc::new(PipeWriter::new(Direct::of(&writer), Arc::clone(&round_trips)));
        let (transport, unrelated, origin) = (Transport::Stdio, pipe.clone(), Origin::Conversation);
        let setup = ConversationSetup { runtime, transport, unrelated, origin };
        let connection = server.connect(setup, ConversationStart::Pipe);
        let (end, ended) = watch::channel(false);
        let (lifespan, used) = (Arc::clone(&lifespan), lifespan);
        let written = end.clone();
        let (out, broken) = (Arc::clone(&pipe), Arc::clone(&connection));
        thread::Builder::new().name("trunkline-write".into()).spawn(move || {
            if let Err(error) = out.run(writer) {
                tracing::debug!(target: "trunkline::server::stdio", %error, "the reader of the pipe was closed");
            }
            broken.close();
            written.send_replace(true);
        })?;
        let limits = server.options().limits.clone();
        let (reading, answers) = (Arc::clone(&connection), Arc::clone(&pipe));
        let in_foreground = Arc::<AtomicBool>::default();
        let ends_program = Arc::clone(&in_foreground);
        thread::Builder::new().name("trunkline-read".into()).spawn(move || {
            let limit = limits.max_message_bytes;
            let handle_line = serve(Arc::clone(&reading), Arc::clone(&answers), limits);
            read_to_end(LineReader::new(reader, limit, round_trips, handle_line), handoff.as_deref());
            answers.finish_when_idle(&reading, DRAIN_TIMEOUT);
            answers.wait_until_written(LAST_ANSWERS_TIMEOUT);
            // Ended even if the client left without reading its last answers.
            end.send_replace(true);
            drop(used);
            // Done here, because the handler may block the only thread of the runtime.
            if ends_program.load(Ordering::Relaxed) {
                exit_if_blocked();
            }
        })?;
        Ok(Self { connection, writer: pipe, ended, lifespan, in_foreground })
    }

    /// Makes the program end with this server, without waiting for handlers that block their
    /// threads.
    pub(in crate::transport) fn move_to_foreground(&self) {
        self.in_foreground.store(true, Ordering::Relaxed);
    }

    /// Completes when the server has ended: its input ended, its output broke, or it was closed.
    pub(in crate::transport) async fn ended(&self) {
        self.served().await;
        self.lifespan.release().await;
    }

    /// Completes when the last response was written.
    pub(in crate::transport) async fn served(&self) {
        let mut ended = self.ended.clone();
        // An error means that the writing thread has ended.
        let _ = ended.wait_for(|ended| *ended).await;
    }

    /// Closes the server. Calls may run until the deadline and are then cancelled, unless they wait
    /// for the client, which has ended the server; their responses or errors are still written.
    /// With a zero deadline, no errors are written: the process exits, and its exit code and last
    /// output tell the client more.
    pub(in crate::transport) async fn close(&self, mut deadline: Deadline) {
        let is_exit = deadline.left().is_zero();
        if !is_exit {
            self.connection.end_input();
        }
        deadline.allows(self.connection.drain()).await;
        match is_exit {
            true => self.connection.close(),
            false => self.connection.interrupt(),
        }
        self.writer.finish();
        if !deadline.allows(self.served()).await {
            let _ = tokio::time::timeout(LAST_ANSWERS_TIMEOUT, self.served()).await;
        }
        if !is_exit {
            // Other processes find the final states of tasks in the store.
            let _ = tokio::time::timeout(CUT_TIMEOUT, self.connection.drain()).await;
        }
        self.lifespan.release().await;
    }
}

/// Returns the function that passes lines to the connection.
fn serve(
    connection: Arc<Connection>,
    answers: Arc<PipeWriter>,
    limits: Limits,
) -> impl FnMut(Line, bool) -> ControlFlow<()> + Send {
    let reply: Arc<dyn Outbound> = answers.clone();
    let mut while_congested = 0;
    move |line, more| {
        answers.set_more_requests(more);
        let (Line::Text(bytes) | Line::TooLong(bytes)) = &line;
        let weight = 1 + bytes.len() / 1024;
        let refuse = |id: Option<&RequestId>, error: &RpcError| reply.send(OutgoingMessage::error(id, error, true));
        let receive = || {
            let frame = match line {
                Line::Text(text) => Frame::parse(&text, limits.frame()),
                Line::TooLong(beginning) => {
                    let text = format!("The message is longer than {} bytes", limits.max_message_bytes);
                    Frame::unread(&beginning, RpcError::invalid_request(text))
                }
            };
            match connection.receive(frame, None, &reply) {
                Ok(expected) => answers.expect(expected),
                Err(refusal) => {
                    answers.expect(1);
                    refuse(refusal.id.as_ref(), &refusal.error);
                }
            }
        };
        if catch_unwind(AssertUnwindSafe(receive)).is_err() {
            tracing::error!(target: "trunkline::server::stdio", "panic while handling a message");
            refuse(None, &RpcError::internal());
        }
        while_congested = if answers.is_congested() { while_congested + weight } else { 0 };
        if while_congested > MAX_MESSAGES_WHILE_CONGESTED {
            tracing::error!(target: "trunkline::server::stdio", "the client keeps sending without reading responses: closing the connection");
            answers.give_up();
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
