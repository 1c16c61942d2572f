//! The files that a step reads, declared next to it, so that `--changed` finds the steps that a
//! change can break.

use crate::language::{Language, Part};

/// Files that a step reads. Paths are relative to the root of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Paths that begin like this.
    Path(&'static str),
    /// Paths with this beginning and ending: what linters read. They say little about the other
    /// steps that read such a file.
    Form(&'static str, &'static str),
    /// The crates of the core, without their tests.
    Core,
    /// The tables that the suites of the languages play.
    Tables,
    /// Files of the languages with which the step runs.
    Of(Part),
}

pub(crate) const ALL: Reads = Reads::Form("", "");
pub(crate) const ALL_RUST: Reads = Reads::Form("", ".rs");
pub(crate) const PACKAGE: Reads = Reads::Of(Part::Package);
pub(crate) const FIXTURES: Reads = Reads::Of(Part::Fixtures);
pub(crate) const EXAMPLES: Reads = Reads::Of(Part::Examples);
pub(crate) const SNIPPETS: Reads = Reads::Of(Part::Snippets);
pub(crate) const BENCHES: Reads = Reads::Of(Part::Benches);
pub(crate) const PROGRAM: Reads = Reads::Of(Part::Program);

/// Login examples and fixtures at an authorization server.
pub(crate) const LOGINS: &[Reads] = &[
    Reads::Core,
    PACKAGE,
    FIXTURES,
    EXAMPLES,
    Reads::Path("tests/authorization-servers.json"),
    Reads::Path("tests/peers/"),
];

const TABLES: [&str; 5] = ["exits", "json-readers", "mounts", "odd-answers", "odd-requests"];

/// Files that no step declares but those that read all files, or all of a form.
const UNREAD: [&str; 11] = [
    ".ci/",
    ".editorconfig",
    ".gitattributes",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "ROADMAP.md",
    "VERSIONING.md",
    "benches/",
    "deny.toml",
    "fuzz/",
];

/// Returns whether a file may be declared by no step.
pub(super) fn is_unread(path: &str) -> bool {
    UNREAD.iter().any(|start| path.starts_with(start)) || is_description(path)
}

/// Returns whether a file describes a suite, and is no part of it.
pub(super) fn is_description(path: &str) -> bool {
    path.starts_with("tests/") && path.ends_with("README.md")
}

/// The beginnings of the paths that are declared here.
#[cfg(test)]
pub(super) fn declared() -> impl Iterator<Item = &'static str> {
    UNREAD.into_iter().chain(["core/tests/tls/", "core/bridge/tests/", "core/testing/"])
}

/// Tests outside of a crate's sources, and what only tests of Rust use. The certificates are those
/// of other suites, too.
fn is_core(path: &str) -> bool {
    path.strip_prefix("core/").is_some_and(|rest| {
        let is_test = rest.starts_with("tests/") && !rest.starts_with("tests/tls/");
        !is_test && !rest.starts_with("bridge/tests/") && !rest.starts_with("testing/")
    })
}

impl Reads {
    /// Returns whether a path is among these files, if the step runs with a language.
    pub(super) fn has(self, path: &str, language: Option<Language>) -> bool {
        match self {
            Self::Path(start) => path.starts_with(start),
            Self::Form(start, end) => path.starts_with(start) && path.ends_with(end),
            Self::Core => is_core(path),
            Self::Tables => {
                let name = path.strip_prefix("tests/").and_then(|name| name.strip_suffix(".json"));
                name.is_some_and(|name| TABLES.contains(&name))
            }
            Self::Of(part) => language.is_some_and(|language| language.has(part, path)),
        }
    }

    /// Returns whether the steps that declare a path like this are all that read it.
    pub(super) fn is_rule(self) -> bool {
        !matches!(self, Self::Form(..))
    }
}
