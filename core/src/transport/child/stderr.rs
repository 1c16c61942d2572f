//! The standard error of a child process: forwarded, with the last lines captured for error
//! messages.

use crate::printable::printable;
use crate::sync::Mutex;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::sync::watch;
use tokio::time::timeout;

/// Maximum captured lines.
const LINES: usize = 20;
/// Maximum bytes of a captured line.
const LINE_BYTES: usize = 1_000;
/// How long a destination may block before output is dropped.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where the standard error of a child is forwarded to.
#[derive(Debug, Clone)]
pub(super) enum Destination {
    Nowhere,
    /// Our own standard error.
    Ours,
    File(Arc<File>),
}

/// The last lines of a child's standard error.
#[derive(Debug, Clone)]
pub(super) struct Tail {
    lines: Arc<Mutex<VecDeque<String>>>,
    /// Closed when everything has been read. Its value never changes.
    ended: watch::Receiver<()>,
}

impl Tail {
    /// Starts reading in a separate task.
    pub(super) fn follow(stderr: Option<tokio::process::ChildStderr>, destination: Destination) -> Self {
        let (reading, ended) = watch::channel(());
        let lines = Arc::new(Mutex::new(VecDeque::with_capacity(LINES)));
        if let Some(stderr) = stderr {
            let lines = Arc::clone(&lines);
            tokio::spawn(async move {
                read(stderr, &lines, destination).await;
                drop(reading);
            });
        }
        Self { lines, ended }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.lock().iter().cloned().collect()
    }

    /// Waits up to `at_most` until everything has been read.
    pub(super) async fn settle(&self, at_most: Duration) {
        let mut ended = self.ended.clone();
        let _ = timeout(at_most, ended.changed()).await;
    }
}

async fn read(mut stderr: tokio::process::ChildStderr, lines: &Mutex<VecDeque<String>>, mut destination: Destination) {
    let mut line = Vec::new();
    let mut buffer = vec![0; 8 * 1024];
    loop {
        let chunk = match stderr.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(length) => &buffer[..length],
        };
        for (index, part) in chunk.split(|byte| *byte == b'\n').enumerate() {
            if index > 0 {
                keep(lines, &mut line);
            }
            line.extend_from_slice(&part[..part.len().min(LINE_BYTES - line.len())]);
        }
        // The child must not block if nothing reads our standard error or the disk is full.
        if !matches!(destination, Destination::Nowhere) && !destination.take(chunk.to_vec()).await {
            tracing::warn!(target: "trunkline::client::child", ?destination, "the stderr of a server process is no longer forwarded");
            destination = Destination::Nowhere;
        }
    }
    if !line.is_empty() {
        keep(lines, &mut line);
    }
}

impl Destination {
    /// Writes on a blocking thread. Returns `false` if that fails or takes too long.
    async fn take(&self, chunk: Vec<u8>) -> bool {
        let destination = self.clone();
        let written = tokio::task::spawn_blocking(move || match destination {
            Self::Nowhere => Ok(()),
            Self::Ours => std::io::stderr().write_all(&chunk),
            Self::File(file) => (&*file).write_all(&chunk),
        });
        matches!(timeout(PATIENCE, written).await, Ok(Ok(Ok(()))))
    }
}

fn keep(lines: &Mutex<VecDeque<String>>, line: &mut Vec<u8>) {
    let text = printable(&String::from_utf8_lossy(line)).trim_end().to_owned();
    line.clear();
    let mut lines = lines.lock();
    if lines.len() == LINES {
        lines.pop_front();
    }
    lines.push_back(text);
}
