//! Identifies clients behind reverse proxies. Without an access token, limits apply per client
//! address.

use crate::{
    protocol::describe::{Described, Type},
    server::HttpRequest,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::{
    fmt::{self, Display, Formatter},
    net::{IpAddr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

/// Stands for peers on the Unix socket.
const UNIX_PEER: &str = "unix";
const FORWARDED_FOR: &str = "x-forwarded-for";

/// The reverse proxies whose `X-Forwarded-For` is believed
/// ([`HttpOptions::trusted_proxies`](super::HttpOptions::trusted_proxies)): an address, such as
/// `10.0.0.5`, a network, such as `10.0.0.0/8`, or `unix` for those on the Unix socket.
///
/// ```
/// use trunkline::{HttpOptions, transport::TrustedProxy};
///
/// # fn main() -> Result<(), trunkline::transport::InvalidProxy> {
/// let proxies: [TrustedProxy; 2] = ["10.0.0.0/8".parse()?, "unix".parse()?];
/// let options = HttpOptions::default().with_trusted_proxies(proxies);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedProxy(ProxyAddress);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProxyAddress {
    Unix,
    /// A network: an address and the length of its prefix.
    Network(IpAddr, u8),
}

/// An invalid proxy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither an address, such as 10.0.0.5, nor a network, such as 10.0.0.0/8, nor unix")]
pub struct InvalidProxy(String);

impl TrustedProxy {
    fn has(self, peer: Option<IpAddr>) -> bool {
        match (self.0, peer) {
            (ProxyAddress::Unix, None) => true,
            (ProxyAddress::Network(network, bits), Some(peer)) => first_bits(peer, bits) == first_bits(network, bits),
            _ => false,
        }
    }
}

impl FromStr for TrustedProxy {
    type Err = InvalidProxy;

    fn from_str(text: &str) -> Result<Self, InvalidProxy> {
        if text == UNIX_PEER {
            return Ok(Self(ProxyAddress::Unix));
        }
        let invalid = || InvalidProxy(text.to_owned());
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| invalid())?;
        let all = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => all,
            Some(bits) => bits.parse().ok().filter(|bits| *bits <= all).ok_or_else(invalid)?,
        };
        Ok(Self(ProxyAddress::Network(address, bits)))
    }
}

impl Display for TrustedProxy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            ProxyAddress::Unix => f.write_str(UNIX_PEER),
            ProxyAddress::Network(address, bits) => write!(f, "{address}/{bits}"),
        }
    }
}

impl Serialize for TrustedProxy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TrustedProxy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl Described for TrustedProxy {
    const TYPE: Type = Type::String;
}

/// Identifies the client of a request without an access token: its address, or the network that a
/// single client usually has. `None` if it is unknown or no proxy is trusted.
pub(super) fn client_of(proxies: &[TrustedProxy], request: &HttpRequest) -> Option<String> {
    if proxies.is_empty() {
        return None;
    }
    Some(address_of_client(proxies, request)?.to_string())
}

/// The address of the client of a request, or the network that a single client usually has. Without
/// trusted proxies, that of the peer.
///
/// Each proxy appends the address of its peer, so the last address that is not a trusted proxy is
/// the client. Earlier ones can be forged.
pub(super) fn address_of_client(proxies: &[TrustedProxy], request: &HttpRequest) -> Option<IpAddr> {
    let lines = (!proxies.is_empty()).then(|| request.headers().get_all(FORWARDED_FOR)).into_iter().flatten();
    let names = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
    let mut client = request.remote_address().map(|address| address.to_canonical());
    for name in names.rev() {
        if !proxies.iter().any(|proxy| proxy.has(client)) {
            break;
        }
        let Some(address) = address_of(name.trim()) else { break };
        client = Some(address);
    }
    client.map(network_of)
}

/// An address, or the network that a single client usually has.
pub(super) fn network_of(address: IpAddr) -> IpAddr {
    let address = address.to_canonical();
    first_bits(address, if address.is_ipv4() { 32 } else { 64 })
}

