//! The standard error of a child process: forwarded, with the last lines captured for error
//! messages.

use crate::printable::printable;
use crate::sync::Mutex;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::sync::watch;
use tokio::time::timeout;

/// Only the last lines are captured.
const MAX_LINES: usize = 20;
/// Longer lines are cut.
const MAX_LINE_BYTES: usize = 1_000;
/// How long a destination may block before output is dropped.
const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

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
        let lines = Arc::new(Mutex::new(VecDeque::with_capacity(MAX_LINES)));
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
            line.extend_from_slice(&part[..part.len().min(MAX_LINE_BYTES - line.len())]);
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
            Self::Ours => write_text(&mut io::stderr().lock(), &chunk),
            Self::File(file) => (&*file).write_all(&chunk),
        });
        matches!(timeout(WRITE_TIMEOUT, written).await, Ok(Ok(Ok(()))))
    }
}

/// Writes to a stream that may refuse bytes that are not UTF-8, as the console of Windows does.
/// There, `U+FFFD` replaces them.
fn write_text(out: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match out.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                out.write_all("\u{fffd}".as_bytes())?;
                bytes = &bytes[1..];
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn keep(lines: &Mutex<VecDeque<String>>, line: &mut Vec<u8>) {
    let text = printable(&String::from_utf8_lossy(line)).trim_end().to_owned();
    line.clear();
    let mut lines = lines.lock();
    if lines.len() == MAX_LINES {
        lines.pop_front();
    }
    lines.push_back(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes UTF-8 only.
    #[derive(Default)]
    struct Console(String);

    impl Write for Console {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let valid = match str::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) if error.valid_up_to() == 0 => return Err(ErrorKind::InvalidData.into()),
                Err(error) => str::from_utf8(&bytes[..error.valid_up_to()]).unwrap(),
            };
            self.0 += valid;
            Ok(valid.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn bytes_that_a_console_refuses_do_not_end_the_forwarding() {
        let mut console = Console::default();
        write_text(&mut console, b"ung\xfcltig\n").unwrap();
        write_text(&mut console, "gültig\n".as_bytes()).unwrap();
        assert_eq!(console.0, "ung\u{fffd}ltig\ngültig\n");
    }
}
