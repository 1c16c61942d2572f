//! The languages that have a fixture server and a fixture client.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Rust,
    Python,
    Node,
    C,
}

impl Language {
    pub(crate) const ALL: [Self; 4] = [Self::Rust, Self::Python, Self::Node, Self::C];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::Node => "node",
            Self::C => "c",
        }
    }

    /// Reads `python,node`.
    pub(crate) fn parse_list(list: &str) -> Result<Vec<Self>> {
        list.split(',').map(Self::parse).collect()
    }

    fn parse(name: &str) -> Result<Self> {
        match Self::ALL.into_iter().find(|language| language.name() == name) {
            Some(language) => Ok(language),
            None => bail!("there is no language {name:?}; there are rust, python, node and c"),
        }
    }

    pub(crate) fn server(self, workspace: &Workspace) -> PathBuf {
        self.launcher(workspace, "server")
    }

    pub(crate) fn client(self, workspace: &Workspace) -> PathBuf {
        self.launcher(workspace, "client")
    }

    /// The command that `cargo xtask build` wrote for a fixture.
    pub(crate) fn launcher(self, workspace: &Workspace, role: &str) -> PathBuf {
        let extension = if cfg!(windows) { ".cmd" } else { "" };
        workspace.root.join("tests").join("fixtures").join(self.name()).join(format!("{role}{extension}"))
    }
}
