//! Rust: the core, and the crates of the bindings.

use anyhow::Result;

use super::{Entry, Snippets};
use crate::bench::builds;
use crate::build::rust::{PACKAGES, cargo};
use crate::build::system;
use crate::process::run;
use crate::requirements::TestSyntax;
use crate::stamp::files_under;
use crate::test::lint::{one, silent};
use crate::test::results::of_cargo;
use crate::test::{Count, Selection, Step, Turn, circles, dependencies, features, reads, rust_docs, suites};
use crate::workspace::Workspace;

pub(super) static ENTRY: Entry = Entry {
    name: "rust",
    title: "Rust",
    fences: &["rust", "rs"],
    crates: &["core/proto/src", "core/src", "core/bridge/src"],
    package: None,
    modules: None,
    tests: TestSyntax {
        is_file: |name, _| name.ends_with(".rs"),
        // Other files have a test module at the end.
        is_whole: |file| {
            file.contains("/tests/") || file.ends_with("/tests.rs") || file.starts_with("tests/vectors/runner/")
        },
        above: &["//", "#["],
        functions: &["fn ", "async fn ", "pub ", "impl ", "struct ", "mod "],
        test: |line, marked| line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ").filter(|_| marked),
    },
    steps: &[
        Step::new(Turn::Early, "rust format", reads::RUST, format),
        Step::new(Turn::Cargo, "rust clippy", reads::RUST, clippy),
        Step::new(Turn::Early, "import circles", reads::RUST, circles::check),
        Step::new(
            Turn::Early,
            "dependencies",
            &["deny.toml", "core/LICENSE", "core/proto/LICENSE", "docs/dependencies.md"],
            dependencies::check,
        ),
        Step::new(Turn::Cargo, TESTS, reads::RUST, tests),
        Step::new(Turn::Cargo, "rust doc", reads::RUST, doc).long(),
        Step::new(Turn::Cargo, "cargo features", reads::RUST, features::check).long(),
        Step::new(Turn::Last, "models of the waist", &["core/bridge/"], suites::models_of_the_waist).long(),
    ],
    toolchain: || Ok(()),
    meets_all: true,
    build: |_| Ok(()),
    install_tools: |_| Ok(()),
    build_bench: builds::our_rust,
    bench_crate: "bench-rust",
    program: |workspace, name, _| vec![workspace.built(name)],
    start: |workspace, source| {
        let stem = source.file_stem().unwrap_or_default().to_string_lossy();
        Ok(workspace.command(workspace.built(&format!("examples/{stem}"))))
    },
    // All snippets are one program, which takes the name of a snippet.
    snippets: Snippets::Alone(|workspace, stem| {
        let mut command = workspace.command(workspace.built("examples/snippets"));
        command.arg(stem);
        Ok(command)
    }),
    snippet_ending: "rs",
    example_endings: &["rs"],
    login: None,
    container_command: &["server"],
};

/// For both languages: a test of bindings-c builds and runs the programs in C.
pub(super) const TESTS: &str = "rust and c tests";

/// Rust packages with their own dependencies.
const OUTSIDE_OF_WORKSPACE: [&str; 2] = ["benches/load", "benches/peers/rmcp"];
/// Tests in Rust mostly wait, so run more of them than there are processors.
const TESTS_AT_ONCE: &str = "4";

fn format(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut members = workspace.cargo();
    members.args(["fmt", "--all", "--check"]);
    let mut count = one(members)?;
    for package in OUTSIDE_OF_WORKSPACE {
        let mut cargo = workspace.cargo();
        cargo.args(["fmt", "--check", "--manifest-path"]).arg(workspace.path(package).join("Cargo.toml"));
        count = count.and(one(cargo)?);
    }
    // The snippets are included as modules, which hides them from cargo.
    let files = files_under(&workspace.path("docs/snippets"))?;
    let mut rustfmt = workspace.command("rustfmt");
    rustfmt.args(["--check", "--edition", "2024"]);
    rustfmt.args(files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "rs")));
    Ok(count.and(one(rustfmt)?))
}

/// Shows the warnings of the builds, which compile with clippy (build/rust.rs). As in the builds,
/// xtask is separate, so that the features of all other crates stay the same. Those of its crates
/// that cargo compiled for this program are reused.
fn clippy(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut programs = cargo(workspace);
    programs.args(["build", "--quiet", "--all-targets"]).args(PACKAGES);
    let mut xtask = cargo(workspace);
    xtask.args(["test", "--quiet", "--no-run", "--package", "xtask"]);
    Ok(silent(programs)?.and(silent(xtask)?))
}

/// Tests the workspace members, then xtask itself (build/rust.rs explains why it is separate).
pub(super) fn tests(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    system::redis_server()?;
    let mut members = test_command(workspace);
    if !selection.languages.iter().any(|language| language.name == ENTRY.name) {
        members.args(["--test", "c"]);
        return Ok(of_cargo(&run(members, suites::DEADLINE)?));
    }
    let mut own = cargo(workspace);
    own.args(["test", "--package", "xtask"]);
    Ok(of_cargo(&run(members, suites::DEADLINE)?).and(of_cargo(&run(own, suites::DEADLINE)?)))
}

pub(super) fn test_command(workspace: &Workspace) -> std::process::Command {
    let mut members = cargo(workspace);
    members.args(["test", "--no-fail-fast"]).args(PACKAGES);
    // The programs in C are already built; built separately, with other features, they would be
    // built again.
    members.env("TRUNKLINE_PREBUILT", "1");
    members.env("RUST_TEST_THREADS", TESTS_AT_ONCE);
    members
}

/// The published crates.
fn doc(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut cargo = workspace.cargo();
    cargo.args(["doc", "--quiet", "--no-deps", "--package", "trunkline-proto", "--package", "trunkline"]);
    cargo.args(["--package", "trunkline-bridge"]).env("RUSTDOCFLAGS", "-D warnings");
    let count = one(cargo)?;
    Ok(if count.failed == 0 { count.and(rust_docs::check(workspace)?) } else { count })
}
