//! Swift: the package for Linux and Apple's platforms, with `swift format` and Swift Testing.
//! Debian 12 has no Swift, so the entry is not in `ALL`.

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::{Entry, Snippets};
use crate::build::swift::{FIXTURES, PACKAGE, build, program, swift};
use crate::build::system;
use crate::process::run;
use crate::requirements::TestSyntax;
use crate::stamp::files_under;
use crate::test::lint::one;
use crate::test::results::of_swift;
use crate::test::{Count, Selection, Step, Turn, suites};
use crate::workspace::Workspace;

pub(super) static ENTRY: Entry = Entry {
    name: "swift",
    title: "Swift",
    fences: &["swift"],
    crates: &["bindings-uniffi/native"],
    package: Some("bindings-uniffi/swift/Sources/Trunkline"),
    modules: None,
    tests: TestSyntax {
        is_file: |name, _| name.ends_with("Tests.swift"),
        is_whole: |_| true,
        above: &["//", "@Test"],
        functions: &["@Test func "],
        test: |line, _| line.strip_prefix("@Test func ").and_then(|rest| rest.split('(').next()),
    },
    steps: &[
        Step::new(Turn::Beside, "swift lint", &[PACKAGE, FIXTURES], lint),
        Step::new(Turn::Beside, "swift tests", &["core/", "bindings-uniffi/", "tests/fixtures/swift/"], tests),
    ],
    toolchain: || system::swift().map(drop),
    meets_all: false,
    build,
    install_tools: |_| Ok(()),
    build_bench: |_| bail!("there are no benchmarks in Swift"),
    bench_crate: "trunkline-uniffi",
    program: |workspace, name, _| vec![program(workspace, name)],
    start: |_, source| bail!("{} cannot be started: programs in Swift are part of a package", source.display()),
    snippets: Snippets::Alone(|_, stem| bail!("there is no snippet {stem} in Swift")),
    snippet_ending: "swift",
    example_endings: &["swift"],
    login: None,
    container_command: &[],
};

fn lint(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut lint = workspace.command(system::swift()?);
    lint.args(["format", "lint", "--strict", "--configuration"]);
    lint.arg(workspace.path(PACKAGE).join(".swift-format"));
    for folder in [PACKAGE, FIXTURES] {
        let is_ours = |file: &PathBuf| {
            let path = file.to_string_lossy();
            path.ends_with(".swift") && !path.contains("/generated/") && !path.contains("/.build/")
        };
        lint.args(files_under(&workspace.path(folder))?.into_iter().filter(is_ours));
    }
    one(lint)
}

fn tests(workspace: &Workspace, _: &Selection) -> Result<Count> {
    Ok(of_swift(&run(swift(workspace, "test", PACKAGE, "package"), suites::DEADLINE)?))
}
