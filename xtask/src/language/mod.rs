//! The languages. To add one, add its entry to the table, a file with its functions, and its name
//! to `ALL` or `BY_NAME`.

mod c;
pub(crate) mod go;
mod jvm;
mod node;
mod python;
mod ruby;
mod rust;
pub(crate) mod swift;
mod table;

pub(crate) use c::scenarios;
pub(crate) use node::node_test;
pub(crate) use python::pytest;

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Result, bail};

use crate::api::Listing;
use crate::console;
use crate::requirements::TestSyntax;
use crate::test::Step;
use crate::workspace::Workspace;

/// A row of the table. Paths are relative to the root of the tree.
pub(crate) struct Entry {
    /// The name in commands, and of its directories in `tests/fixtures`, `examples` and `benches`.
    pub(crate) name: &'static str,
    /// The name in table headings, and on tabs of the site.
    pub(crate) title: &'static str,
    /// The info strings of its code blocks in Markdown.
    pub(crate) fences: &'static [&'static str],
    /// The pages in `docs` for its users alone.
    pub(crate) pages: &'static [&'static str],
    /// A word of its programs, and the line below those that have it.
    pub(crate) note: Option<(&'static str, &'static str)>,

    /// The source directories of its crates, which are checked for import cycles.
    pub(crate) crates: &'static [&'static str],
    /// The directory of the package with its crate, which must not spell methods of the protocol.
    pub(crate) package: Option<&'static str>,
    /// The directory that the paths of its column in `docs/bindings.md` are relative to.
    pub(crate) modules: Option<&'static str>,
    /// How its public API is listed, if it is.
    pub(crate) api: Option<Listing>,
    /// How its tests are written, for `cargo xtask requirements`.
    pub(crate) tests: TestSyntax,
    /// Its own steps of `cargo xtask test`; those of all languages are in `test/steps.rs`.
    pub(crate) steps: &'static [Step],

    /// The folders of the package, and of the native code that it runs on: prefixes of paths. Its
    /// programs are found by its name.
    pub(crate) folders: &'static [&'static [&'static str]],
    /// Set if another language shares its native code. The short form of the tests then plays only
    /// a share of the conversations over stdio, and a half of the conformance scenarios: of two
    /// languages that are alike, one has this half, and the other one the other.
    pub(crate) half: Option<usize>,
    /// Set if its programs start slowly, in an interpreter or a virtual machine. The short form of
    /// the tests then plays many conformance scenarios in one process of the client.
    pub(crate) starts_slowly: bool,

    /// Finds its compiler or interpreter, or installs it. Without one, the language is left out.
    pub(crate) toolchain: fn() -> Result<()>,
    /// Builds what needs no native library, while cargo builds the crates.
    pub(crate) build_sources: fn(&Workspace) -> Result<()>,
    /// Builds the package and the fixtures, after cargo has built the crates.
    pub(crate) build: fn(&Workspace) -> Result<()>,
    /// Installs its linters and test tools.
    pub(crate) install_tools: fn(&Workspace) -> Result<()>,
    /// Builds the optimized benchmark program of a role, after cargo has built the libraries.
    /// Returns its command line.
    pub(crate) bench: fn(&Workspace, role: &str) -> Result<Vec<PathBuf>>,

    /// The command line that runs `source`, a path without its extension. A compiled program is
    /// called `name`.
    pub(crate) program: fn(workspace: &Workspace, name: &str, source: &Path) -> Vec<PathBuf>,
    /// The command that runs a program as a user would: in its directory, with the interpreter and
    /// the programs next to it available.
    pub(crate) start: fn(workspace: &Workspace, source: &Path) -> Result<Command>,
    /// The command that runs a program from elsewhere, as users paste one into a file. The programs
    /// in its directory may be compiled together.
    pub(crate) start_pasted: fn(&Workspace, source: &Path) -> Result<Command>,
    /// Runs the programs of `docs/snippets`.
    pub(crate) snippets: Snippets,
    /// File extension of the programs in `docs/snippets`.
    pub(crate) snippet_ending: &'static str,
    /// File extensions of the programs in `examples`; the first is that of the examples that every
    /// language has.
    pub(crate) example_endings: &'static [&'static str],
    /// `CMD` of its container file.
    pub(crate) container_command: &'static [&'static str],
}

pub(crate) enum Snippets {
    /// One process runs the programs named by further arguments, and prints a line of JSON for
    /// each.
    Together(fn(&Workspace) -> Result<Command>),
    /// One process per program.
    Alone(fn(&Workspace, source: &Path) -> Result<Command>),
}

/// A part of the files of a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Package,
    Fixtures,
    Examples,
    Snippets,
    Benches,
    /// The program `trunkline`, whose bridge is judged with the fixtures in its language.
    Program,
}

