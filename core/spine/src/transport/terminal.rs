//! The terminal of the process.

use super::browser;
use crate::{
    runtime::{Console, Dialogue, Terminal},
    sync::Mutex,
};
use device::Device;
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};
use tokio::sync::Semaphore;

/// Maximum number of dialogues: one is active, the others wait.
const MAX_DIALOGUES: usize = 16;

static DIALOGUES: Semaphore = Semaphore::const_new(MAX_DIALOGUES);
static TURN: Mutex<()> = Mutex::new(());

/// The controlling terminal of the process, if any, even if its input and output are redirected.
pub(super) fn of_process() -> Option<Arc<dyn Terminal>> {
    Device::open().is_ok().then(|| Arc::new(SystemTerminal) as Arc<dyn Terminal>)
}

struct SystemTerminal;

impl Terminal for SystemTerminal {
    fn converse(&self, dialogue: Dialogue, stopped: Arc<AtomicBool>) -> io::Result<()> {
        let too_many = |_| io::Error::other(format!("{MAX_DIALOGUES} requests are already waiting for the user"));
        let permit = DIALOGUES.try_acquire().map_err(too_many)?;
        let talk = move || {
            let _permit = permit;
            let _turn = TURN.lock();
            if stopped.load(Ordering::Acquire) {
                return;
            }
            match Device::open() {
                Ok(device) => dialogue(&mut SystemConsole { device, stopped }),
                Err(error) => {
                    tracing::warn!(target: "trunkline::client::terminal", %error, "could not open the terminal")
                }
            }
        };
        thread::Builder::new().name("trunkline-terminal".to_owned()).spawn(talk).map(drop)
    }
}

struct SystemConsole {
    device: Device,
    stopped: Arc<AtomicBool>,
}

impl Console for SystemConsole {
    fn show(&mut self, text: &str) -> io::Result<()> {
        self.device.show(text)
    }

    fn read_line(&mut self) -> io::Result<Option<String>> {
        let line = self.device.read_line(&self.stopped);
        if line.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {
            self.show("\n(The request was withdrawn.)\n")?;
        }
        line
    }

    fn open_browser(&mut self, url: &str) -> io::Result<()> {
        browser::open(url).map(drop)
    }
}

#[cfg(unix)]
mod device {
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        fs::OFlags,
    };
    use std::{
        fs::{File, OpenOptions},
        io::{self, Read as _, Write as _},
        os::unix::fs::OpenOptionsExt as _,
        sync::atomic::{AtomicBool, Ordering},
        thread,
        time::Duration,
    };

    const TERMINAL: &str = "/dev/tty";
    const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);
    /// Maximum length of a line.
    const MAX_LINE: usize = 64 << 10;

    /// The controlling terminal, even if standard input and output are redirected.
    pub(super) struct Device {
        /// Does not block: macOS cannot poll terminals, and reports them as ready.
        input: File,
        output: File,
        read: Vec<u8>,
        has_drained: bool,
    }

    impl Device {
        pub(super) fn open() -> io::Result<Self> {
            let output = OpenOptions::new().write(true).open(TERMINAL)?;
            let without_blocking = OFlags::NONBLOCK.bits().cast_signed();
            let input = OpenOptions::new().read(true).custom_flags(without_blocking).open(TERMINAL)?;
            Ok(Self { input, output, read: Vec::new(), has_drained: false })
        }

        /// Discards lines that were entered before the first text; they were not meant for it.
        pub(super) fn show(&mut self, text: &str) -> io::Result<()> {
            while !self.has_drained && self.ready(Duration::ZERO)? && self.more()?.is_some_and(|read| read > 0) {
                self.read.clear();
            }
            self.has_drained = true;
            self.output.write_all(text.as_bytes())
        }

        pub(super) fn read_line(&mut self, stopped: &AtomicBool) -> io::Result<Option<String>> {
            loop {
                if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = self.read.drain(..=end).collect();
                    return Ok(Some(String::from_utf8_lossy(&line[..end]).into_owned()));
                }
                if self.read.len() > MAX_LINE {
                    return Err(io::Error::other("a line of the terminal is too long"));
                }
                if stopped.load(Ordering::Acquire) {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                if self.ready(STOP_CHECK_INTERVAL)? {
                    match self.more()? {
                        Some(0) => return Ok(None),
                        Some(_) => {}
                        None => thread::sleep(STOP_CHECK_INTERVAL),
                    }
                }
            }
        }

        fn ready(&self, patience: Duration) -> io::Result<bool> {
            let patience = Timespec::try_from(patience).ok();
            match poll(&mut [PollFd::new(&self.input, PollFlags::IN)], patience.as_ref()) {
                Ok(ready) => Ok(ready > 0),
                Err(rustix::io::Errno::INTR) => Ok(false),
                Err(error) => Err(error.into()),
            }
        }

        /// Reads the available bytes, and returns their number: 0 at the end of the input. `None`
        /// if there are none.
        fn more(&mut self) -> io::Result<Option<usize>> {
            let mut bytes = [0; 4096];
            let read = match self.input.read(&mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                read => read?,
            };
            self.read.extend_from_slice(&bytes[..read]);
            Ok(Some(read))
        }
    }
}

#[cfg(not(unix))]
mod device {
    use std::{
        io::{self, IsTerminal as _, Write as _},
        sync::atomic::{AtomicBool, Ordering},
    };

    /// Standard input and standard error, if they are a terminal.
    pub(super) struct Device;

    impl Device {
        pub(super) fn open() -> io::Result<Self> {
            if io::stdin().is_terminal() && io::stderr().is_terminal() {
                Ok(Self)
            } else {
                Err(io::ErrorKind::NotFound.into())
            }
        }

        pub(super) fn show(&mut self, text: &str) -> io::Result<()> {
            io::stderr().write_all(text.as_bytes())
        }

        /// A stop is noticed at the next line.
        pub(super) fn read_line(&mut self, stopped: &AtomicBool) -> io::Result<Option<String>> {
            let mut line = String::new();
            let read = io::stdin().read_line(&mut line)?;
            if stopped.load(Ordering::Acquire) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            Ok((read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
        }
    }
}
