//! The languages, and all that xtask knows of each: a new one is a file beside this one with its
//! entry, and its name in `ALL`.

mod c;
mod node;
mod python;
mod rust;

pub(crate) use c::scenarios;
pub(crate) use node::node_test;
pub(crate) use python::pytest;

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::requirements::TestSyntax;
use crate::test::Step;
use crate::workspace::Workspace;

/// What a language's file declares. Paths start at the root of the tree.
pub(crate) struct Entry {
    /// In commands, and of its folders in `tests/fixtures`, `examples` and `benches`.
    pub(crate) name: &'static str,
    /// In the head of tables, and on tabs of the site.
    pub(crate) title: &'static str,
    /// The words that open a block of its code in Markdown.
    pub(crate) fences: &'static [&'static str],

    /// The folders of its crates' sources: checked for import circles.
    pub(crate) crates: &'static [&'static str],
    /// The folder of the package above its crate.
    pub(crate) package: Option<&'static str>,
    /// The folder that the paths of its column in `docs/bindings.md` start from.
    pub(crate) rooms: Option<&'static str>,
    /// The ways in which its tests are written, for `cargo xtask requirements`.
    pub(crate) tests: TestSyntax,
    /// Its own steps of `cargo xtask test`; those for all languages are in `test/steps.rs`.
    pub(crate) steps: &'static [Step],

    /// Builds the package and the fixtures, after cargo has built the crates.
    pub(crate) build: fn(&Workspace) -> Result<()>,
    /// Installs its linters and test tools.
    pub(crate) install_tools: fn(&Workspace) -> Result<()>,
    /// Builds the optimised programs of the benchmark, after cargo has built `bench_crate`.
    pub(crate) build_bench: fn(&Workspace) -> Result<()>,
    pub(crate) bench_crate: &'static str,

    /// The words that run `source`, a path without its ending. A compiled program is called `name`.
    pub(crate) program: fn(workspace: &Workspace, name: &str, source: &Path) -> Vec<PathBuf>,
    /// The command that runs a program as its reader would: in its folder, with the interpreter and
    /// the programs beside it at hand.
    pub(crate) start: fn(workspace: &Workspace, source: &Path) -> Result<Command>,
    /// Runs the programs of `docs/snippets`.
    pub(crate) snippets: Snippets,
    /// Ending of the programs in `docs/snippets`.
    pub(crate) snippet_ending: &'static str,
    /// Endings of the programs in `examples`; the first is that of those that every language has.
    pub(crate) example_endings: &'static [&'static str],
    /// The interpreter of the example of a login, if it has one.
    pub(crate) login: Option<fn(&Workspace) -> PathBuf>,
    /// `CMD` of its container file.
    pub(crate) container_command: &'static [&'static str],
}

pub(crate) enum Snippets {
    /// One process runs those whose names follow, and prints a line of JSON for each.
    Together(fn(&Workspace) -> Result<Command>),
    /// A process each.
    Alone(fn(&Workspace, stem: &str) -> Result<Command>),
}

#[derive(Clone, Copy)]
pub(crate) struct Language(&'static Entry);

impl Language {
    pub(crate) const ALL: [Self; 4] = [Self(&rust::ENTRY), Self(&python::ENTRY), Self(&node::ENTRY), Self(&c::ENTRY)];

    /// Reads `python,node`.
    pub(crate) fn parse_list(list: &str) -> Result<Vec<Self>> {
        list.split(',').map(Self::parse).collect()
    }

    fn parse(name: &str) -> Result<Self> {
        match Self::ALL.into_iter().find(|language| language.name == name) {
            Some(language) => Ok(language),
            None => bail!("there is no language {name:?}; there are {}", Self::ALL.map(|one| one.name).join(", ")),
        }
    }

    /// The language of a program in `examples`.
    pub(crate) fn of_example(source: &Path) -> Option<Self> {
        let ending = source.extension()?.to_str()?;
        Self::ALL.into_iter().find(|language| language.example_endings.contains(&ending))
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
        workspace.path(&format!("tests/fixtures/{}/{role}{extension}", self.name))
    }

    /// The example of that name, which every language has.
    pub(crate) fn example(self, workspace: &Workspace, name: &str) -> PathBuf {
        workspace.path(&format!("examples/{}/{name}.{}", self.name, self.example_endings[0]))
    }
}

impl Deref for Language {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        self.0
    }
}

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Language {}
