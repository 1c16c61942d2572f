//! The fixtures that the runners judge: alone, or through `trunkline bridge`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::suite::Scenario;
use crate::language::Language;
use crate::workspace::Workspace;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(super) language: Language,
    /// True if the bridge is between the fixture and the runner.
    pub(super) is_bridged: bool,
}

impl Subject {
    /// The fixtures of these languages.
    pub(crate) fn alone(languages: &[Language]) -> Vec<Self> {
        languages.iter().map(|language| Self { language: *language, is_bridged: false }).collect()
    }

    /// The fixtures that can also be judged through the bridge.
    pub(crate) fn bridged(languages: &[Language]) -> Vec<Self> {
        let of_bridge = languages.iter().filter(|language| language.name == "rust");
        of_bridge.map(|language| Self { language: *language, is_bridged: true }).collect()
    }

    /// The name in reports and of directories.
    pub(super) fn name(self) -> String {
        format!("{}{}", self.language.name, if self.is_bridged { "-bridged" } else { "" })
    }

    pub(super) fn plays(self, scenario: &Scenario) -> bool {
        !self.is_bridged || scenario.unbridged.is_none()
    }

    /// The server over HTTP.
    pub(super) fn server(self, workspace: &Workspace) -> Command {
        if !self.is_bridged {
            let mut command = workspace.command(self.language.server(workspace));
            command.args(["--http", "0"]);
            return command;
        }
        let mut bridge = workspace.command(workspace.built("trunkline"));
        bridge.args(["bridge", "--listen", "127.0.0.1:0", "--inherit-env", "--"]);
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
        Ok(match self.is_bridged {
            true => format!("{client} --through {}", word(&workspace.built("trunkline"))?),
            false if shares_process => format!("{client} --conformance"),
            false => client,
        })
    }
}
