//! The side under test in a file: a server, a client, or both.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Server,
    Client,
    /// Messages and their parts without a conversation, or conversations that test both ends.
    Both,
}

/// Parts of paths, and the side that their files test. The first match applies; any other file
/// tests a server.
const SIDES: [(&str, Side); 37] = {
    use Side::{Both, Client, Server};
    [
        ("tests/vectors/client/", Client),
        ("tests/vectors/", Server),
        ("tests/wire/", Both),
        // The rules for client input are applied by servers, and those for header parameters by
        // both sides.
        ("core/proto/src/protocol/", Both),
        ("core/proto/src/engine/client", Client),
        ("core/proto/src/engine/negotiation", Client),
        ("core/proto/src/engine/outgoing", Both),
        ("core/proto/src/engine/params", Client),
        ("core/proto/src/http/mirror", Both),
        ("core/proto/src/http/event_stream", Both),
        // A server's requests to its client.
        ("core/src/server/", Server),
        ("core/src/client/", Client),
        ("core/src/negotiation_cache", Client),
        ("core/src/transport/http_client/", Client),
        ("core/src/transport/http_fetch", Client),
        ("core/src/transport/http_server/", Server),
        ("core/src/transport/child", Client),
        ("core/src/transport/oauth/", Client),
        ("core/src/transport/stdio/standard_streams", Server),
        ("core/src/transport/", Both),
        ("core/tests/it/client", Client),
        ("core/tests/it/memory", Both),
        ("core/tests/it/envelope", Both),
        ("core/tests/http_client", Client),
        ("core/tests/typed", Both),
        ("core/bridge/", Both),
        // Servers that send requests to clients, and both ends in one program.
        ("bindings-c/tests/client_requests", Server),
        ("bindings-c/tests/c/suite_client_requests", Server),
        ("bindings-c/tests/c/suite_features", Server),
        ("bindings-c/tests/c/suite_client", Client),
        ("bindings-c/tests/c/suite_host", Both),
        ("bindings-c/tests/c/suite", Both),
        // The clients of the bindings.
        ("client", Client),
        ("group.", Client),
        ("test_connecting", Client),
        ("test_lifecycle", Both),
        ("host.", Both),
    ]
};

impl Side {
    pub(super) fn of_file(file: &str) -> Self {
        SIDES.iter().find(|(part, _)| file.contains(part)).map_or(Self::Server, |(_, side)| *side)
    }

    /// Returns whether a test of this side can prove a requirement on `client`, `server` or `both`.
    pub(super) fn proves(self, side: &str) -> bool {
        match side {
            "client" => self != Self::Server,
            "server" => self != Self::Client,
            _ => true,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::Both => "both",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_part_that_fits_decides() {
        for (file, side) in [
            ("core/src/server/request/client_request/tests.rs", Side::Server),
            ("core/src/transport/http_server/http_listener.rs", Side::Server),
            ("core/src/transport/http_client/heads.rs", Side::Client),
            ("core/src/transport/stdio/lines.rs", Side::Both),
            ("bindings-c/tests/client_requests.rs", Side::Server),
            ("bindings-c/tests/c/suite_client.c", Side::Client),
            ("bindings-node/test/client.test.mjs", Side::Client),
            ("bindings-node/test/tools.test.mjs", Side::Server),
        ] {
            assert_eq!(Side::of_file(file), side, "{file}");
        }
    }
}