/// An address, with or without a port.
fn address_of(name: &str) -> Option<IpAddr> {
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let with_port = || name.parse::<SocketAddr>().ok().map(|address| address.ip());
    bare.parse::<IpAddr>().ok().or_else(with_port).map(|address| address.to_canonical())
}

/// Clears all but the first bits of an address.
fn first_bits(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
            IpAddr::V4((address.to_bits() & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn request(peer: Option<&str>, forwarded_for: &[&str]) -> HttpRequest {
        let mut request = Request::post("/mcp");
        for line in forwarded_for {
            request = request.header(FORWARDED_FOR, *line);
        }
        let parts = request.body(()).unwrap().into_parts().0;
        HttpRequest::new(parts, peer.map(|peer| peer.parse().unwrap()))
    }

    fn client(proxies: &[&str], peer: Option<&str>, forwarded_for: &[&str]) -> Option<String> {
        let proxies: Vec<_> = proxies.iter().map(|proxy| proxy.parse().unwrap()).collect();
        client_of(&proxies, &request(peer, forwarded_for))
    }

    #[test]
    fn the_client_is_the_last_address_that_is_of_no_trusted_proxy() {
        let proxies = ["10.0.0.0/8", "fd00::1"];
        for (peer, forwarded_for, expected) in [
            ("10.1.2.3", &["198.51.100.7"][..], "198.51.100.7"),
            ("10.1.2.3", &["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
            ("10.1.2.3", &["203.0.113.9", "198.51.100.7, 10.9.9.9"], "198.51.100.7"),
            ("fd00::1", &["198.51.100.7:4711"], "198.51.100.7"),
            ("::ffff:10.1.2.3", &["::ffff:198.51.100.7"], "198.51.100.7"),
            ("10.1.2.3", &["2001:db8:1:2:3:4:5:6"], "2001:db8:1:2::"),
            ("10.1.2.3", &["[2001:db8:1:2:3:4:5:6]:80"], "2001:db8:1:2::"),
            // Anyone can send such headers.
            ("198.51.100.7", &["203.0.113.9"], "198.51.100.7"),
            ("fd00::2", &["203.0.113.9"], "fd00::"),
            ("10.1.2.3", &["203.0.113.9, unknown"], "10.1.2.3"),
            ("10.1.2.3", &[], "10.1.2.3"),
        ] {
            assert_eq!(
                client(&proxies, Some(peer), forwarded_for).as_deref(),
                Some(expected),
                "{peer} {forwarded_for:?}"
            );
        }
        assert_eq!(client(&["unix"], None, &["203.0.113.9"]).as_deref(), Some("203.0.113.9"));
        assert_eq!(client(&["10.0.0.0/8"], None, &["203.0.113.9"]), None, "of the Unix socket");
        assert_eq!(client(&[], Some("10.1.2.3"), &["203.0.113.9"]), None, "no proxy is trusted");
        assert_eq!(
            client(&["0.0.0.0/0"], Some("10.1.2.3"), &["203.0.113.9, 10.1.1.1"]).as_deref(),
            Some("203.0.113.9")
        );
    }

    #[test]
    fn proxies_are_read_and_written_as_texts() {
        for text in ["10.0.0.0/8", "10.0.0.5/32", "fd00::/8", "unix"] {
            assert_eq!(text.parse::<TrustedProxy>().unwrap().to_string(), text);
        }
        assert_eq!("10.0.0.5".parse::<TrustedProxy>().unwrap().to_string(), "10.0.0.5/32");
        for text in ["", "proxy.example", "10.0.0.0/33", "10.0.0.0/x", "10.0.0.0/", "*"] {
            let error = serde_json::from_value::<TrustedProxy>(text.into()).unwrap_err().to_string();
            assert!(error.contains("10.0.0.0/8") && error.contains(&format!("{text:?}")), "{error}");
        }
    }
}
