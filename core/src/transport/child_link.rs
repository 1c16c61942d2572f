//! A client's link to a child process.

use super::{
    child::{ChildCommand, ChildProcess, ChildStdin, ChildStdout, CloseDeadlines},
    stdio::{Line, LineCutter, MAX_QUEUED, ReadHandoff, RoundTripTracker},
};
use crate::sync::Mutex;
use crate::{
    client::{Connector, Inbox, Link, LinkFailure, LinkMessage},
    engine::Limits,
    protocol::{RequestId, Revision, envelope::Beginning},
    runtime::BoxedTask,
};
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWrite, AsyncWriteExt},
    runtime::Handle,
    sync::Notify,
};

/// Starts a server process for each connection.
pub struct ChildConnector {
    command: ChildCommand,
    limits: Limits,
    handoff: Option<Arc<ReadHandoff>>,
}

impl ChildConnector {
    /// Creates a connector. `handoff` is for a host that sometimes reads the pipe itself.
    pub fn new(command: ChildCommand, limits: Limits, handoff: Option<Arc<ReadHandoff>>) -> Self {
        Self { command, limits, handoff }
    }
}

impl Connector for ChildConnector {
    fn connect(&self, inbox: Arc<dyn Inbox>) -> BoxedTask<Result<Arc<dyn Link>, LinkFailure>> {
        let (command, limit) = (self.command.clone(), self.limits.max_message_bytes);
        let handoff = self.handoff.clone();
        Box::pin(async move {
            let (process, stdin, stdout) =
                ChildProcess::spawn(&command).map_err(|error| LinkFailure::NotStarted(error.to_string()))?;
            let link = Arc::new(ChildLink {
                process: Arc::new(process),
                inbox: Arc::clone(&inbox),
                stdin: stdin.clone(),
                queue: Arc::default(),
                round_trips: Arc::default(),
                closed: Arc::default(),
                runtime: Handle::current(),
            });
            let ending = EndReport { inbox, process: Arc::clone(&link.process), closed: Arc::clone(&link.closed) };
            tokio::spawn(write(stdin, Arc::clone(&link.queue), ending.clone()));
            let reading = MessageReader { ending, limit };
            match handoff {
                None => drop(tokio::spawn(reading.in_task(stdout))),
                Some(handoff) => reading
                    .on_thread(stdout, Arc::clone(&link.round_trips), handoff)
                    .map_err(|error| LinkFailure::NotStarted(format!("cannot start the reader thread: {error}")))?,
            }
            Ok(link as Arc<dyn Link>)
        })
    }

    fn is_pipe(&self) -> bool {
        true
    }

    fn identity(&self) -> Option<u64> {
        let ChildCommand { command, env, inherit_env, cwd, .. } = &self.command;
        let mut hasher = DefaultHasher::new();
        (command, env, inherit_env, cwd).hash(&mut hasher);
        Some(hasher.finish())
    }
}

struct ChildLink {
    process: Arc<ChildProcess>,
    inbox: Arc<dyn Inbox>,
    stdin: ChildStdin,
    queue: Arc<WriteQueue>,
    round_trips: Arc<RoundTripTracker>,
    closed: Arc<AtomicBool>,
    runtime: Handle,
}

/// A bounded queue of messages to write.
#[derive(Default)]
struct WriteQueue {
    waiting: Mutex<QueuedText>,
    changed: Notify,
}

#[derive(Default)]
struct QueuedText {
    text: Vec<u8>,
    /// Whether the task is writing messages from the queue.
    writing: bool,
    /// Whether a write has failed.
    broken: bool,
}

impl QueuedText {
    fn is_busy(&self) -> bool {
        self.writing || !self.text.is_empty()
    }
}

impl Link for ChildLink {
    fn send(&self, message: LinkMessage) {
        if self.closed.load(Ordering::Acquire) {
            return;
        }
        let mut waiting = self.queue.waiting.lock();
        if waiting.broken {
            return;
        }
        if waiting.text.len() > MAX_QUEUED {
            drop(waiting);
            return self.congested(&message);
        }
        let first = waiting.text.is_empty();
        waiting.text.extend_from_slice(&message.bytes);
        waiting.text.push(b'\n');
        if message.alone && first && !waiting.writing {
            self.round_trips.sent();
            let written = self.write_at_once(&waiting.text);
            waiting.text.drain(..written);
        }
        if first && !waiting.text.is_empty() {
            self.queue.changed.notify_one();
        }
    }

    fn abandon(&self, _: &RequestId) -> bool {
        false
    }

    fn settled(&self, _: Revision) {}

    fn peer(&self) -> String {
        format!("The server process \"{}\"", self.process.command())
    }

    fn process_id(&self) -> Option<u32> {
        self.process.id()
    }

    fn diagnostics(&self) -> String {
        self.process.diagnostics()
    }

    fn close(&self, timeout: Duration) -> BoxedTask {
        self.closed.store(true, Ordering::Release);
        let (process, queue) = (Arc::clone(&self.process), Arc::clone(&self.queue));
        // In a separate task, so that it continues if the caller stops waiting. The shortest
        // timeout of several callers wins.
        let closing = self.runtime.spawn(async move {
            // The last message, for example a cancellation, should still arrive.
            let _ = tokio::time::timeout(timeout.min(FLUSH_TIMEOUT), flushed(&queue)).await;
            queue.changed.notify_one();
            let mut deadlines = CloseDeadlines { after_stdin: timeout, ..CloseDeadlines::default() };
            if timeout.is_zero() {
                deadlines.after_terminate = MIN_GRACE;
            }
            process.close(deadlines).await;
        });
        Box::pin(async move {
            // Fails only if the runtime is shut down, which also ends the process.
            let _ = closing.await;
        })
    }
}

