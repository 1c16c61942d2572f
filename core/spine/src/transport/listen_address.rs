//! Addresses to listen on.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6},
};

/// An address to listen on: `"host:port"`, a host and a port, or a [`SocketAddr`]. Unlike
/// [`std::net::ToSocketAddrs`], it keeps the host name and does no lookup.
pub trait ListenAddress {
    /// The host and the port.
    ///
    /// # Errors
    /// If the string is malformed.
    fn into_host_and_port(self) -> io::Result<(String, u16)>;
}

impl ListenAddress for &str {
    fn into_host_and_port(self) -> io::Result<(String, u16)> {
        let wrong = || {
            io::Error::new(io::ErrorKind::InvalidInput, format!("{self:?} is not an address such as 127.0.0.1:8000"))
        };
        let (host, port) = self.rsplit_once(':').ok_or_else(wrong)?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok((host, port.parse().map_err(|_| wrong())?))
    }
}

impl ListenAddress for String {
    fn into_host_and_port(self) -> io::Result<(String, u16)> {
        self.as_str().into_host_and_port()
    }
}

impl ListenAddress for &String {
    fn into_host_and_port(self) -> io::Result<(String, u16)> {
        self.as_str().into_host_and_port()
    }
}

macro_rules! socket_addresses {
    ($($address:ty),*) => {
        $(impl ListenAddress for $address {
            fn into_host_and_port(self) -> io::Result<(String, u16)> {
                Ok((self.ip().to_string(), self.port()))
            }
        })*
    };
}

socket_addresses!(SocketAddr, SocketAddrV4, SocketAddrV6);

macro_rules! host_and_port {
    ($($host:ty),*) => {
        $(impl ListenAddress for ($host, u16) {
            fn into_host_and_port(self) -> io::Result<(String, u16)> {
                Ok((self.0.to_string(), self.1))
            }
        })*
    };
}

host_and_port!(&str, String, IpAddr, Ipv4Addr, Ipv6Addr);
