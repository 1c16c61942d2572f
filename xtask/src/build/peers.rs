//! The official SDKs that the tests meet: two virtual environments (the two lines of the Python SDK cannot share one) and one npm tree.
//! The Rust SDK is a package of the workspace.

use anyhow::Result;

use crate::build::{node, python};
use crate::house::House;

pub(crate) fn install(house: &House) -> Result<()> {
    python::make_venv(house, "mcp-1", Some(&house.path("tests/peers/python/requirements-1.txt")))?;
    python::make_venv(house, "mcp-2", Some(&house.path("tests/peers/python/requirements-2.txt")))?;
    node::install(house, "tests/peers/node")
}
