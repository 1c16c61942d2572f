//! A client's link to a server that runs as its child process.

use super::{
    child::{ChildCommand, ChildProcess, ChildStdin, ChildStdout, CloseDeadlines},
    lending::Lender,
    lines::{Line, LineCutter, MAX_QUEUED},
    turns::Turns,
};
use crate::sync::Mutex;
use crate::{
    client::{Connector, Inbox, Link, LinkFailure, LinkMessage},
    engine::Limits,
    protocol::{RequestId, Revision, envelope::Beginning},
    runtime::Task,
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

/// Starts the server anew for each connection.
pub struct ChildConnector {
    command: ChildCommand,
    limits: Limits,
    lender: Option<Arc<Lender>>,
}

impl ChildConnector {
    /// `lender`: for a host that reads for itself at times.
    pub fn new(command: ChildCommand, limits: Limits, lender: Option<Arc<Lender>>) -> Self {
        Self { command, limits, lender }
    }
}

impl Connector for ChildConnector {
    fn connect(&self, inbox: Arc<dyn Inbox>) -> Task<Result<Arc<dyn Link>, LinkFailure>> {
        let (command, limit) = (self.command.clone(), self.limits.max_message_bytes);
        let lender = self.lender.clone();
        Box::pin(async move {
            let (process, stdin, stdout) =
                ChildProcess::spawn(&command).map_err(|error| LinkFailure::Unreachable(error.to_string()))?;
            let link = Arc::new(ChildLink {
                process: Arc::new(process),
                inbox: Arc::clone(&inbox),
                stdin: stdin.clone(),
                queue: Arc::default(),
                turns: Arc::default(),
                closed: Arc::default(),
                runtime: Handle::current(),
            });
            let ending = Ending { inbox, process: Arc::clone(&link.process), closed: Arc::clone(&link.closed) };
            tokio::spawn(write(stdin, Arc::clone(&link.queue), ending.clone()));
            let reading = Reading { ending, limit };
            match lender {
                None => drop(tokio::spawn(reading.in_task(stdout))),
                Some(lender) => reading
                    .on_thread(stdout, Arc::clone(&link.turns), lender)
                    .map_err(|error| LinkFailure::Unreachable(format!("no thread to read: {error}")))?,
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
    queue: Arc<Queue>,
    turns: Arc<Turns>,
    closed: Arc<AtomicBool>,
    runtime: Handle,
}

/// Messages that wait to be written, in bounds.
#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    news: Notify,
}

#[derive(Default)]
struct Waiting {
    text: Vec<u8>,
    /// The task writes what it took before.
    writing: bool,
    /// Nothing can be written any more.
    broken: bool,
}

impl Waiting {
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
            self.turns.pass();
            let written = self.write_at_once(&waiting.text);
            waiting.text.drain(..written);
        }
        if first && !waiting.text.is_empty() {
            self.queue.news.notify_one();
        }
    }

    fn abandon(&self, _: &RequestId) -> bool {
        false
    }

    fn settled(&self, _: Revision) {}

    fn peer(&self) -> String {
        format!("The server process \"{}\"", self.process.program())
    }

    fn last_words(&self) -> String {
        self.process.last_words()
    }

    fn close(&self, patience: Duration) -> Task {
        self.closed.store(true, Ordering::Release);
        let (process, queue) = (Arc::clone(&self.process), Arc::clone(&self.queue));
        // In a task of its own: whoever stops to wait for the end does not stop the end. Of several, the least patient ends the process.
        let closing = self.runtime.spawn(async move {
            // The last message, a cancellation say, should still arrive.
            let _ = tokio::time::timeout(patience.min(FLUSH), flushed(&queue)).await;
            queue.news.notify_one();
            let mut deadlines = CloseDeadlines { after_stdin: patience, ..CloseDeadlines::default() };
            if patience.is_zero() {
                deadlines.after_terminate = LEAST_GRACE;
            }
            process.close(deadlines).await;
        });
        Box::pin(async move {
            // It fails only when the runtime is shut down, which ends the process too.
            let _ = closing.await;
        })
    }
}

impl ChildLink {
    /// The server takes nothing.
    fn congested(&self, message: &LinkMessage) {
        let problem = format!("{} MiB wait for the server process, which does not read", MAX_QUEUED >> 20);
        match &message.request {
            Some(request) => self.inbox.failed(&request.id, LinkFailure::Congested(problem)),
            None => tracing::warn!(target: "trunkline", "a notification or response was not delivered: {problem}"),
        }
    }

    /// Writes what goes without waiting: the hop to the task costs as much as the whole rest of a small call. Nobody else writes
    /// now, so nobody's wait is disturbed. An error shows in the task's next write.
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
    /// A client that is dropped, or whose server closed its output, leaves no process behind.
    fn drop(&mut self) {
        if !self.closed.load(Ordering::Acquire) {
            drop(self.close(CloseDeadlines::default().after_stdin));
        }
    }
}

const OUTPUT: &str = "standard output";
/// How long a process that was asked to terminate gets when there is no time at all.
const LEAST_GRACE: Duration = Duration::from_millis(250);
/// How long what is queued may take to be written when the link closes.
const FLUSH: Duration = Duration::from_millis(500);

async fn flushed(queue: &Queue) {
    while queue.waiting.lock().is_busy() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn write(mut stdin: ChildStdin, queue: Arc<Queue>, ending: Ending) {
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
            queue.news.notified().await;
            continue;
        }
        if stdin.write_all(&text).await.is_err() {
            *queue.waiting.lock() = Waiting { broken: true, ..Waiting::default() };
            // Most often the process is going. But it may live on and only hear nothing any more.
            return ending.tell("standard input").await;
        }
        text.shrink_to(1 << 20);
    }
}

/// Tells why the connection has ended, unless it was closed from this side.
#[derive(Clone)]
struct Ending {
    inbox: Arc<dyn Inbox>,
    process: Arc<ChildProcess>,
    closed: Arc<AtomicBool>,
}

impl Ending {
    /// `pipe`: which one has ended.
    async fn tell(&self, pipe: &str) {
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
struct Reading {
    ending: Ending,
    limit: usize,
}

impl Reading {
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
        self.ending.tell(OUTPUT).await;
    }

    /// On a thread, which can lend the reading to the host.
    #[cfg(unix)]
    fn on_thread(self, stdout: ChildStdout, turns: Arc<Turns>, lender: Arc<Lender>) -> io::Result<()> {
        use super::intake::Intake;
        use std::{fs::File, ops::ControlFlow, thread};
        let stdout = File::from(stdout.into_owned_fd()?);
        let (reading, runtime) = (Arc::new(self), Handle::current());
        let lines = Arc::clone(&reading);
        let serve = move |line, _more| {
            lines.line(line);
            ControlFlow::Continue(())
        };
        let intake = Intake::new(stdout, reading.limit, turns, serve);
        let thread = thread::Builder::new().name("trunkline-read".into());
        thread.spawn(move || {
            intake.run(Some(&lender));
            runtime.spawn(async move { reading.ending.tell(OUTPUT).await });
        })?;
        Ok(())
    }

    #[cfg(not(unix))]
    fn on_thread(self, stdout: ChildStdout, _: Arc<Turns>, _: Arc<Lender>) -> io::Result<()> {
        drop(tokio::spawn(self.in_task(stdout)));
        Ok(())
    }

    fn line(&self, line: Line) {
        match line {
            Line::Text(text) => self.ending.inbox.message(text),
            Line::TooLong(begins) => {
                let problem = format!("The server sent a message of more than {} bytes, which was skipped", self.limit);
                match Beginning::of(&begins) {
                    Beginning { id: Some(id), response: true } => {
                        self.ending.inbox.failed(&id, LinkFailure::Broken(problem));
                    }
                    _ => tracing::warn!(target: "trunkline", "{problem}"),
                }
            }
        }
    }
}
