//! Direct writes to a pipe, where they cannot block. They save the hop to the writing thread, which
//! costs as much as the rest of a small call, and a copy of the message. The rest of a partial
//! write is left to that thread.

#[cfg(unix)]
use super::line_reader::enlarge;
use std::fs::File;

/// Maximum length of a write to a pipe that is not empty. POSIX guarantees that a pipe accepts this
/// much atomically.
#[cfg(unix)]
const PIPE_BUF: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

/// A descriptor that supports non-blocking writes.
#[derive(Debug)]
pub(super) struct Direct {
    file: File,
    socket: bool,
    /// The capacity of a pipe, once a large message was written.
    #[cfg(unix)]
    capacity: std::sync::OnceLock<usize>,
}

impl Direct {
    /// Returns `None` for kinds of files that do not tell whether a write would block.
    #[cfg(unix)]
    pub(super) fn of(file: &File) -> Option<Self> {
        use std::os::unix::fs::FileTypeExt;
        let kind = file.metadata().ok()?.file_type();
        let file = file.try_clone().ok()?;
        // On these systems SIGPIPE is disabled per socket, elsewhere per message (`SEND_FLAGS`).
        #[cfg(target_vendor = "apple")]
        if kind.is_socket() {
            rustix::net::sockopt::set_socket_nosigpipe(&file, true).ok()?;
        }
        (kind.is_fifo() || kind.is_socket()).then(|| Self {
            file,
            socket: kind.is_socket(),
            capacity: std::sync::OnceLock::new(),
        })
    }

    /// Returns `None`: no such write is known to work on other systems.
    #[cfg(not(unix))]
    pub(super) fn of(_: &File) -> Option<Self> {
        None
    }

    /// Writes as many of the bytes as possible without blocking, and returns their number. Returns
    /// 0 on an error, which shows in the next write.
    #[cfg(unix)]
    pub(super) fn write(&self, bytes: &[u8]) -> usize {
        use rustix::net::{SendFlags, send};
        #[cfg(target_vendor = "apple")]
        const SEND_FLAGS: SendFlags = SendFlags::DONTWAIT;
        #[cfg(not(target_vendor = "apple"))]
        const SEND_FLAGS: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
        if self.socket {
            return send(&self.file, bytes, SEND_FLAGS).unwrap_or(0);
        }
        // There is no other writer, so if the pipe has room now, it still does when the write
        // happens.
        let length = bytes.len().min(self.room(bytes.len()));
        if length == 0 { 0 } else { rustix::io::write(&self.file, &bytes[..length]).unwrap_or(0) }
    }

    /// How many of so many bytes the pipe takes without blocking.
    #[cfg(unix)]
    fn room(&self, length: usize) -> usize {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        if length > PIPE_BUF {
            let capacity = *self.capacity.get_or_init(|| enlarge(&self.file));
            let is_empty = rustix::io::ioctl_fionread(&self.file).is_ok_and(|unread| unread == 0);
            return if is_empty { capacity } else { 0 };
        }
        let is_writable = poll(&mut [PollFd::new(&self.file, PollFlags::OUT)], Some(&now)).is_ok_and(|ready| ready > 0);
        if is_writable { PIPE_BUF } else { 0 }
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
        while direct.write(&[b'x'; PIPE_BUF]) == PIPE_BUF {
            written += PIPE_BUF;
        }
        assert!(written >= PIPE_BUF);
        let mut read = vec![0; written];
        reader.read_exact(&mut read).unwrap();
        assert_eq!(direct.write(b"again"), 5);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn an_empty_pipe_takes_its_capacity_and_a_used_one_no_large_message() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let direct = Direct::of(&File::from(OwnedFd::from(writer))).unwrap();
        let large = vec![b'x'; 4 * 1024 * 1024];
        let written = direct.write(&large);
        assert!((PIPE_BUF + 1..large.len()).contains(&written), "{written}");
        assert_eq!((direct.write(&large), direct.write(b"small")), (0, 0));
        reader.read_exact(&mut vec![0; written - 1]).unwrap();
        assert_eq!(direct.write(&large), 0);
        reader.read_exact(&mut [0]).unwrap();
        assert_eq!(direct.write(&large), written);
    }

    #[test]
    fn a_full_socket_writes_partially() {
        let (reader, writer) = UnixStream::pair().unwrap();
        let file = File::from(OwnedFd::from(writer));
        let direct = Direct::of(&file).unwrap();
        while direct.write(&[b'x'; PIPE_BUF]) > 0 {}
        drop(reader);
        assert_eq!(direct.write(b"gone"), 0);
    }

    #[test]
    fn other_files_are_left_to_the_thread() {
        assert!(Direct::of(&File::open("/dev/null").unwrap()).is_none());
    }
}
