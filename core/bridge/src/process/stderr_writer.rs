//! Writes log records to standard error if the host doesn't handle them: a bounded queue and a
//! writer thread. The parent process may never read that pipe.

use std::{
    io::{self, Write},
    process, thread,
    time::{Duration, Instant},
};
use trunkline::bridge_support::{Condvar, Mutex};

/// Maximum queued bytes. More are dropped and counted.
const MAX_WAITING: usize = 256 << 10;
/// How long a call waits for its text to be written if nothing else is queued. If standard error is
/// being read, the text is written when the call returns, so it is in order with other output and
/// not lost at exit.
const WRITE_TIMEOUT: Duration = Duration::from_millis(250);

static STDERR: TextQueue = TextQueue::new();

/// Writes to standard error. If nobody reads it, the first call waits for a moment; later texts are
/// queued, or dropped and counted.
pub fn write_stderr(text: &str) {
    if !text.is_empty() {
        STDERR.write(text, io::stderr);
    }
}

struct TextQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    text: Vec<u8>,
    /// Number of dropped texts.
    dropped: usize,
    /// True while the thread is writing.
    writing: bool,
    /// The process that owns the thread, or 0.
    process: u32,
}

impl QueueState {
    fn is_written(&self) -> bool {
        self.text.is_empty() && !self.writing && self.dropped == 0
    }
}

impl TextQueue {
    const fn new() -> Self {
        let state = QueueState { text: Vec::new(), dropped: 0, writing: false, process: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn write<W: Write>(&'static self, text: &str, open: impl FnOnce() -> W + Send + 'static) {
        // A forked child loses its log rather than blocking.
        let Some(mut state) = self.state.lock_until(Instant::now() + WRITE_TIMEOUT) else { return };
        if state.process != process::id() {
            // After a fork, the queued text and the thread belong to the parent.
            *state = QueueState { text: Vec::new(), dropped: 0, writing: false, process: process::id() };
            let started = thread::Builder::new().name("trunkline-stderr".into()).spawn(move || self.run(open()));
            if started.is_err() {
                state.process = 0;
                return;
            }
        }
        if state.text.len().saturating_add(text.len()) > MAX_WAITING {
            state.dropped += 1;
            self.changed.notify_all();
            return;
        }
        let waits = state.is_written();
        state.text.extend_from_slice(text.as_bytes());
        self.changed.notify_all();
        if waits {
            drop(self.changed.wait_while_until(state, Instant::now() + WRITE_TIMEOUT, |state| !state.is_written()));
        }
    }

    /// Writes forever.
    fn run(&self, mut out: impl Write) {
        loop {
            let text = {
                let nothing = |state: &mut QueueState| state.text.is_empty() && state.dropped == 0;
                let mut state = self.changed.wait_while(self.state.lock(), nothing);
                state.writing = true;
                let mut text = std::mem::take(&mut state.text);
                match std::mem::take(&mut state.dropped) {
                    0 => {}
                    count => text.extend_from_slice(dropped_note(count).as_bytes()),
                }
                text
            };
            // There is nowhere to report that standard error is closed.
            let _ = out.write_all(&text).and_then(|()| out.flush());
            self.state.lock().writing = false;
            self.changed.notify_all();
        }
    }
}

fn dropped_note(count: usize) -> String {
    format!("[trunkline] warn: {count} log records were dropped: standard error was not read\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// Accepts bytes while its reader allows it.
    struct Pipe {
        allowed: mpsc::Receiver<()>,
        written: mpsc::Sender<String>,
    }

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.allowed.recv().map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            self.written.send(text).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn queue() -> &'static TextQueue {
        Box::leak(Box::new(TextQueue::new()))
    }

    #[test]
    fn a_text_is_written_when_the_call_returns() {
        let (queue, (sender, written)) = (queue(), mpsc::channel());
        let (allow, allowed) = mpsc::channel();
        for _ in 0..2 {
            allow.send(()).unwrap();
        }
        queue.write("one\n", move || Pipe { allowed, written: sender });
        queue.write("two\n", unreachable_writer);
        assert_eq!((written.recv().unwrap(), written.recv().unwrap()), ("one\n".to_owned(), "two\n".to_owned()));
        assert!(queue.changed.wait_while(queue.state.lock(), |state| !state.is_written()).is_written());
    }

    fn unreachable_writer() -> Pipe {
        unreachable!("one thread writes")
    }

    #[test]
    fn an_abandoned_lock_blocks_nothing() {
        let queue = queue();
        let _of_a_thread_that_is_gone = queue.state.lock();
        std::thread::scope(|scope| {
            scope.spawn(|| queue.write("lost\n", unreachable_writer));
        });
    }

    #[test]
    fn without_a_reader_strings_are_bounded_and_the_loss_is_reported() {
        const TEXTS: usize = 1000;
        let (queue, (sender, written)) = (queue(), mpsc::channel());
        let (allow, allowed) = mpsc::channel();
        let text = format!("{}\n", "x".repeat(1023));
        queue.write(&text, move || Pipe { allowed, written: sender });
        drop(queue.changed.wait_while(queue.state.lock(), |state| !state.writing));
        for _ in 1..TEXTS {
            queue.write(&text, unreachable_writer);
        }
        let waiting = queue.state.lock().text.len();
        assert_eq!(waiting, MAX_WAITING);
        for _ in 0..2 {
            allow.send(()).unwrap();
        }
        let lines = |text: String| text.lines().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(lines(written.recv().unwrap()).len(), 1);
        let later = lines(written.recv().unwrap());
        let dropped = TEXTS - 1 - MAX_WAITING / 1024;
        assert_eq!(later.len() - 1, MAX_WAITING / 1024);
        assert_eq!(later.last().unwrap(), dropped_note(dropped).trim_end());
    }
}
