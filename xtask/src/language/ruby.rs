//! Ruby: the gem, with `ruby -wc`, minitest and the wire vectors.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::build::{launchers, system};
use crate::process::run;
use crate::stamp::{copy_if_changed, files_with};
use crate::test::lint::one;
use crate::test::results::of_minitest;
use crate::test::{Count, Selection, suites};
use crate::workspace::Workspace;

const PACKAGE: &str = "bindings-uniffi/ruby";
pub(super) const LIBRARY: &str = "bindings-uniffi/ruby/lib";

/// A `ruby` with the gem in its load path.
const PROGRAMS: &str = "tests/fixtures/ruby/bin";
const SOURCES: [&str; 6] =
    [PACKAGE, "tests/fixtures/ruby", "tests/scars", "docs/snippets", "examples/ruby", "benches/ruby"];

/// Loads all tests into one process.
const ALL_TESTS: &str = "Dir['test/test_*.rb'].each { |file| require File.expand_path(file) }";

/// The library stands where a gem with a precompiled one has it.
pub(super) fn build(workspace: &Workspace) -> Result<()> {
    let library = workspace.library_file("trunkline_uniffi");
    copy_if_changed(&workspace.built_library("trunkline_uniffi"), &workspace.path(LIBRARY).join(library))?;
    let program = [system::ruby_program()?, "-w".into(), "-I".into(), workspace.path(LIBRARY)];
    launchers::write_one(workspace, &workspace.path(PROGRAMS).join("ruby"), &program)
}

/// Programs start their servers as `ruby`, which finds the gem where it is installed.
pub(super) fn start(workspace: &Workspace, source: &Path) -> Result<Command> {
    let mut ruby = workspace.command_with(&workspace.path(PROGRAMS), "ruby")?;
    ruby.arg("-w").arg("-I").arg(workspace.path(LIBRARY));
    ruby.arg(source).current_dir(source.parent().unwrap_or(&workspace.root));
    Ok(ruby)
}

/// Rubocop, and the warnings of the interpreter.
pub(super) fn lint(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut rubocop = workspace.command(system::rubocop()?);
    rubocop.arg("--config").arg(workspace.path(PACKAGE).join(".rubocop.yml"));
    rubocop.args(["--format", "emacs", "--cache", "false"]).args(SOURCES);
    let mut syntax = workspace.command("ruby");
    syntax.arg("-wc");
    for folder in SOURCES {
        syntax.args(files_with(&workspace.path(folder), "rb")?);
    }
    Ok(one(rubocop)?.and(one(syntax)?))
}

pub(super) fn tests(workspace: &Workspace, _: &Selection) -> Result<Count> {
    build(workspace)?;
    let mut minitest = workspace.command("ruby");
    minitest.arg("-w").arg("-I").arg(workspace.path(LIBRARY)).args(["-I", "test", "-e", ALL_TESTS]);
    minitest.current_dir(workspace.path(PACKAGE));
    Ok(of_minitest(&run(minitest, suites::TIMEOUT)?))
}
