//! Ruby: the gem, with `ruby -wc`, minitest and the wire vectors.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::{Entry, Language, Snippets};
use crate::build::system;
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
    modules: None,
    tests: TestSyntax {
        is_file: |name, _| name.starts_with("test_") && name.ends_with(".rb"),
        is_whole: |_| true,
        above: &["#"],
        functions: &["def ", "class "],
        test: |line, _| line.strip_prefix("def ").filter(|name| name.starts_with("test_")),
    },
    steps: &[Step::new(Turn::Beside, "ruby tests", &["core/", "bindings-uniffi/", "tests/"], tests)],
    toolchain: system::ruby,
    meets_all: false,
    build,
    install_tools: |_| Ok(()),
    build_bench: |_| bail!("there is no benchmark in Ruby yet"),
    bench_crate: "trunkline-uniffi",
    program: |workspace, _, source| {
        vec!["ruby".into(), "-I".into(), workspace.path(LIBRARY), source.with_extension("rb")]
    },
    start,
    snippets: Snippets::Alone(|workspace, stem| start(workspace, &workspace.path(&format!("docs/snippets/{stem}.rb")))),
    snippet_ending: "rb",
    example_endings: &["rb"],
    login: None,
    container_command: &["ruby", "server.rb"],
};

const PACKAGE: &str = "bindings-uniffi/ruby";
const LIBRARY: &str = "bindings-uniffi/ruby/lib";

/// Loads all tests into one process.
const ALL_TESTS: &str = "Dir['test/test_*.rb'].each { |file| require File.expand_path(file) }";

/// The library stands where a gem with a precompiled one has it.
fn build(workspace: &Workspace) -> Result<()> {
    let library = workspace.library_file("trunkline_uniffi");
    copy_if_changed(&workspace.built_library("trunkline_uniffi"), &workspace.path(LIBRARY).join(library))
}

fn start(workspace: &Workspace, source: &Path) -> Result<Command> {
    let mut command = ruby(workspace);
    command.arg(source).current_dir(source.parent().unwrap_or(&workspace.root));
    Ok(command)
}

fn ruby(workspace: &Workspace) -> Command {
    let mut ruby = workspace.command("ruby");
    ruby.arg("-w").arg("-I").arg(workspace.path(LIBRARY));
    ruby
}

/// Also plays the vectors to the fixtures, because the shared steps leave out languages that are
/// under way.
fn tests(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    if let Err(missing) = system::ruby() {
        return Ok(Count { note: format!("left out: {missing:#}"), ..Count::default() });
    }
    build(workspace)?;
    let mut syntax = workspace.command("ruby");
    syntax.arg("-wc");
    for folder in [PACKAGE, "tests/fixtures/ruby"] {
        let is_ruby = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "rb");
        syntax.args(files_under(&workspace.path(folder))?.into_iter().filter(is_ruby));
    }
    let mut minitest = ruby(workspace);
    minitest.current_dir(workspace.path(PACKAGE)).args(["-I", "test", "-e", ALL_TESTS]);
    let count = one(syntax)?.and(of_minitest(&run(minitest, suites::DEADLINE)?));
    if !selection.has_all_languages() {
        return Ok(count);
    }
    crate::build::launchers::write(workspace, &Language::UNDERWAY)?;
    Ok(count.and(suites::vectors(workspace, &Language::UNDERWAY)?))
}