impl ChildLink {
    /// Reports that the server does not read.
    fn congested(&self, message: &LinkMessage) {
        let problem = format!("{} MiB are waiting for the server process, which does not read them", MAX_QUEUED >> 20);
        match &message.request {
            Some(request) => self.inbox.failed(&request.id, LinkFailure::Congested(problem)),
            None => {
                tracing::warn!(target: "trunkline::client::child", error = %problem, "could not deliver a notification or response")
            }
        }
    }

    /// Writes as much as possible without waiting, and returns the number of bytes. This saves the
    /// hop to the task, which costs as much as the rest of a small call. The task is not writing at
    /// this point, so its waker is not lost. An error will recur in the task's next write.
    fn write_at_once(&self, text: &[u8]) -> usize {
        let mut stdin = self.stdin.clone();
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(&mut stdin).poll_write(&mut context, text) {
            Poll::Ready(Ok(written)) => written,
            _ => 0,
        }
    }
}

impl Drop for ChildLink {
    /// Ends the process if its client was dropped, or the server closed its output.
    fn drop(&mut self) {
        if !self.closed.load(Ordering::Acquire) {
            drop(self.close(CloseDeadlines::default().after_stdin));
        }
    }
}

const OUTPUT: &str = "standard output";
/// Minimum time between terminating and killing the process.
const MIN_GRACE: Duration = Duration::from_millis(250);
/// Maximum time for writing queued messages when the link closes.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

async fn flushed(queue: &WriteQueue) {
    while queue.waiting.lock().is_busy() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn write(mut stdin: ChildStdin, queue: Arc<WriteQueue>, ending: EndReport) {
    let mut text = Vec::new();
    loop {
        text.clear();
        {
            let mut waiting = queue.waiting.lock();
            std::mem::swap(&mut text, &mut waiting.text);
            waiting.writing = !text.is_empty();
        }
        if text.is_empty() {
            if ending.closed.load(Ordering::Acquire) {
                return;
            }
            queue.changed.notified().await;
            continue;
        }
        if stdin.write_all(&text).await.is_err() {
            *queue.waiting.lock() = QueuedText { broken: true, ..QueuedText::default() };
            // The process is usually exiting, but it may continue with its input closed.
            return ending.report("standard input").await;
        }
        text.shrink_to(1 << 20);
    }
}

/// Reports why the connection has ended, unless this side closed it.
#[derive(Clone)]
struct EndReport {
    inbox: Arc<dyn Inbox>,
    process: Arc<ChildProcess>,
    closed: Arc<AtomicBool>,
}

impl EndReport {
    /// Reports the end. `pipe` is the name of the pipe that was closed.
    async fn report(&self, pipe: &str) {
        if self.closed.load(Ordering::Acquire) {
            return;
        }
        let obituary = self.process.obituary(pipe).await;
        if !self.closed.load(Ordering::Acquire) {
            self.inbox.closed(LinkFailure::Exited(obituary));
        }
    }
}

/// The reader of the server's messages.
struct MessageReader {
    ending: EndReport,
    limit: usize,
}

impl MessageReader {
    async fn in_task(self, mut stdout: ChildStdout) {
        let mut cutter = LineCutter::new(self.limit);
        loop {
            match stdout.read_buf(cutter.space()).await {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            while let Some(line) = cutter.next_line() {
                self.line(line);
            }
        }
        if let Some(rest) = cutter.rest() {
            self.line(Line::Text(rest));
        }
        self.ending.report(OUTPUT).await;
    }

    /// Reads on a thread, which can hand over to the host.
    #[cfg(unix)]
    fn on_thread(
        self,
        stdout: ChildStdout,
        round_trips: Arc<RoundTripTracker>,
        handoff: Arc<ReadHandoff>,
    ) -> io::Result<()> {
        use super::stdio::{LineReader, read_to_end};
        use std::{fs::File, ops::ControlFlow, thread};
        let stdout = File::from(stdout.into_owned_fd()?);
        let (reading, runtime) = (Arc::new(self), Handle::current());
        let lines = Arc::clone(&reading);
        let handle_line = move |line, _more| {
            lines.line(line);
            ControlFlow::Continue(())
        };
        let reader = LineReader::new(stdout, reading.limit, round_trips, handle_line);
        let thread = thread::Builder::new().name("trunkline-read".into());
        thread.spawn(move || {
            read_to_end(reader, Some(&handoff));
            runtime.spawn(async move { reading.ending.report(OUTPUT).await });
        })?;
        Ok(())
    }

    #[cfg(not(unix))]
    fn on_thread(self, stdout: ChildStdout, _: Arc<RoundTripTracker>, _: Arc<ReadHandoff>) -> io::Result<()> {
        drop(tokio::spawn(self.in_task(stdout)));
        Ok(())
    }

    fn line(&self, line: Line) {
        match line {
            Line::Text(text) => self.ending.inbox.message(text),
            Line::TooLong(begins) => {
                let limit = self.limit;
                let problem = format!("The server sent a message of more than {limit} bytes, which was skipped");
                match Beginning::of(&begins) {
                    Beginning { id: Some(id), response: true } => {
                        self.ending.inbox.failed(&id, LinkFailure::Broken(problem));
                    }
                    _ => {
                        tracing::warn!(target: "trunkline::client::child", limit, "skipped a message from the server that exceeds the size limit")
                    }
                }
            }
        }
    }
}
