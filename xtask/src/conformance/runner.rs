//! The two lines of the official runner, and the Node that they run on.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::listing;
use super::role::Role;
use crate::process::must;
use crate::workspace::Workspace;

/// The folder in which the runners and their Node are installed.
pub(super) const PACKAGE: &str = "tests/conformance";
/// For one process of a runner: some fifty scenarios, most of which take a fraction of a second.
pub(super) const DEADLINE: Duration = Duration::from_secs(300);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Runner {
    Stable,
    Newest,
}

impl Runner {
    fn alias(self) -> &'static str {
        match self {
            Self::Stable => "conformance-stable",
            Self::Newest => "conformance-newest",
        }
    }

    pub(super) fn version(self) -> &'static str {
        match self {
            Self::Stable => "0.1.16",
            Self::Newest => "0.2.0-alpha.12",
        }
    }

    /// The runner on its own Node, which may be newer than the one of the machine.
    pub(super) fn command(self, workspace: &Workspace, arguments: &[&str]) -> Command {
        let modules = workspace.path(PACKAGE).join("node_modules");
        let mut command =
            workspace.command(modules.join("node/bin").join(format!("node{}", std::env::consts::EXE_SUFFIX)));
        command.arg(modules.join(self.alias()).join("dist/index.js")).args(arguments);
        // A process for each scenario: compiled once for all of them.
        command.env("NODE_COMPILE_CACHE", workspace.target.join("conformance/compile-cache"));
        command
    }

    /// The names of the scenarios of a role: those that count, and those that are only reported.
    pub(super) fn list(
        self,
        workspace: &Workspace,
        role: Role,
        options: &[&str],
    ) -> Result<(Vec<String>, Vec<String>)> {
        let which = format!("--{}", role.word());
        let command = self.command(workspace, &[&["list", which.as_str()], options].concat());
        Ok(listing::read(&must(command, DEADLINE)?.stdout, role))
    }
}
