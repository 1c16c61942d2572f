//! The two release lines of the official runner, and the Node that they run on.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::json;

use super::listing;
use super::role::Role;
use crate::process::{Process, must, tail};
use crate::workspace::Workspace;

/// The directory where the runners and their Node are installed.
pub(super) const PACKAGE: &str = "tests/conformance";
/// For one runner process: about fifty scenarios, most of which take a fraction of a second.
pub(super) const RUNNER_TIMEOUT: Duration = Duration::from_secs(300);

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

    pub(super) fn command(self, workspace: &Workspace, arguments: &[&str]) -> Command {
        let mut command = node(workspace);
        command.arg(modules(workspace).join(self.alias()).join("dist/index.js")).args(arguments);
        command
    }

    /// The names of a role's scenarios: those that count, and those that are only reported.
    pub(super) fn list(
        self,
        workspace: &Workspace,
        role: Role,
        options: &[&str],
    ) -> Result<(Vec<String>, Vec<String>)> {
        let which = format!("--{}", role.word());
        let command = self.command(workspace, &[&["list", which.as_str()], options].concat());
        Ok(listing::read(&must(command, RUNNER_TIMEOUT)?.stdout, role))
    }
}

/// Processes that run several command lines of the runners and load the runners' modules only once
/// (`tests/conformance/scenarios.mjs`).
pub(super) struct Loaded<'a> {
    workspace: &'a Workspace,
    idle: Mutex<Vec<Process>>,
}

/// A finished command line.
#[derive(Deserialize)]
pub(super) struct Ended {
    pub(super) status: i32,
    /// The output.
    pub(super) said: String,
}

impl<'a> Loaded<'a> {
    pub(super) fn new(workspace: &'a Workspace) -> Self {
        Self { workspace, idle: Mutex::default() }
    }

    /// Runs a command line. A process that does not finish in time is killed, which affects no
    /// other command line.
    pub(super) fn run(&self, runner: Runner, arguments: &[&str]) -> Result<Ended> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let free = idle().pop();
        let mut process = free.map_or_else(|| self.start(), Ok)?;
        process.write_line(&json!({"runner": runner.alias(), "arguments": arguments}).to_string())?;
        let line = process.stdout_line(Instant::now() + RUNNER_TIMEOUT);
        let line = line.with_context(|| format!("no end of it: {}", tail(&process.last_words(), 5)))?;
        idle().push(process);
        serde_json::from_str(&line).with_context(|| format!("no end of a run, but {line:?}"))
    }

    fn start(&self) -> Result<Process> {
        let mut command = node(self.workspace);
        command.arg(self.workspace.path(PACKAGE).join("scenarios.mjs"));
        Process::start(command)
    }
}

/// The Node of the runners, which may be newer than that of the machine.
fn node(workspace: &Workspace) -> Command {
    workspace.command(modules(workspace).join("node/bin").join(format!("node{}", std::env::consts::EXE_SUFFIX)))
}

fn modules(workspace: &Workspace) -> PathBuf {
    workspace.path(PACKAGE).join("node_modules")
}
