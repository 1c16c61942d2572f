//! A client's link to a child process.

use super::{
    child::{ChildCommand, ChildProcess, ChildStdin, ChildStdout, EXIT_TIMEOUT, TERMINATE_TIMEOUT},
    queued::MAX_QUEUED,
    stdio::{Line, LineCutter, ReadHandoff, RoundTripTracker},
};
use crate::sync::Mutex;
use crate::{
    client::{Connector, Inbox, Link, LinkFailure, LinkMessage},
    engine::Limits,
    protocol::envelope::Beginning,
    runtime::BoxedTask,
};
#[cfg(unix)]
use std::os::fd::{AsFd, OwnedFd};
use std::{
    hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher},
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
            let pipes = Arc::new(ChildPipes {
                process,
                inbox,
                stdin,
                waiting: Mutex::default(),
                changed: Notify::new(),
                round_trips: Arc::default(),
                closed: AtomicBool::new(false),
                limit,
            });
            let link = Arc::new(ChildLink { pipes: Arc::clone(&pipes), runtime: Handle::current() });
            tokio::spawn(Arc::clone(&pipes).write());
            #[cfg(unix)]
            if let Ok(output) = stdout.as_fd().try_clone_to_owned() {
                tokio::spawn(Arc::clone(&pipes).outlived(output));
            }
            match handoff {
                None => drop(tokio::spawn(pipes.read(stdout))),
                Some(handoff) => pipes
                    .read_on_thread(stdout, handoff)
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
        Some(BuildHasherDefault::<DefaultHasher>::default().hash_one((command, env, inherit_env, cwd)))
    }

    fn display(&self) -> Option<String> {
        Some(self.command.display())
    }
}

/// The link. Dropping it ends the process.
struct ChildLink {
    pipes: Arc<ChildPipes>,
    runtime: Handle,
}

/// State shared by the link and the tasks that read and write.
struct ChildPipes {
    process: ChildProcess,
    inbox: Arc<dyn Inbox>,
    stdin: ChildStdin,
    /// The messages to write, and the notification of a change.
    waiting: Mutex<QueuedText>,
    changed: Notify,
    round_trips: Arc<RoundTripTracker>,
    /// True if this side has closed the connection.
    closed: AtomicBool,
    /// Maximum length of a message.
    limit: usize,
}

/// A bounded queue of messages.
#[derive(Default)]
struct QueuedText {
    text: Vec<u8>,
    /// True while the task is writing messages from the queue.
    writing: bool,
    /// True if a write has failed.
    broken: bool,
}

impl QueuedText {
    fn is_busy(&self) -> bool {
        self.writing || !self.text.is_empty()
    }
}

impl Link for ChildLink {
    fn send(&self, message: LinkMessage) {
        let pipes = &self.pipes;
        let mut waiting = pipes.waiting.lock();
        if waiting.broken || pipes.is_closed() {
            return;
        }
        if waiting.text.len() > MAX_QUEUED {
            drop(waiting);
            return pipes.congested(&message);
        }
        let first = waiting.text.is_empty();
        waiting.text.extend_from_slice(&message.bytes);
        waiting.text.push(b'\n');
        if message.alone && first && !waiting.writing {
            pipes.round_trips.sent();
            let written = pipes.write_at_once(&waiting.text);
            waiting.text.drain(..written);
        }
        if first && !waiting.text.is_empty() {
            pipes.changed.notify_one();
        }
    }

    fn peer(&self) -> String {
        format!("The server process \"{}\"", self.pipes.process.command())
    }

    fn process_id(&self) -> Option<u32> {
        self.pipes.process.id()
    }

    fn diagnostics(&self) -> String {
        self.pipes.process.diagnostics()
    }

    fn close(&self, timeout: Duration) -> BoxedTask {
        self.pipes.closed.store(true, Ordering::Release);
        let pipes = Arc::clone(&self.pipes);
        // In a separate task, so that it continues if the caller stops waiting. The shortest
        // timeout of several callers wins.
        let closing = self.runtime.spawn(async move {
            // The last message, for example a cancellation, should still arrive.
            let _ = tokio::time::timeout(timeout.min(FLUSH_TIMEOUT), pipes.flushed()).await;
            pipes.changed.notify_one();
            let grace = if timeout.is_zero() { MIN_GRACE } else { TERMINATE_TIMEOUT };
            pipes.process.close([timeout, grace]).await;
        });
        Box::pin(async move {
            // Fails only if the runtime is shut down, which also ends the process.
            let _ = closing.await;
        })
    }
}

impl Drop for ChildLink {
    /// Ends the process if its client was dropped, or the server closed its output.
    fn drop(&mut self) {
        if !self.pipes.is_closed() {
            drop(self.close(EXIT_TIMEOUT));
        }
    }
}

const OUTPUT: &str = "standard output";
/// How often to check whether everything is read that an ended process has written.
#[cfg(unix)]
const OUTPUT_CHECK_INTERVAL: Duration = Duration::from_millis(300);
/// Minimum time between terminating and killing the process.
const MIN_GRACE: Duration = Duration::from_millis(250);
/// Maximum time for writing queued messages when the link closes.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

