//! Unix socket files: permissions, stale files and cleanup.

use rustix::{
    fs::{Mode, chmod},
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with},
};
use std::{
    fs, io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};
use tokio::net::UnixListener;

/// Maximum number of connections waiting to be accepted.
const BACKLOG: i32 = 1024;

/// A listening socket and its file, which is removed on drop.
pub(crate) struct UnixSocket {
    pub(super) listener: UnixListener,
    pub(super) path: PathBuf,
    /// Device and inode, because another server may have replaced the file.
    file: (u64, u64),
}

impl UnixSocket {
    /// Listens at a path. `mode` sets who may connect.
    ///
    /// # Errors
    /// If another server listens there, the path is not a socket, or it cannot be created.
    pub(crate) fn bind(path: PathBuf, mode: u32) -> io::Result<Self> {
        remove_stale(&path)?;
        let socket = new_socket()?;
        bind(&socket, &SocketAddrUnix::new(&path)?)?;
        let file = identity(&path)?;
        let ready = chmod(&path, Mode::from_raw_mode(mode as _))
            // Set the permissions before listening, so that they apply to the first connection.
            .and_then(|()| listen(&socket, BACKLOG))
            .map_err(io::Error::from)
            .and_then(|()| UnixListener::from_std(socket.into()));
        match ready {
            Ok(listener) => Ok(Self { listener, path, file }),
            Err(error) => {
                remove_own(&path, file);
                Err(error)
            }
        }
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        remove_own(&self.path, self.file);
    }
}

fn new_socket() -> io::Result<std::os::fd::OwnedFd> {
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
    let socket =
        socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)?;
    #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
    let socket = {
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::empty(), None)?;
        rustix::io::ioctl_fioclex(&socket)?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        socket
    };
    Ok(socket)
}

/// Removes the socket file of a dead server, to which no connection succeeds.
fn remove_stale(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !found.file_type().is_socket() {
        let text = "the path exists and is not a socket";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
    }
    match connect(&new_socket()?, &SocketAddrUnix::new(path)?) {
        Err(Errno::CONNREFUSED) => fs::remove_file(path),
        Err(Errno::NOENT) => Ok(()),
        // Connected, or the backlog is full: the server is alive.
        Ok(()) | Err(Errno::AGAIN) => {
            Err(io::Error::new(io::ErrorKind::AddrInUse, "another server is listening there"))
        }
        Err(error) => Err(error.into()),
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

fn remove_own(path: &Path, file: (u64, u64)) {
    if identity(path).is_ok_and(|found| found == file)
        && let Err(error) = fs::remove_file(path)
    {
        tracing::warn!(target: "trunkline::server::http", path = %path.display(), %error, "could not remove a socket");
    }
}
