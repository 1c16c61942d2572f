//! The fixtures that the runners judge: alone, or through `trunkline bridge`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::role::Role;
use super::suite::{MODERN, Scenario, Suite};
use crate::language::Language;
use crate::workspace::Workspace;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(super) language: Language,
    pub(super) through: Through,
}

/// The program between the fixture and the runner.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Through {
    Nothing,
    Bridge,
    /// A bridge that speaks 2025-11-25 to the server: a legacy server for clients of the modern
    /// revision.
    Lift,
}

impl Subject {
    /// The fixtures of these languages.
    pub(crate) fn alone(languages: &[Language]) -> Vec<Self> {
        languages.iter().map(|language| Self { language: *language, through: Through::Nothing }).collect()
    }

    /// The fixtures that can also be judged through the bridge.
    pub(crate) fn bridged(languages: &[Language], role: Role) -> Vec<Self> {
        let ways: &[Through] = match role {
            Role::Server => &[Through::Bridge, Through::Lift],
            Role::Client => &[Through::Bridge],
        };
        let of_bridge = languages.iter().filter(|language| language.name == "rust");
        of_bridge
            .flat_map(|language| ways.iter().map(|through| Self { language: *language, through: *through }))
            .collect()
    }

    /// The name in reports and of directories.
    pub(super) fn name(self) -> String {
        let ending = match self.through {
            Through::Nothing => "",
            Through::Bridge => "-bridged",
            Through::Lift => "-lifted",
        };
        format!("{}{ending}", self.language.name)
    }

    pub(super) fn plays(self, suite: &Suite, scenario: &Scenario) -> bool {
        let is_possible = self.through == Through::Nothing || scenario.unbridged.is_none();
        is_possible && (self.through != Through::Lift || suite.revision == Some(MODERN))
    }

    /// The server over HTTP.
    pub(super) fn server(self, workspace: &Workspace) -> Command {
        if self.through == Through::Nothing {
            let mut command = workspace.command(self.language.server(workspace));
            command.args(["--http", "0"]);
            return command;
        }
        let mut bridge = workspace.command(workspace.built("trunkline"));
        bridge.args(["bridge", "--listen", "127.0.0.1:0", "--inherit-env"]);
        if self.through == Through::Lift {
            bridge.args(["--era", "legacy"]);
        }
        bridge.arg("--");
        bridge.arg(self.language.server(workspace)).arg("--stdio");
        bridge
    }

    /// The client, to which the runner adds a URL.
    pub(super) fn client(self, workspace: &Workspace, shares_process: bool) -> Result<String> {
        let word = |path: &Path| {
            let path = path.to_str().filter(|path| !path.contains(char::is_whitespace)).map(str::to_owned);
            path.context("the runner splits its command at blanks: the path of the tree has one")
        };
        let client = word(&self.language.client(workspace))?;
        Ok(match self.through {
            Through::Bridge | Through::Lift => format!("{client} --through {}", word(&workspace.built("trunkline"))?),
            Through::Nothing if shares_process => format!("{client} --conformance"),
            Through::Nothing => client,
        })
    }
}