impl ChildPipes {
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Reports that the server does not read.
    fn congested(&self, message: &LinkMessage) {
        let problem = format!("{} MiB are waiting for the server process, which does not read them", MAX_QUEUED >> 20);
        match &message.request {
            Some(request) => self.inbox.failed(&request.id, LinkFailure::Congested(problem)),
            None => {
                tracing::warn!(target: "trunkline::client::child", server = self.process.command(), error = %problem, "could not deliver a notification or response")
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

    /// Completes when everything is written.
    async fn flushed(&self) {
        while self.waiting.lock().is_busy() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Writes the queued messages until the link is closed.
    async fn write(self: Arc<Self>) {
        let (mut stdin, mut text) = (self.stdin.clone(), Vec::new());
        loop {
            text.clear();
            {
                let mut waiting = self.waiting.lock();
                std::mem::swap(&mut text, &mut waiting.text);
                waiting.writing = !text.is_empty();
            }
            if text.is_empty() {
                if self.is_closed() {
                    return;
                }
                self.changed.notified().await;
                continue;
            }
            if stdin.write_all(&text).await.is_err() {
                *self.waiting.lock() = QueuedText { broken: true, ..QueuedText::default() };
                // The process is usually exiting, but it may continue with its input closed.
                return self.report("standard input").await;
            }
            text.shrink_to(1 << 20);
        }
    }

    /// Reports why the connection has ended, unless this side closed it. `pipe` is the name of the
    /// pipe that was closed.
    async fn report(&self, pipe: &str) {
        if self.is_closed() {
            return;
        }
        let obituary = self.process.obituary(pipe).await;
        if !self.is_closed() {
            self.inbox.closed(LinkFailure::Exited(obituary));
        }
    }

    /// Reports the end of the process even if its output stays open, because a process that it left
    /// behind outside of its group has inherited it.
    #[cfg(unix)]
    async fn outlived(self: Arc<Self>, output: OwnedFd) {
        self.process.group_ended().await;
        loop {
            tokio::time::sleep(OUTPUT_CHECK_INTERVAL).await;
            // Its last messages come first, unless nobody wants them anymore.
            let is_unread = rustix::io::ioctl_fionread(&output).is_ok_and(|unread| unread > 0);
            if self.is_closed() || !is_unread {
                return self.report(OUTPUT).await;
            }
        }
    }

    /// Reads the server's messages.
    async fn read(self: Arc<Self>, mut stdout: ChildStdout) {
        let mut cutter = LineCutter::new(self.limit);
        loop {
            match self.round_trips.wait(stdout.read_buf(cutter.space())).await {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let Some(mut line) = cutter.next_line() else { continue };
            let mut next = cutter.next_line();
            let is_round_trip = self.round_trips.received(next.is_none());
            while let Some(following) = next {
                self.line(std::mem::replace(&mut line, following));
                next = cutter.next_line();
            }
            self.line(line);
            if is_round_trip {
                // The tasks that waited for the response run first: they may send the next request.
                tokio::task::yield_now().await;
            }
        }
        if let Some(rest) = cutter.rest() {
            self.line(Line::Text(rest));
        }
        self.report(OUTPUT).await;
    }

    /// Reads on a thread, which can hand over to the host.
    #[cfg(unix)]
    fn read_on_thread(self: Arc<Self>, stdout: ChildStdout, handoff: Arc<ReadHandoff>) -> io::Result<()> {
        use super::stdio::{LineReader, read_to_end};
        use std::{fs::File, ops::ControlFlow, thread};
        let stdout = File::from(stdout.into_owned_fd()?);
        let (lines, runtime) = (Arc::clone(&self), Handle::current());
        let handle_line = move |line, _more| {
            lines.line(line);
            ControlFlow::Continue(())
        };
        let reader = LineReader::new(stdout, self.limit, Arc::clone(&self.round_trips), handle_line);
        let thread = thread::Builder::new().name("trunkline-read".into());
        thread.spawn(move || {
            read_to_end(reader, Some(&handoff));
            runtime.spawn(async move { self.report(OUTPUT).await });
        })?;
        Ok(())
    }

    #[cfg(not(unix))]
    fn read_on_thread(self: Arc<Self>, stdout: ChildStdout, _: Arc<ReadHandoff>) -> io::Result<()> {
        drop(tokio::spawn(self.read(stdout)));
        Ok(())
    }

    fn line(&self, line: Line) {
        match line {
            Line::Text(text) => self.inbox.message(text),
            Line::TooLong(begins) => {
                let limit = self.limit;
                let problem = format!("The server sent a message of more than {limit} bytes, which was skipped");
                match Beginning::of(&begins) {
                    Beginning { id: Some(id), response: true } => {
                        self.inbox.failed(&id, LinkFailure::Broken(problem));
                    }
                    _ => {
                        tracing::warn!(target: "trunkline::client::child", server = self.process.command(), limit, "skipped a message from the server that exceeds the size limit")
                    }
                }
            }
        }
    }
}
