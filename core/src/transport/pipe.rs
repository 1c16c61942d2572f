//! A server on a pipe: a thread that reads lines and serves them, and a thread that writes answers.
//!
//! Threads, not tasks: a blocking read is the shortest way from a pipe to a handler, and works alike for pipes, files and
//! terminals on every system.

use super::lines::{Line, LineCutter, MAX_QUEUED};
use crate::sync::{Condvar, Mutex};
use crate::{
    protocol::{RequestId, RpcError, envelope::Frame},
    runtime::Runtime,
    server::{Connection, Opening, Outbound, Outgoing, Server},
    wire_log::Transport,
};
use bytes::Bytes;
use std::{
    io::{self, Read, Write},
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tokio::sync::watch;

/// A running server on a pipe.
pub(crate) struct PipeServer {
    connection: Arc<Connection>,
    writer: Arc<PipeWriter>,
    ended: watch::Receiver<bool>,
}

/// How long calls may go on after the input ended: whoever closed it waits about twice as long before it uses force.
const AFTER_END: Duration = Duration::from_secs(1);
/// How long the last answers may take to be read.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Messages of a client that reads nothing, once [`MAX_QUEUED`] bytes wait for it: each is refused as busy, and then it is let go.
const MAX_UNHEARD: usize = 100_000;

impl PipeServer {
    /// Serves a pipe until its input ends.
    ///
    /// # Errors
    /// If no threads can be started.
    pub(crate) fn start(
        server: &Server,
        runtime: Arc<dyn Runtime>,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> io::Result<Self> {
        let pipe = Arc::new(PipeWriter::default());
        let connection = server.connect(runtime, Transport::Stdio, pipe.clone(), Opening::Session);
        let (end, ended) = watch::channel(false);
        let written = end.clone();
        let (out, broken) = (Arc::clone(&pipe), Arc::clone(&connection));
        thread::Builder::new().name("trunkline-write".into()).spawn(move || {
            if let Err(error) = out.run(writer) {
                tracing::debug!(target: "trunkline", "the pipe's reader is gone: {error}");
            }
            broken.close();
            written.send_replace(true);
        })?;
        let limits = server.options().limits.clone();
        let (reading, answers) = (Arc::clone(&connection), Arc::clone(&pipe));
        thread::Builder::new().name("trunkline-read".into()).spawn(move || {
            let reply: Arc<dyn Outbound> = answers.clone();
            let refuse = |id: Option<&RequestId>, error: &RpcError| reply.send(Outgoing::error(id, error, true));
            let receive = |line| match line {
                Line::Text(text) => {
                    if let Err(refusal) = reading.receive(Frame::parse(&text, limits.max_nesting), None, &reply) {
                        refuse(refusal.id.as_ref(), &refusal.error);
                    }
                }
                Line::TooLong(_) => {
                    let text = format!("The message is longer than {} bytes", limits.max_message_bytes);
                    refuse(None, &RpcError::invalid_request(text));
                }
            };
            let mut unheard = 0;
            read_lines(reader, limits.max_message_bytes, |line| {
                if catch_unwind(AssertUnwindSafe(|| receive(line))).is_err() {
                    tracing::error!(target: "trunkline", "a panic while a message was read");
                    refuse(None, &RpcError::internal());
                }
                unheard = if answers.is_congested() { unheard + 1 } else { 0 };
                if unheard > MAX_UNHEARD {
                    tracing::error!(target: "trunkline", "the client sends, but does not read what it is answered");
                    answers.give_up();
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            });
            answers.finish_when_idle(&reading, AFTER_END);
            answers.wait_until_written(LAST_WORDS);
            // A client that left without reading its last answers does not keep this server alive.
            end.send_replace(true);
        })?;
        Ok(Self { connection, writer: pipe, ended })
    }

    /// Completes when the server has ended: its input ended, its output broke, or it was closed.
    pub(crate) async fn ended(&self) {
        let mut ended = self.ended.clone();
        // An error means that the writer's thread is gone, which is an end too.
        let _ = ended.wait_for(|ended| *ended).await;
    }

    /// Ends the server: calls may go on for `patience`, then they are cancelled. What is answered is written.
    pub(crate) async fn close(&self, patience: Duration) {
        let _ = tokio::time::timeout(patience, self.connection.drain()).await;
        self.connection.close();
        self.writer.finish();
        let _ = tokio::time::timeout(patience.max(Duration::from_millis(100)), self.ended()).await;
    }
}

/// Reads until the input ends, or `serve` has enough.
fn read_lines(mut reader: impl Read, limit: usize, mut serve: impl FnMut(Line) -> ControlFlow<()>) {
    let mut cutter = LineCutter::new(limit);
    let mut chunk = vec![0; 64 * 1024];
    loop {
        match reader.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => cutter.extend(&chunk[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                tracing::debug!(target: "trunkline", "the pipe broke: {error}");
                break;
            }
        }
        while let Some(line) = cutter.next_line() {
            if serve(line).is_break() {
                return;
            }
        }
    }
    if let Some(text) = cutter.rest() {
        let _ = serve(Line::Text(text));
    }
}

/// The queue of what goes out.
#[derive(Default)]
struct PipeWriter {
    queue: Mutex<Queue>,
    news: Condvar,
}

#[derive(Default)]
struct Queue {
    messages: Vec<Bytes>,
    bytes: usize,
    /// Nothing is added any more.
    finished: bool,
    /// Nothing can be written any more.
    broken: bool,
    /// The writer has ended.
    written: bool,
}

impl PipeWriter {
    fn run(&self, writer: impl Write) -> io::Result<()> {
        let result = self.write(writer);
        self.queue.lock().written = true;
        self.news.notify_all();
        result
    }

    fn write(&self, mut writer: impl Write) -> io::Result<()> {
        let mut text = Vec::new();
        loop {
            {
                let nothing = |queue: &mut Queue| queue.messages.is_empty() && !queue.finished;
                let mut queue = self.news.wait_while(self.queue.lock(), nothing);
                if queue.messages.is_empty() {
                    return Ok(());
                }
                queue.bytes = 0;
                text.clear();
                for message in queue.messages.drain(..) {
                    text.extend_from_slice(&message);
                    text.push(b'\n');
                }
            }
            let written = writer.write_all(&text).and_then(|()| writer.flush());
            if let Err(error) = written {
                let mut queue = self.queue.lock();
                queue.broken = true;
                queue.messages.clear();
                return Err(error);
            }
            // One huge answer should not cost its size for ever.
            text.shrink_to(1 << 20);
        }
    }

    fn push(&self, message: Bytes, droppable: bool) {
        let mut queue = self.queue.lock();
        if queue.broken || queue.finished || (droppable && queue.bytes > MAX_QUEUED) {
            return;
        }
        queue.bytes += message.len();
        queue.messages.push(message);
        self.news.notify_all();
    }

    fn finish(&self) {
        self.queue.lock().finished = true;
        self.news.notify_all();
    }

    /// Lets a client go that does not read.
    fn give_up(&self) {
        let mut queue = self.queue.lock();
        queue.broken = true;
        queue.messages = Vec::new();
    }

    /// Waits until everything is written, or for a while.
    fn wait_until_written(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        drop(self.news.wait_while_until(self.queue.lock(), deadline, |queue| !queue.written));
    }

    /// Ends the output when every call is answered, or the time is over.
    fn finish_when_idle(&self, connection: &Arc<Connection>, patience: Duration) {
        let deadline = Instant::now() + patience;
        connection.end_subscriptions();
        while !connection.is_idle() && !self.queue.lock().broken && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        connection.close();
        self.finish();
    }
}

impl Outbound for PipeWriter {
    fn send(&self, outgoing: Outgoing) {
        match outgoing {
            Outgoing::Response { message, .. } | Outgoing::Request(message) => self.push(message, false),
            Outgoing::Notification(message) => self.push(message, true),
            Outgoing::Abandoned => {}
        }
    }

    fn is_congested(&self) -> bool {
        self.queue.lock().bytes > MAX_QUEUED
    }
}
