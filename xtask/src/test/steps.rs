//! The steps of `cargo xtask test` that belong to no language, or to all; those of one language are
//! in its entry.

use anyhow::Result;

use super::{
    Count, Selection, binding_modules, checkout, coverage, deployment, examples, fixed_bounds, methods, programs,
    promises, prose, snippets, suites, wire, workflows,
};
use crate::pages;
use crate::workspace::Workspace;

pub(crate) struct Step {
    pub(super) name: &'static str,
    pub(super) turn: Turn,
    /// Prefixes of paths whose change can break it, in addition to those of `reads::ALWAYS`.
    reads: &'static [&'static str],
    /// True if it also runs for selected languages only, as the steps of an entry do.
    pub(super) each_language: bool,
    pub(super) long: bool,
    pub(super) work: Work,
}

type Work = fn(&Workspace, &Selection) -> Result<Count>;

/// When a step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Needs no build, so it runs concurrently with it.
    Early,
    /// Uses cargo, which locks its build directory: one after the other.
    Cargo,
    /// After the build, concurrently with cargo and others.
    Beside,
    /// Measures time, or reads what other steps wrote, so it runs alone.
    Last,
}

/// Prefixes of paths, relative to the root.
pub(crate) mod reads {
    /// The paths that every step depends on.
    pub(super) const ALWAYS: &[&str] = &["xtask/", "Cargo.", ".cargo/", "rust-toolchain.toml"];
    pub(crate) const EVERYTHING: &[&str] = &[""];
    /// All crates of the workspace, and the programs that their tests run.
    pub(crate) const RUST: &[&str] = &[
        "core/",
        "bindings-c/",
        "bindings-node/native/",
        "bindings-python/src/",
        "bindings-python/Cargo.toml",
        "bindings-uniffi/",
        "tests/",
        "examples/",
        "docs/snippets/",
        "benches/",
        "clippy.toml",
        "rustfmt.toml",
    ];
    /// The fixtures of all languages.
    pub(super) const PROGRAMS: &[&str] = &["core/", "bindings-", "tests/fixtures/", "tests/peers/"];
    /// The same, and the examples that log in.
    pub(crate) const LOGINS: &[&str] =
        &["core/", "bindings-", "tests/authorization-servers.json", "tests/fixtures/", "tests/peers/", "examples/"];
    pub(super) const SCARS: &[&str] = &["core/", "bindings-", "tests/fixtures/", "tests/scars/"];
    pub(super) const VECTORS: &[&str] = &["core/", "bindings-", "tests/fixtures/", "tests/vectors/"];
    pub(super) const MATRIX: &[&str] =
        &["core/", "bindings-", "tests/fixtures/", "tests/matrix/", "tests/peers/", "docs/matrix.md"];
    pub(super) const CONFORMANCE: &[&str] = &["core/", "bindings-", "tests/fixtures/", "tests/conformance/"];
    pub(super) const COUNTED: &[&str] = &["core/", "benches/", "tests/fixtures/rust/"];
    pub(super) const SHOWN: &[&str] = &["core/", "bindings-", "docs/snippets/", "tests/snippets/", "examples/"];
    pub(super) const INSTALLED: &[&str] = &["core/", "bindings-", "docs/snippets/", "README.md"];
    pub(super) const PAGES: &[&str] = &["docs/", "README.md", "SECURITY.md", "examples/", "core/"];
    pub(super) const GENERATED: &[&str] = &[
        "core/",
        "bindings-",
        "benches/",
        "README.md",
        "docs/bridge.md",
        "docs/errors.md",
        "docs/images/",
        "docs/index.md",
        "docs/matrix.md",
        "docs/options.md",
        "docs/performance.md",
    ];
}

impl Step {
    pub(crate) const fn new(turn: Turn, name: &'static str, reads: &'static [&'static str], work: Work) -> Self {
        Self { name, turn, reads, each_language: false, long: false, work }
    }

    /// Only with `--long`. CI runs those that use cargo for each push in a separate job, because
    /// they compile all crates again in different configurations.
    pub(crate) const fn long(mut self) -> Self {
        self.long = true;
        self
    }

    const fn each(turn: Turn, name: &'static str, reads: &'static [&'static str], work: Work) -> Self {
        Self { each_language: true, ..Self::new(turn, name, reads, work) }
    }

    /// Returns whether a change of one of the paths can break it.
    pub(super) fn is_touched(&self, paths: &[String]) -> bool {
        let starts = || reads::ALWAYS.iter().chain(self.reads);
        paths.iter().any(|path| starts().any(|start| path.starts_with(start)))
    }
}

pub(super) const WIRE: &str = "wire purity";

/// Of the steps that wait for the build, the longest come first, so that none is left alone at the
/// end.
pub(super) static SHARED: [Step; 24] = {
    use Turn::{Beside, Cargo, Early, Last};
    [
        Step::new(Early, "methods in bindings", &["core/proto/src/protocol/method.rs", "bindings-"], methods::check),
        Step::new(Early, "requirements", reads::EVERYTHING, |workspace, _| crate::requirements::check(workspace)),
        Step::new(Early, "prose", reads::EVERYTHING, prose::check),
        Step::new(Early, "fixed bounds", reads::PAGES, fixed_bounds::check),
        Step::new(Early, "promises", reads::EVERYTHING, promises::check),
        Step::new(Early, "modules of the bindings", &["bindings-", "docs/bindings.md"], binding_modules::check),
        Step::new(Early, "workflow lint", &[".github/"], workflows::check),
        Step::new(Early, "snippets", reads::PAGES, snippets::check),
        Step::new(Early, "feature by language", reads::SHOWN, coverage::check),
        Step::new(Early, "documentation site", reads::EVERYTHING, |workspace, _| {
            pages::build(workspace).map(|_| Count::one_passed(String::new()))
        }),
        Step::new(Cargo, "generated files", reads::GENERATED, |workspace, _| crate::generate::check(workspace)),
        Step::each(Cargo, "examples", reads::SHOWN, examples::run_all),
        Step::each(Beside, "vectors", reads::VECTORS, suites::vectors),
        Step::each(Beside, "matrix", reads::MATRIX, crate::matrix::check),
        Step::each(Beside, "conformance of clients", reads::CONFORMANCE, |workspace, selection| {
            crate::conformance::passed_clients(workspace, selection, false)
        }),
        Step::each(Beside, "untimed scars", reads::SCARS, |workspace, selection| {
            crate::scars::check(workspace, selection, false)
        }),
        Step::each(Beside, "conformance", reads::CONFORMANCE, |workspace, selection| {
            crate::conformance::servers(workspace, &selection.languages, &[])
        }),
        Step::each(Beside, "programs of snippets", reads::SHOWN, programs::run_all),
        Step::each(Beside, "deployment", reads::SHOWN, deployment::check),
        Step::each(Beside, "installing from a checkout", reads::INSTALLED, checkout::check).long(),
        Step::new(Beside, "instructions", reads::COUNTED, suites::instructions),
        Step::each(Last, "conformance of clients that wait", reads::CONFORMANCE, |workspace, selection| {
            crate::conformance::passed_clients(workspace, selection, true)
        }),
        Step::each(Last, "scars", reads::SCARS, |workspace, selection| crate::scars::check(workspace, selection, true)),
        Step::each(Last, WIRE, reads::PROGRAMS, wire::check),
    ]
};
