//! The listening socket of a server: a TCP port or a Unix socket.

use super::{super::bound_address::BoundAddress, http_options::HttpOptions};
use std::{
    io,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
};

#[cfg(unix)]
use unix::UnixSocket;

/// A bound socket.
pub(super) enum Socket {
    Tcp(TcpListener, SocketAddr),
    #[cfg(unix)]
    Unix(UnixSocket),
}

/// An accepted connection.
pub(super) type SocketStream = Box<dyn Duplex>;

pub(super) trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

impl Socket {
    /// # Errors
    /// If the address is unavailable; the error names it.
    pub(super) async fn bind(options: &HttpOptions) -> io::Result<Self> {
        if let Some(path) = &options.unix {
            #[cfg(unix)]
            let bound = std::path::absolute(path).and_then(|path| UnixSocket::bind(path, options.unix_mode));
            #[cfg(unix)]
            let bound = bound.map(Self::Unix);
            #[cfg(not(unix))]
            let bound = Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no Unix sockets"));
            return bound.map_err(|error| named(path.display().to_string(), error.kind(), &error));
        }
        let HttpOptions { host, port, .. } = options;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let context = |error: io::Error| {
            // An unresolvable name has no OS error code.
            let kind = error.raw_os_error().map_or(io::ErrorKind::AddrNotAvailable, |_| error.kind());
            named(format!("{host}:{port}"), kind, &error)
        };
        let listener = TcpListener::bind((bare, *port)).await.map_err(context)?;
        let address = listener.local_addr().map_err(context)?;
        Ok(Self::Tcp(listener, address))
    }

    /// The address of an endpoint. Its URL is for clients on this machine.
    pub(super) fn address(&self, endpoint: &str) -> BoundAddress {
        match self {
            Self::Tcp(_, address) => {
                let (host, port, mut here) = (address.ip().to_string(), address.port(), *address);
                if here.ip().is_unspecified() {
                    here.set_ip(if here.is_ipv4() { [127, 0, 0, 1].into() } else { Ipv6Addr::LOCALHOST.into() });
                }
                let url = format!("http://{here}{endpoint}");
                BoundAddress { url: Some(url), host: Some(host), port: Some(port), unix: None }
            }
            #[cfg(unix)]
            Self::Unix(UnixSocket { path, .. }) => {
                let (url, unix) = (format!("unix:{}:{endpoint}", path.display()), path.to_string_lossy().into_owned());
                BoundAddress { url: Some(url), unix: Some(unix), ..BoundAddress::default() }
            }
        }
    }

    /// Returns whether other machines can reach it.
    pub(super) fn is_reachable_from_elsewhere(&self) -> bool {
        matches!(self, Self::Tcp(_, address) if !address.ip().is_loopback())
    }

    /// Accepts a connection and returns it with the address of its peer, which a Unix socket does
    /// not have. The connection ends if its peer stays unreachable for longer than the write
    /// timeout.
    pub(super) async fn accept(&self, write_timeout: Duration) -> io::Result<(SocketStream, Option<IpAddr>)> {
        match self {
            Self::Tcp(listener, _) => {
                let (stream, peer) = listener.accept().await?;
                prepare(&stream, write_timeout);
                Ok((Box::new(stream), Some(peer.ip())))
            }
            #[cfg(unix)]
            Self::Unix(socket) => Ok((Box::new(socket.listener.accept().await?.0), None)),
        }
    }
}

/// Sets the options of a connection, as far as the system supports them.
fn prepare(stream: &TcpStream, write_timeout: Duration) {
    // Small writes must not wait for the acknowledgement of earlier ones.
    let _ = stream.set_nodelay(true);
    // A vanished peer acknowledges nothing, and the writes of a quiet stream may fit into the
    // system's buffer, so a write timeout never applies. By default the system only gives up after
    // about 15 minutes.
    #[cfg(target_os = "linux")]
    {
        /// The system parses this as a signed number.
        const MAX_TIMEOUT_MS: u32 = u32::MAX >> 1;
        let time = u32::try_from(write_timeout.as_millis()).unwrap_or(MAX_TIMEOUT_MS).clamp(1, MAX_TIMEOUT_MS);
        let _ = rustix::net::sockopt::set_tcp_user_timeout(stream, time);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = write_timeout;
}

fn named(address: String, kind: io::ErrorKind, error: &io::Error) -> io::Error {
    io::Error::new(kind, format!("Cannot listen on {address}: {error}"))
}

#[cfg(unix)]
mod unix;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_vanished_peer_is_dropped_by_the_system_within_the_read_timeout() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        for (write_timeout, expected) in
            [(Duration::from_secs(60), 60_000), (Duration::ZERO, 1), (Duration::MAX, u32::MAX >> 1)]
        {
            let (stream, _peer) = tokio::join!(listener.accept(), TcpStream::connect(address));
            let stream = stream.unwrap().0;
            prepare(&stream, write_timeout);
            assert_eq!(rustix::net::sockopt::tcp_user_timeout(&stream).unwrap(), expected);
        }
    }
}
