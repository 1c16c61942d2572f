//! The bell of a Python port: writes one byte to a socket that the event loop reads.

use pyo3::prelude::*;
use trunkline_bridge::Bell;

/// Rings by writing to its own descriptor, or not at all if the host waits in `drain`.
pub(crate) struct SocketBell {
    #[cfg(unix)]
    socket: Option<std::os::fd::OwnedFd>,
}

#[cfg(unix)]
impl SocketBell {
    /// Duplicates `fileno`, so the host may close its own end at any time.
    pub(crate) fn new(fileno: Option<i32>) -> PyResult<Self> {
        let socket = fileno.map(crate::descriptor::duplicate).transpose()?;
        // A closed host socket must not raise SIGPIPE, which a program may have reset to its
        // default.
        #[cfg(target_vendor = "apple")]
        if let Some(socket) = &socket {
            rustix::net::sockopt::set_socket_nosigpipe(socket, true).map_err(std::io::Error::from)?;
        }
        Ok(Self { socket })
    }
}

#[cfg(not(unix))]
impl SocketBell {
    /// Takes no descriptor: for loops without `add_reader`, a thread waits in `drain`.
    pub(crate) fn new(fileno: Option<i32>) -> PyResult<Self> {
        match fileno {
            None => Ok(Self {}),
            Some(_) => {
                Err(crate::error::raise("invalidArgument", "bells with a descriptor are supported only on Unix"))
            }
        }
    }
}

impl Bell for SocketBell {
    fn ring(&self) {
        #[cfg(unix)]
        if let Some(socket) = &self.socket {
            // If the socket is full, a ring is already pending; if it is closed, no one is
            // listening.
            #[cfg(not(target_vendor = "apple"))]
            let flags = rustix::net::SendFlags::DONTWAIT | rustix::net::SendFlags::NOSIGNAL;
            #[cfg(target_vendor = "apple")]
            let flags = rustix::net::SendFlags::DONTWAIT;
            let _ = rustix::net::send(socket, &[1], flags);
        }
    }
}
