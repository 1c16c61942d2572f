//! The alarm that wakes a port: a descriptor that a C event loop can poll, set by the core's bell
//! and by the library's own threads.

use std::sync::atomic::{AtomicU8, Ordering};

use trunkline_bridge::ErrorKind;

use crate::edge::failure::Failure;

/// Set or clear; waiting ends when it is set. `set` is safe inside a signal handler on Unix:
/// atomics and one `write`.
pub(crate) struct Alarm {
    state: AtomicU8,
    /// A forked child shares the descriptor and must leave it alone.
    pid: u32,
    pub(crate) descriptor: Descriptor,
}

const CLEAR: u8 = 0;
/// A thread is about to raise the descriptor. A separate state, so that it is never `SET` before
/// the descriptor is raised.
const SETTING: u8 = 1;
const SET: u8 = 2;

impl Alarm {
    pub(crate) fn new() -> Result<Self, Failure> {
        let no_descriptor = |reason| format!("cannot create the wakeup descriptor of a port: {reason}");
        let descriptor = Descriptor::new().map_err(|reason| Failure::of(ErrorKind::Busy, no_descriptor(reason)))?;
        Ok(Self { state: AtomicU8::new(CLEAR), pid: std::process::id(), descriptor })
    }

    pub(crate) fn set(&self) {
        let free = self.state.compare_exchange(CLEAR, SETTING, Ordering::SeqCst, Ordering::SeqCst);
        if free.is_ok() && self.is_ours() {
            self.descriptor.raise();
            // The thread that the descriptor woke may already have cleared it, in which case it
            // stays clear.
            let _ = self.state.compare_exchange(SETTING, SET, Ordering::SeqCst, Ordering::SeqCst);
        }
    }

    /// Clears the alarm. The caller must look for work afterwards, because an earlier `set` is
    /// forgotten. The descriptor is lowered whatever the state: a thread interrupted inside `set`
    /// has raised it, or will, and until that thread continues, waiting must not return again and
    /// again.
    pub(crate) fn clear(&self) {
        if self.is_ours() {
            self.descriptor.lower();
            self.state.swap(CLEAR, Ordering::SeqCst);
        }
    }

    fn is_ours(&self) -> bool {
        self.pid == std::process::id()
    }
}

#[cfg(unix)]
use unix::Descriptor;
#[cfg(windows)]
use windows::Descriptor;

#[cfg(unix)]
mod unix {
    use std::io::{PipeReader, PipeWriter, Read, Result, Write, pipe};
    use std::os::fd::AsRawFd;
    use std::time::Duration;

    #[cfg(target_os = "android")]
    use libc::__errno as errno;
    #[cfg(target_os = "linux")]
    use libc::__errno_location as errno;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    use libc::__error as errno;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::ioctl_fionbio;

    /// A pipe that holds a byte while raised. Neither end blocks.
    pub(crate) struct Descriptor {
        reader: PipeReader,
        writer: PipeWriter,
    }

    impl Descriptor {
        pub(super) fn new() -> Result<Self> {
            let (reader, writer) = pipe()?;
            ioctl_fionbio(&reader, true)?;
            ioctl_fionbio(&writer, true)?;
            Ok(Self { reader, writer })
        }

        pub(super) fn raise(&self) {
            // SAFETY: `errno` is a place of this thread. A signal handler must leave it as it was.
            unsafe {
                let before = *errno();
                // A full pipe is already raised.
                let _ = (&self.writer).write(&[1]);
                *errno() = before;
            }
        }

        pub(super) fn lower(&self) {
            // Rarely more than one byte: only if a clear overtook their setters.
            let _ = (&self.reader).read(&mut [0; 8]);
        }

        /// Waits until it is raised, at most `timeout`. May return early if a signal handler ran.
        pub(crate) fn wait(&self, timeout: Duration) {
            let timeout = Timespec::try_from(timeout).ok();
            let _ = poll(&mut [PollFd::new(&self.reader, PollFlags::IN)], timeout.as_ref());
        }

        pub(crate) fn raw(&self) -> isize {
            self.reader.as_raw_fd() as isize
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::io::{Error, Result};
    use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
    use std::ptr::null;
    use std::time::Duration;

    use windows_sys::Win32::System::Threading::{CreateEventW, INFINITE, ResetEvent, SetEvent, WaitForSingleObject};

    /// A manual-reset event.
    pub(crate) struct Descriptor(OwnedHandle);

    impl Descriptor {
        pub(super) fn new() -> Result<Self> {
            // SAFETY: no pointer is passed but NULL, which the function allows.
            let handle = unsafe { CreateEventW(null(), 1, 0, null()) };
            if handle.is_null() {
                return Err(Error::last_os_error());
            }
            // SAFETY: a fresh handle that nobody else owns.
            Ok(Self(unsafe { OwnedHandle::from_raw_handle(handle) }))
        }

        pub(super) fn raise(&self) {
            // SAFETY: the handle is open as long as `self` lives.
            unsafe { SetEvent(self.0.as_raw_handle()) };
        }

        pub(super) fn lower(&self) {
            // SAFETY: the handle is open as long as `self` lives.
            unsafe { ResetEvent(self.0.as_raw_handle()) };
        }

        pub(crate) fn wait(&self, timeout: Duration) {
            let milliseconds = u32::try_from(timeout.as_millis()).unwrap_or(INFINITE - 1);
            // SAFETY: the handle is open as long as `self` lives.
            unsafe { WaitForSingleObject(self.0.as_raw_handle(), milliseconds) };
        }

        pub(crate) fn raw(&self) -> isize {
            self.0.as_raw_handle() as isize
        }
    }
}
