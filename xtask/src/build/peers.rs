//! The official SDKs used in tests: two virtual environments (the two release lines of the Python
//! SDK cannot share one) and one npm tree. The Rust SDK is a package of the workspace.

use anyhow::Result;

use crate::build::{node, python};
use crate::workspace::Workspace;

pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    python::make_venv(workspace, "mcp-1", Some(&workspace.path("tests/peers/python/requirements-1.txt")))?;
    python::make_venv(workspace, "mcp-2", Some(&workspace.path("tests/peers/python/requirements-2.txt")))?;
    node::install(workspace, "tests/peers/node")
}
