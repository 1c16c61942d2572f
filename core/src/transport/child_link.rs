//! A client's link to a server that runs as its child process.

use super::{
    child::{ChildCommand, ChildProcess, ChildStdin, ChildStdout, CloseDeadlines},
    lines::{Line, LineCutter},
};
use crate::sync::Mutex;
use crate::{
    client::{Connector, Inbox, Link, LinkFailure, LinkMessage},
    engine::Limits,
    protocol::{RequestId, Revision, envelope},
    runtime::Task,
};
use std::{
    hash::{DefaultHasher, Hash, Hasher},
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
pub(crate) struct ChildConnector {
    command: ChildCommand,
    limits: Limits,
}

impl ChildConnector {
    pub(crate) fn new(command: ChildCommand, limits: Limits) -> Self {
        Self { command, limits }
    }
}

impl Connector for ChildConnector {
    fn connect(&self, inbox: Arc<dyn Inbox>) -> Task<Result<Arc<dyn Link>, LinkFailure>> {
        let (command, limit) = (self.command.clone(), self.limits.max_message_bytes);
        Box::pin(async move {
            let (process, stdin, stdout) =
                ChildProcess::spawn(&command).map_err(|error| LinkFailure::Unreachable(error.to_string()))?;
            let link = Arc::new(ChildLink {
                process: Arc::new(process),
                stdin: stdin.clone(),
                queue: Arc::default(),
                closed: Arc::default(),
                runtime: Handle::current(),
            });
            tokio::spawn(write(stdin, Arc::clone(&link.queue), Arc::clone(&link.closed)));
            tokio::spawn(read(stdout, limit, inbox, Arc::clone(&link.process), Arc::clone(&link.closed)));
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
    stdin: ChildStdin,
    queue: Arc<Queue>,
    closed: Arc<AtomicBool>,
    runtime: Handle,
}

/// What waits to be written; bounded by the requests in flight.
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
}

impl Link for ChildLink {
    fn send(&self, message: LinkMessage) {
        if self.closed.load(Ordering::Acquire) {
            return;
        }
        let mut waiting = self.queue.waiting.lock();
        let first = waiting.text.is_empty();
        waiting.text.extend_from_slice(&message.bytes);
        waiting.text.push(b'\n');
        if message.alone && first && !waiting.writing {
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

    fn close(&self, patience: Duration) -> Task {
        let first = !self.closed.swap(true, Ordering::AcqRel);
        let (process, queue) = (Arc::clone(&self.process), Arc::clone(&self.queue));
        // In a task of its own: whoever stops to wait for the end does not stop the end.
        let closing = self.runtime.spawn(async move {
            if first {
                // What was asked last, a cancellation say, should still arrive.
                let _ = tokio::time::timeout(patience.min(FLUSH), flushed(&queue)).await;
            }
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

/// How long a process that was asked to terminate gets when there is no time at all.
const LEAST_GRACE: Duration = Duration::from_millis(250);
/// How long what is queued may take to be written when the link closes.
const FLUSH: Duration = Duration::from_millis(200);

async fn flushed(queue: &Queue) {
    while !queue.waiting.lock().text.is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn write(mut stdin: ChildStdin, queue: Arc<Queue>, closed: Arc<AtomicBool>) {
    let mut text = Vec::new();
    loop {
        text.clear();
        {
            let mut waiting = queue.waiting.lock();
            std::mem::swap(&mut text, &mut waiting.text);
            waiting.writing = !text.is_empty();
        }
        if text.is_empty() {
            if closed.load(Ordering::Acquire) {
                return;
            }
            queue.news.notified().await;
            continue;
        }
        // A broken pipe means that the process is going; the reader tells when and why.
        if stdin.write_all(&text).await.is_err() {
            return;
        }
        text.shrink_to(1 << 20);
    }
}

async fn read(
    mut stdout: ChildStdout,
    limit: usize,
    inbox: Arc<dyn Inbox>,
    process: Arc<ChildProcess>,
    closed: Arc<AtomicBool>,
) {
    let mut cutter = LineCutter::new(limit);
    loop {
        match stdout.read_buf(cutter.space()).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        while let Some(line) = cutter.next_line() {
            match line {
                Line::Text(text) => inbox.message(text),
                Line::TooLong(begins) => {
                    let problem = format!("The server sent a message of more than {limit} bytes, which was skipped");
                    match envelope::id_at_the_beginning(&begins) {
                        Some(id) => inbox.failed(&id, LinkFailure::Broken(problem)),
                        None => tracing::warn!(target: "trunkline", "{problem}"),
                    }
                }
            }
        }
    }
    if let Some(rest) = cutter.rest() {
        inbox.message(rest);
    }
    if !closed.load(Ordering::Acquire) {
        inbox.closed(LinkFailure::Exited(process.obituary().await));
    }
}
