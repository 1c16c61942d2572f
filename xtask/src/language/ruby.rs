//! Ruby: the gem, with `ruby -wc`, minitest and the wire vectors.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::{Entry, Snippets};
use crate::bench::builds;
use crate::build::{launchers, system};
use crate::process::run;
use crate::requirements::TestSyntax;
use crate::stamp::{copy_if_changed, files_under};
use crate::test::lint::one;
use crate::test::results::of_minitest;
use crate::test::{Count, Selection, Step, Turn, suites};
use crate::workspace::Workspace;

pub(super) static ENTRY: Entry = Entry {
    name: "ruby",
    title: "Ruby",
    fences: &["ruby", "rb"],
    crates: &["bindings-uniffi/native"],
    package: Some("bindings-uniffi/ruby/lib"),
    modules: Some("bindings-uniffi/ruby/lib/trunkline"),
    tests: TestSyntax {
        is_file: |name, _| name.starts_with("test_") && name.ends_with(".rb"),
        is_whole: |_| true,
        above: &["#"],
        functions: &["def ", "class "],
        test: |line, _| line.strip_prefix("def ").filter(|name| name.starts_with("test_")),
    },
    steps: &[
        Step::new(Turn::Early, "ruby lint", &SOURCES, lint),
        Step::new(Turn::Beside, "ruby tests", &["core/", "bindings-uniffi/", "tests/"], tests),
    ],
    toolchain: system::ruby,
    meets_all: false,
    build,
    install_tools: |_| Ok(()),
    build_bench: builds::our_ruby,
    bench_crate: "trunkline-uniffi",
    program: |workspace, _, source| {
        vec!["ruby".into(), "-I".into(), workspace.path(LIBRARY), source.with_extension("rb")]
    },
    start,
    snippets: Snippets::Alone(|workspace, stem| start(workspace, &workspace.path(&format!("docs/snippets/{stem}.rb")))),
    snippet_ending: "rb",
    example_endings: &["rb"],
    login: Some(|workspace| workspace.path(PROGRAMS).join("ruby")),
    container_command: &["ruby", "server.rb"],
};

const PACKAGE: &str = "bindings-uniffi/ruby";
const LIBRARY: &str = "bindings-uniffi/ruby/lib";

/// A `ruby` with the gem in its load path.
const PROGRAMS: &str = "tests/fixtures/ruby/bin";
const SOURCES: [&str; 6] =
    [PACKAGE, "tests/fixtures/ruby", "tests/scars", "docs/snippets", "examples/ruby", "benches/ruby"];

/// Loads all tests into one process.
const ALL_TESTS: &str = "Dir['test/test_*.rb'].each { |file| require File.expand_path(file) }";

/// The library stands where a gem with a precompiled one has it.
fn build(workspace: &Workspace) -> Result<()> {
    let library = workspace.library_file("trunkline_uniffi");
    copy_if_changed(&workspace.built_library("trunkline_uniffi"), &workspace.path(LIBRARY).join(library))?;
    let program = [system::ruby_program()?, "-w".into(), "-I".into(), workspace.path(LIBRARY)];
    launchers::write_one(workspace, &workspace.path(PROGRAMS).join("ruby"), &program)
}

/// Programs start their servers as `ruby`, which finds the gem where it is installed.
fn start(workspace: &Workspace, source: &Path) -> Result<Command> {
    let mut command = ruby(workspace);
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let places = std::iter::once(workspace.path(PROGRAMS)).chain(std::env::split_paths(&rest));
    command.env("PATH", std::env::join_paths(places)?);
    command.arg(source).current_dir(source.parent().unwrap_or(&workspace.root));
    Ok(command)
}

fn ruby(workspace: &Workspace) -> Command {
    let mut ruby = workspace.command("ruby");
    ruby.arg("-w").arg("-I").arg(workspace.path(LIBRARY));
    ruby
}

/// Rubocop, and the warnings of the interpreter.
fn lint(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut rubocop = workspace.command(system::rubocop()?);
    rubocop.arg("--config").arg(workspace.path(PACKAGE).join(".rubocop.yml"));
    rubocop.args(["--format", "emacs", "--cache", "false"]).args(SOURCES);
    let mut syntax = workspace.command("ruby");
    syntax.arg("-wc");
    for folder in SOURCES {
        let is_ruby = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "rb");
        syntax.args(files_under(&workspace.path(folder))?.into_iter().filter(is_ruby));
    }
    Ok(one(rubocop)?.and(one(syntax)?))
}

fn tests(workspace: &Workspace, _: &Selection) -> Result<Count> {
    build(workspace)?;
    let mut minitest = ruby(workspace);
    minitest.current_dir(workspace.path(PACKAGE)).args(["-I", "test", "-e", ALL_TESTS]);
    Ok(of_minitest(&run(minitest, suites::DEADLINE)?))
}
