//! The network access of a client's authorization. It protects private networks from requests that
//! a server provokes.

use super::super::http_fetch::{FetchClient, FetchClients, bounded};
use crate::{
    auth::{AuthNetwork, FetchError, NetworkAccess},
    runtime::BoxedTask,
};
use bytes::Bytes;
use http::{Request, Response, Uri};
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};
use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

/// Makes requests over the network, without redirects and with responses of at most 512 KiB. If
/// only public addresses are allowed, it checks the addresses that it connects to, not only names,
/// except where a proxy from the environment connects, which resolves names itself.
#[derive(Clone, Default)]
pub struct HttpNetwork {
    clients: Arc<NetworkClients>,
}

#[derive(Default)]
struct NetworkClients {
    /// For public addresses, without a proxy.
    public: FetchClient,
    anywhere: FetchClients,
}

/// Returns whether a proxy connects to a URL for us. Its own address is often private.
fn is_proxied(url: &str, proxies: &Matcher) -> bool {
    url.parse::<Uri>().is_ok_and(|url| proxies.intercept(&url).is_some())
}

impl AuthNetwork for HttpNetwork {
    fn fetch(&self, request: Request<Bytes>, access: NetworkAccess) -> BoxedTask<Result<Response<Bytes>, FetchError>> {
        let network = self.clone();
        Box::pin(async move {
            let uri = request.uri().to_string();
            let failed = |text: &str| FetchError(format!("{uri} {text}"));
            let host = HostNetwork::of(&Url::parse(&uri).map_err(|_| failed("is not a URL"))?);
            if access == NetworkAccess::Public && matches!(host, HostNetwork::Here | HostNetwork::Private) {
                return Err(failed("is in a private network, but the server that named it is not"));
            }
            let client = if access == NetworkAccess::Public && !is_proxied(&uri, &Matcher::from_system()) {
                network.clients.public.with(|builder| builder.no_proxy().dns_resolver(Arc::new(PublicOnly)))?
            } else {
                network.clients.anywhere.of(host == HostNetwork::Here)?
            };
            let request = request.try_into().map_err(|_| failed("is not a valid request URL"))?;
            bounded(client, request, &uri).await
        })
    }

    fn access_of(&self, url: &str, peer: Option<IpAddr>) -> NetworkAccess {
        let is_private = match Url::parse(url).as_ref().map(HostNetwork::of) {
            Ok(HostNetwork::Here | HostNetwork::Private) => true,
            Ok(HostNetwork::Named) => peer.is_some_and(is_private),
            Ok(HostNetwork::Public) | Err(_) => false,
        };
        if is_private { NetworkAccess::Anywhere } else { NetworkAccess::Public }
    }
}

/// The network of a URL's host, as far as the URL alone tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HostNetwork {
    /// This machine.
    Here,
    /// An address of a private network.
    Private,
    /// A public address.
    Public,
    /// A host name.
    Named,
}

impl HostNetwork {
    fn of(url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default();
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        match bare.parse::<IpAddr>() {
            Ok(address) if address.is_loopback() => Self::Here,
            Ok(address) if is_private(address) => Self::Private,
            Ok(_) => Self::Public,
            Err(_) if bare.eq_ignore_ascii_case("localhost") || bare.ends_with(".localhost") => Self::Here,
            Err(_) => Self::Named,
        }
    }
}

/// Resolves names to public addresses only.
struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if found.iter().any(|address| is_private(address.ip())) {
                let text = "it is in a private network, but the server that named it is not";
                return Err(std::io::Error::other(text).into());
            }
            let found: Addrs = Box::new(found.into_iter());
            Ok(found)
        })
    }
}

/// Returns whether an address is not on the public internet: private, loopback, link-local or not a
/// host's address.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || first == 0
        || first >= 240
        // Carrier-grade NAT (RFC 6598), protocol assignments (RFC 6890), benchmarks (RFC 2544).
        || (first == 100 && (64..128).contains(&second))
        || (first == 192 && second == 0 && third == 0)
        || (first == 198 && (18..20).contains(&second))
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    // Addresses that embed an IPv4 address: mapped, compatible, NAT64 (RFC 6052), 6to4 (RFC 3056).
    let [high, low] = match segments {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            [high, low]
        }
        _ => {
            // Unique local, link-local, the former site-local (RFC 3879), and local-use NAT64 (RFC
            // 8215).
            return address.is_multicast()
                || segments[0] & 0xfe00 == 0xfc00
                || matches!(segments[0] & 0xffc0, 0xfe80 | 0xfec0)
                || segments[..3] == [0x64, 0xff9b, 1];
        }
    };
    is_private_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sec_11_and_sec_13_private_addresses_are_known_in_all_their_forms() {
        for address in [
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "127.0.0.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fec0::1",
            "feff::1",
            "64:ff9b:1::808:808",
            "fd00::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
        ] {
            assert!(is_private(address.parse().unwrap()), "{address}");
        }
        for address in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
        {
            assert!(!is_private(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn sec_11_addresses_are_checked_wherever_no_proxy_connects() {
        let proxies = Matcher::builder().https("http://10.0.0.1:3128").no("vm,.corp.example").build();
        for (url, expected) in [
            ("https://auth.example/x", true),
            ("https://vm/x", false),
            ("https://auth.corp.example/x", false),
            ("http://auth.example/x", false),
        ] {
            assert_eq!(is_proxied(url, &proxies), expected, "{url}");
        }
        assert!(!is_proxied("https://auth.example/x", &Matcher::builder().https("").build()));
    }

    #[tokio::test]
    async fn sec_11_to_sec_14_a_public_server_does_not_lead_into_private_networks() {
        let network = HttpNetwork::default();
        for url in [
            "http://127.0.0.1:1/",
            "http://localhost:1/",
            "https://10.0.0.1/",
            "https://[::ffff:10.0.0.1]/",
            "https://2130706433/",
        ] {
            let request = Request::get(url).body(Bytes::new()).unwrap();
            let error = network.fetch(request, NetworkAccess::Public).await.unwrap_err();
            assert!(error.0.contains("private network"), "{error}");
        }
        // Names are checked after they are resolved.
        let name: Name = "localhost".parse().unwrap();
        assert!(PublicOnly.resolve(name).await.is_err());
        for url in ["http://127.0.0.1:1/", "http://localhost/mcp#unix:/run/x", "https://192.168.0.1/mcp"] {
            assert_eq!(network.access_of(url, None), NetworkAccess::Anywhere, "{url}");
        }
        // The address of the peer decides, not the address that the name resolves to now.
        for (url, peer, access) in [
            ("https://8.8.8.8/mcp", Some("10.0.0.1"), NetworkAccess::Public),
            ("https://localtest.example/mcp", Some("8.8.8.8"), NetworkAccess::Public),
            ("https://localtest.example/mcp", Some("10.0.0.1"), NetworkAccess::Anywhere),
            ("https://localtest.example/mcp", None, NetworkAccess::Public),
        ] {
            let peer = peer.map(|address| address.parse().unwrap());
            assert_eq!(network.access_of(url, peer), access, "{url} {peer:?}");
        }
    }
}
