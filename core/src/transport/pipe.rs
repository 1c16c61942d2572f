//! A server on a pipe: a thread that reads lines and serves them, unless the host reads instead (`lending.rs`), and a thread that
//! writes answers.
//!
//! Threads, not tasks: a blocking read is the shortest way from a pipe to a handler, and works alike for pipes, files and
//! terminals on every system.

use super::{
    closing::Deadline,
    direct::{AT_ONCE, Direct},
    intake::Intake,
    lending::Lender,
    lines::{Line, MAX_QUEUED},
    turns::Turns,
};
use crate::sync::{Condvar, Mutex};
use crate::{
    engine::Limits,
    protocol::{RequestId, RpcError, envelope::Frame},
    runtime::Runtime,
    server::{Connection, Opening, Origin, Outbound, Outgoing, Server},
    wire_log::Transport,
};
use std::{
    fs::File,
    io::{self, Write},
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicIsize, Ordering},
    },
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
    /// Serves a pipe until its input ends. `direct`: the same as `writer`, where it can be written to without blocking.
    /// `lender`: for a host that reads the pipe itself at times.
    ///
    /// # Errors
    /// If no threads can be started.
    pub(crate) fn start(
        server: &Server,
        runtime: Arc<dyn Runtime>,
        reader: File,
        writer: impl Write + Send + 'static,
        direct: Option<Direct>,
        lender: Option<Arc<Lender>>,
    ) -> io::Result<Self> {
        let turns = Arc::<Turns>::default();
        let pipe = Arc::new(PipeWriter { direct, turns: Arc::clone(&turns), ..PipeWriter::default() });
        let connection =
            server.connect(runtime, Transport::Stdio, pipe.clone(), Opening::Session, Origin::Conversation);
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
            let limit = limits.max_message_bytes;
            Intake::new(reader, limit, turns, serve(Arc::clone(&reading), Arc::clone(&answers), limits))
                .run(lender.as_deref());
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

    /// Ends the server: calls may go on until the deadline, then they are cancelled. What is answered is written.
    pub(crate) async fn close(&self, mut deadline: Deadline) {
        deadline.allows(self.connection.drain()).await;
        self.connection.close();
        self.writer.finish();
        if !deadline.allows(self.ended()).await {
            let _ = tokio::time::timeout(LAST_WORDS, self.ended()).await;
        }
    }
}

/// Takes what is read to the connection.
fn serve(
    connection: Arc<Connection>,
    answers: Arc<PipeWriter>,
    limits: Limits,
) -> impl FnMut(Line, bool) -> ControlFlow<()> + Send {
    let reply: Arc<dyn Outbound> = answers.clone();
    let mut unheard = 0;
    move |line, more| {
        answers.more.store(more, Ordering::Relaxed);
        let refuse = |id: Option<&RequestId>, error: &RpcError| reply.send(Outgoing::error(id, error, true));
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
    }
}

/// The queue of what goes out.
#[derive(Default)]
struct PipeWriter {
    queue: Mutex<Queue>,
    news: Condvar,
    direct: Option<Direct>,
    turns: Arc<Turns>,
    /// Answers that are still to come. Only a hint, for the choice between writing at once and writing many together.
    expected: AtomicIsize,
    /// More has been read than has been served.
    more: AtomicBool,
}

#[derive(Default)]
struct Queue {
    /// What waits to be written, line by line.
    text: Vec<u8>,
    /// The thread writes what it took before.
    writing: bool,
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
                let nothing = |queue: &mut Queue| queue.text.is_empty() && !queue.finished;
                let mut queue = self.news.wait_while(self.queue.lock(), nothing);
                if queue.text.is_empty() {
                    return Ok(());
                }
                text.clear();
                std::mem::swap(&mut text, &mut queue.text);
                queue.writing = true;
            }
            let written = writer.write_all(&text).and_then(|()| writer.flush());
            let mut queue = self.queue.lock();
            queue.writing = false;
            if let Err(error) = written {
                queue.broken = true;
                queue.text = Vec::new();
                return Err(error);
            }
            drop(queue);
            // One huge answer should not cost its size for ever.
            text.shrink_to(1 << 20);
        }
    }

    fn expect(&self, answers: usize) {
        self.expected.fetch_add(answers.try_into().unwrap_or(isize::MAX), Ordering::Relaxed);
    }

    /// An answer is done. Whether it was the last one for now, so that waiting for others to write with it is in vain.
    fn is_last(&self) -> bool {
        self.expected.fetch_sub(1, Ordering::Relaxed) <= 1 && !self.more.load(Ordering::Relaxed)
    }

    fn push(&self, message: &[u8], droppable: bool, at_once: bool) {
        let mut queue = self.queue.lock();
        if queue.broken || queue.finished || (droppable && queue.text.len() > MAX_QUEUED) {
            return;
        }
        queue.text.extend_from_slice(message);
        queue.text.push(b'\n');
        let length = message.len() + 1;
        if let Some(direct) = &self.direct
            && at_once
            && !queue.writing
            && queue.text.len() == length
            && length <= AT_ONCE
        {
            self.turns.pass();
            let written = direct.write(&queue.text);
            queue.text.drain(..written);
            if written == length {
                return;
            }
        }
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
        queue.text = Vec::new();
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
            Outgoing::Response { message, .. } => self.push(&message, false, self.is_last()),
            Outgoing::Request(message) => self.push(&message, false, true),
            Outgoing::Notification(message) => self.push(&message, true, false),
            Outgoing::Abandoned => drop(self.is_last()),
        }
    }

    fn is_congested(&self) -> bool {
        self.queue.lock().text.len() > MAX_QUEUED
    }
}
