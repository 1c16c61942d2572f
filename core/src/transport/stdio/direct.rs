//! Direct writes to a pipe, where they cannot block. They save the hop to the writing thread, which
//! costs as much as the rest of a small call. The rest of a partial write is left to that thread.

use std::fs::File;

/// Maximum length of a direct write. POSIX promises that a pipe takes so much whole or not at all.
pub(super) const AT_ONCE: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

/// A descriptor that supports writes that do not block.
#[derive(Debug)]
pub(super) struct Direct {
    file: File,
    socket: bool,
}

impl Direct {
    /// Returns `None` for kinds of files that do not tell whether a write would block.
    #[cfg(unix)]
    pub(super) fn of(file: &File) -> Option<Self> {
        use std::os::unix::fs::FileTypeExt;
        let kind = file.metadata().ok()?.file_type();
        let file = file.try_clone().ok()?;
        // On these systems SIGPIPE is disabled per socket, elsewhere per message (see `QUIETLY`).
        #[cfg(target_vendor = "apple")]
        if kind.is_socket() {
            rustix::net::sockopt::set_socket_nosigpipe(&file, true).ok()?;
        }
        (kind.is_fifo() || kind.is_socket()).then(|| Self { file, socket: kind.is_socket() })
    }

    /// Returns `None`: no such write is known to work on other systems.
    #[cfg(not(unix))]
    pub(super) fn of(_: &File) -> Option<Self> {
        None
    }

    /// Writes as many of at most [`AT_ONCE`] bytes as possible without blocking, and returns their
    /// number. Returns 0 on an error, which shows in the next write.
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
        // There is no other writer, so a pipe that has room now still has it at the write.
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
    fn a_full_socket_writes_partially() {
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
