//! Go, over the C library: the package with gofmt, `go vet` and `go test`, and its fixtures.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::{Entry, Snippets};
use crate::bench::builds;
use crate::build::c::{Workshop, name_of_library};
use crate::build::{DEADLINE, system};
use crate::go_modules;
use crate::process::{must, run};
use crate::requirements::TestSyntax;
use crate::stamp::files_under;
use crate::test::lint::{one, silent};
use crate::test::results::of_one;
use crate::test::{Count, Selection, Step, Turn, suites};
use crate::workspace::Workspace;

pub(super) static ENTRY: Entry = Entry {
    name: "go",
    title: "Go",
    fences: &["go"],
    crates: &[],
    package: Some(PACKAGE),
    modules: None,
    tests: TestSyntax {
        is_file: |name, _| name.ends_with("_test.go"),
        is_whole: |_| true,
        above: &["//"],
        functions: &["func ", "type "],
        test: |line, _| line.strip_prefix("func ").filter(|name| name.starts_with("Test")),
    },
    steps: &[
        Step::new(
            Turn::Beside,
            "go lint and tests",
            &["core/", "bindings-c/", "bindings-go/", "tests/", "docs/snippets/", "examples/go/", "benches/"],
            tests,
        ),
        Step::new(
            Turn::Beside,
            "go modules",
            &["core/", "bindings-c/", "bindings-go/", "tests/go-modules/", "LICENSE"],
            |workspace, _| go_modules::check(workspace),
        ),
    ],
    toolchain: || system::go().map(drop),
    meets_all: false,
    build,
    install_tools: |_| Ok(()),
    build_bench: builds::our_go,
    bench_crate: "trunkline-c",
    program: |workspace, name, _| vec![workshop(workspace).program(name)],
    start,
    snippets: Snippets::Alone(|workspace, stem| start(workspace, &workspace.path(&format!("docs/snippets/{stem}.go")))),
    snippet_ending: "go",
    example_endings: &["go"],
    login: None,
    container_command: &["server"],
};

const PACKAGE: &str = "bindings-go";
const FIXTURES: &str = "tests/fixtures/go";
/// The folders with a program in each file.
const PROGRAM_FILES: [&str; 3] = ["docs/snippets", "examples/go", "benches/go"];
const PEERS: [&str; 2] = ["tests/peers/go", "benches/peers/go"];
/// The folders of the programs there, and their names.
const PROGRAMS: [(&str, &str); 4] = [
    ("server", "fixture-server"),
    ("client", "fixture-client"),
    ("scars-server", "scars-server"),
    ("scars-client", "scars-client"),
];
/// After this, Go's tests end with the stacks of all goroutines.
const TIMEOUT: &str = "-timeout=120s";

/// Programs find the library next to them.
fn workshop(workspace: &Workspace) -> Workshop {
    Workshop::of_tests(workspace, "go")
}

fn build(workspace: &Workspace) -> Result<()> {
    let workshop = workshop(workspace);
    workshop.place_library(workspace)?;
    for (folder, name) in PROGRAMS {
        compile(workspace, FIXTURES, &Path::new("./cmd").join(folder), &workshop.program(name))?;
    }
    Ok(())
}

/// Builds a program from a package, or from a file.
pub(crate) fn compile(workspace: &Workspace, folder: &str, package: &Path, program: &Path) -> Result<()> {
    let mut build = go(workspace, folder, &["build", "-o"])?;
    build.arg(program).arg(package);
    must(build, DEADLINE).map(drop)
}

/// The command that runs a program, which is one file. It may start others with `go run`.
fn start(workspace: &Workspace, source: &Path) -> Result<Command> {
    let (Some(folder), Some(stem)) = (source.parent(), source.file_stem()) else {
        bail!("{} is no file of a program", source.display())
    };
    let workshop = workshop(workspace);
    workshop.place_library(workspace)?;
    let program = workshop.program(&stem.to_string_lossy());
    compile(workspace, &folder.to_string_lossy(), source, &program)?;
    let mut command = workspace.command(program);
    command.current_dir(folder).env("CGO_ENABLED", "0").env("TRUNKLINE_LIBRARY", library(workspace));
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let places = system::go()?.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&rest));
    command.env("PATH", std::env::join_paths(places)?);
    Ok(command)
}

fn library(workspace: &Workspace) -> PathBuf {
    workshop(workspace).programs.join(name_of_library())
}

fn tests(workspace: &Workspace, _: &Selection) -> Result<Count> {
    build(workspace)?;
    let mut count = Count::default();
    for folder in [PACKAGE, FIXTURES, "tests/go-modules"].iter().chain(&PROGRAM_FILES).chain(&PEERS) {
        let mut format = workspace.command(system::gofmt()?);
        format.current_dir(workspace.path(folder)).args(["-l", "."]);
        count = count.and(silent(format)?);
    }
    for folder in [PACKAGE, FIXTURES].iter().chain(&PEERS) {
        count = count.and(one(go(workspace, folder, &["vet", "./..."])?)?);
    }
    for folder in PROGRAM_FILES {
        for file in files_under(&workspace.path(folder))?.iter().filter(|file| file.extension() == Some("go".as_ref()))
        {
            let mut vet = go(workspace, folder, &["vet"])?;
            vet.arg(file);
            count = count.and(one(vet)?);
        }
    }
    let mut test = go(workspace, PACKAGE, &["test", "-count=1", TIMEOUT, "./..."])?;
    test.env("TRUNKLINE_LIBRARY", library(workspace));
    Ok(count.and(of_one(&run(test, suites::DEADLINE)?)))
}

/// Without cgo, as programs are built that need no C compiler.
fn go(workspace: &Workspace, folder: &str, arguments: &[&str]) -> Result<Command> {
    let mut go = workspace.command(system::go()?);
    go.current_dir(workspace.path(folder)).env("CGO_ENABLED", "0").args(arguments);
    Ok(go)
}
