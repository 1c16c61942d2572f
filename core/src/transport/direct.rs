//! Writing to a pipe at once where that cannot block, without the hop to another thread: it costs as much as the whole rest of
//! a small call. Whatever does not go at once is left to the thread or task that waits.

use std::fs::File;

/// What is written at once is at most this long: POSIX promises that a pipe takes so much whole or not at all.
pub(super) const AT_ONCE: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

/// A descriptor that can be written to without blocking.
#[derive(Debug)]
pub(super) struct Direct {
    file: File,
    socket: bool,
}

impl Direct {
    /// `None`: for this kind of file nothing says whether a write blocks.
    #[cfg(unix)]
    pub(super) fn of(file: &File) -> Option<Self> {
        use std::os::unix::fs::FileTypeExt;
        let kind = file.metadata().ok()?.file_type();
        let file = file.try_clone().ok()?;
        // Here it is the socket that is told not to raise SIGPIPE, elsewhere each message (see `QUIETLY`).
        #[cfg(target_vendor = "apple")]
        if kind.is_socket() {
            rustix::net::sockopt::set_socket_nosigpipe(&file, true).ok()?;
        }
        (kind.is_fifo() || kind.is_socket()).then(|| Self { file, socket: kind.is_socket() })
    }

    /// Nothing is known to work here.
    #[cfg(not(unix))]
    pub(super) fn of(_: &File) -> Option<Self> {
        None
    }

    /// Writes at most [`AT_ONCE`] bytes, as many as go without blocking; an error counts as none and shows in the next write.
    #[cfg(unix)]
    pub(super) fn write(&self, bytes: &[u8]) -> usize {
        use rustix::{
            event::{PollFd, PollFlags, Timespec, poll},
            net::{SendFlags, send},
        };
        #[cfg(target_vendor = "apple")]
        const QUIETLY: SendFlags = SendFlags::DONTWAIT;
        #[cfg(not(target_vendor = "apple"))]
        const QUIETLY: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
        debug_assert!(bytes.len() <= AT_ONCE);
        if self.socket {
            return send(&self.file, bytes, QUIETLY).unwrap_or(0);
        }
        // Nobody else writes meanwhile: a pipe that has room now has it in a moment.
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut [PollFd::new(&self.file, PollFlags::OUT)], Some(&now)) {
            Ok(1) => rustix::io::write(&self.file, bytes).unwrap_or(0),
            _ => 0,
        }
    }

    #[cfg(not(unix))]
    pub(super) fn write(&self, _: &[u8]) -> usize {
        let _ = (&self.file, self.socket);
        0
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::{
        io::Read,
        os::{fd::OwnedFd, unix::net::UnixStream},
    };

    #[test]
    fn a_full_pipe_takes_nothing_and_does_not_block() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let file = File::from(OwnedFd::from(writer));
        let direct = Direct::of(&file).unwrap();
        let mut written = 0;
        while direct.write(&[b'x'; AT_ONCE]) == AT_ONCE {
            written += AT_ONCE;
        }
        assert!(written >= AT_ONCE);
        let mut read = vec![0; written];
        reader.read_exact(&mut read).unwrap();
        assert_eq!(direct.write(b"again"), 5);
    }

    #[test]
    fn a_full_socket_takes_what_it_can() {
        let (reader, writer) = UnixStream::pair().unwrap();
        let file = File::from(OwnedFd::from(writer));
        let direct = Direct::of(&file).unwrap();
        while direct.write(&[b'x'; AT_ONCE]) > 0 {}
        drop(reader);
        assert_eq!(direct.write(b"gone"), 0);
    }

    #[test]
    fn other_files_are_left_to_the_thread() {
        assert!(Direct::of(&File::open("/dev/null").unwrap()).is_none());
    }
}