#[derive(Clone, Copy)]
pub(crate) struct Language(&'static Entry);

impl Language {
    pub(crate) const ALL: [Self; 8] = [
        Self(&table::RUST),
        Self(&table::PYTHON),
        Self(&table::NODE),
        Self(&table::C),
        Self(&table::GO),
        Self(&table::KOTLIN),
        Self(&table::JAVA),
        Self(&table::RUBY),
    ];

    /// Languages that are built and run where they are named: the default machine of the tests has
    /// no toolchain of theirs. The pages show them like the others, and they are measured where
    /// their toolchain is.
    const BY_NAME: [Self; 1] = [Self(&table::SWIFT)];

    /// All languages, with or without a toolchain on the default machine.
    pub(crate) fn known() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().chain(Self::BY_NAME)
    }

    /// All languages as pages list them, with those first that most readers look for.
    pub(crate) fn listed() -> Vec<Self> {
        const FIRST: [&str; 2] = ["python", "node"];
        let mut languages: Vec<Self> = Self::known().collect();
        languages.sort_by_key(|language| FIRST.iter().position(|name| *name == language.name).unwrap_or(FIRST.len()));
        languages
    }

    /// Languages of `ALL` whose toolchain is installed or could be.
    pub(crate) fn available() -> &'static [Self] {
        static FOUND: OnceLock<Vec<Language>> = OnceLock::new();
        FOUND.get_or_init(|| {
            let mut languages = Self::ALL.to_vec();
            languages.retain(|language| language.has_toolchain());
            languages
        })
    }

    /// Returns whether its toolchain is installed or could be. Says what is missing.
    pub(crate) fn has_toolchain(self) -> bool {
        let missing = (self.toolchain)().err();
        if let Some(missing) = &missing {
            console::line(&format!("{} is left out: {missing:#}", self.title));
        }
        missing.is_none()
    }

    /// Parses a list such as `python,node`.
    pub(crate) fn parse_list(list: &str) -> Result<Vec<Self>> {
        list.split(',').map(Self::parse).collect()
    }

    fn parse(name: &str) -> Result<Self> {
        match Self::known().find(|language| language.name == name) {
            Some(language) => Ok(language),
            None => {
                let names: Vec<_> = Self::known().map(|one| one.name).collect();
                bail!("there is no language {name:?}; there are {}", names.join(", "))
            }
        }
    }

    /// The language that a page is about, if it is about one.
    pub(crate) fn of_page(page: &str) -> Option<Self> {
        let page = page.strip_prefix("docs/")?;
        Self::known().find(|language| language.pages.contains(&page))
    }

    /// The language of a program in `examples`. `examples/cgo` belongs to C, as that of Lua does.
    pub(crate) fn of_example(source: &Path) -> Option<Self> {
        let ending = source.extension()?.to_str()?;
        let folder = source.parent()?.file_name()?;
        let fitting = || Self::known().filter(|language| language.example_endings.contains(&ending));
        fitting().find(|language| folder == language.name).or_else(|| fitting().next())
    }

    /// Returns whether a file belongs to a part of the language. Paths are relative to the root.
    pub(crate) fn has(self, part: Part, path: &str) -> bool {
        let is_in = |folder: &str| {
            let rest = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
            rest.and_then(|rest| rest.strip_prefix(self.name)).is_some_and(|rest| rest.starts_with('/'))
        };
        match part {
            Part::Package => {
                self.folders.iter().copied().flatten().any(|folder| path.starts_with(folder))
                    || path == format!("xtask/src/language/{}.rs", self.name)
            }
            Part::Fixtures => is_in("tests/fixtures"),
            Part::Benches => is_in("benches"),
            Part::Program => self.name == "rust" && path.starts_with("cli/src/"),
            // Files without a language belong to all, here and among the snippets.
            Part::Examples => match path.strip_prefix("examples/") {
                Some(file) if file.starts_with("deployment/") => file == format!("deployment/{}.Dockerfile", self.name),
                Some(file) => {
                    let folder = file.split('/').next().unwrap_or_default();
                    let owner = Self::known().find(|language| language.name == folder);
                    owner.or_else(|| Self::of_example(Path::new(path))).is_none_or(|owner| owner == self)
                }
                None => false,
            },
            Part::Snippets => {
                let ending = path.strip_prefix("docs/snippets/").and_then(|name| Some(name.rsplit_once('.')?.1));
                ending.is_some_and(|ending| {
                    ending == self.snippet_ending || Self::known().all(|other| ending != other.snippet_ending)
                })
            }
        }
    }

    pub(crate) fn server(self, workspace: &Workspace) -> PathBuf {
        self.launcher(workspace, "server")
    }

    pub(crate) fn client(self, workspace: &Workspace) -> PathBuf {
        self.launcher(workspace, "client")
    }

    /// The command that `cargo xtask build` created for a fixture.
    pub(crate) fn launcher(self, workspace: &Workspace, role: &str) -> PathBuf {
        let extension = if cfg!(windows) { ".cmd" } else { "" };
        workspace.path(&format!("tests/fixtures/{}/{role}{extension}", self.name))
    }

    /// The example with that name, which every language has.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_without_a_toolchain_takes_part_by_name_only() {
        let named = Language::parse_list("rust,swift").unwrap();
        assert_eq!(named.iter().map(|language| language.name).collect::<Vec<_>>(), ["rust", "swift"]);
        assert!(Language::ALL.iter().all(|language| language.name != "swift"));
        let error = Language::parse_list("swfit").err().map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.contains("ruby, swift")));
    }
}
