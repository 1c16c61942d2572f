//! The side under test in a file: a server, a client, or both.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::workspace::Workspace;

const FILE: &str = "tests/requirements/sides.json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Side {
    Server,
    Client,
    /// Messages and their parts without a conversation, or conversations that test both ends.
    Both,
}

/// Parts of paths, and the side that their files test. The first match applies; any other file
/// tests a server.
#[derive(Default, Deserialize)]
pub(super) struct Sides(Vec<Row>);

#[derive(Deserialize)]
struct Row {
    path: String,
    side: Side,
}

impl Sides {
    pub(super) fn read(workspace: &Workspace) -> Result<Self> {
        workspace.json(FILE)
    }

    pub(super) fn of_file(&self, file: &str) -> Side {
        self.0.iter().find(|row| file.contains(&row.path)).map_or(Side::Server, |row| row.side)
    }
}

impl Side {
    /// Returns whether a test of this side can prove a requirement on the other one given.
    pub(super) fn proves(self, bound: Self) -> bool {
        self == Self::Both || bound == Self::Both || self == bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_part_that_fits_decides() {
        let sides = Sides::read(&Workspace::find().unwrap()).unwrap();
        for (file, side) in [
            ("core/spine/src/server/request/requests_to_client/tests.rs", Side::Server),
            ("core/spine/src/transport/http_server/http_listener.rs", Side::Server),
            ("core/spine/src/transport/http_client/heads.rs", Side::Client),
            ("core/spine/src/transport/stdio/lines.rs", Side::Both),
            ("bindings-c/tests/client_requests.rs", Side::Server),
            ("bindings-c/tests/c/suite_client.c", Side::Client),
            ("bindings-node/test/client.test.mjs", Side::Client),
            ("bindings-node/test/tools.test.mjs", Side::Server),
        ] {
            assert_eq!(sides.of_file(file), side, "{file}");
        }
    }
}
