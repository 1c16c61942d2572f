//! Go, over the C library: the package with gofmt, `go vet` and `go test`, and its fixtures. It is
//! no language of `ALL` yet, because examples, snippets and benchmarks in it are missing.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::build::c::{Workshop, name_of_library};
use crate::build::system;
use crate::process::{must, run};
use crate::test::lint::{one, silent};
use crate::test::results::of_one;
use crate::test::{Count, Selection, suites};
use crate::workspace::Workspace;

pub(super) const READS: &[&str] = &["core/", "bindings-c/", "bindings-go/", "tests/fixtures/go/", "tests/vectors/"];

const PACKAGE: &str = "bindings-go";
const FIXTURES: &str = "tests/fixtures/go";

pub(super) fn tests(workspace: &Workspace, _: &Selection) -> Result<Count> {
    if let Err(missing) = system::go()
        && std::env::var_os("CI").is_none()
    {
        return Ok(Count { note: format!("left out: {missing:#}"), ..Count::default() });
    }
    let workshop = Workshop::of_tests(workspace, "go");
    workshop.place_library(workspace)?;
    let mut count = Count::default();
    for folder in [PACKAGE, FIXTURES] {
        let mut format = workspace.command(system::gofmt()?);
        format.current_dir(workspace.path(folder)).args(["-l", "."]);
        count = count.and(silent(format)?);
        count = count.and(one(go(workspace, folder, &["vet", "./..."])?)?);
    }
    let mut test = go(workspace, PACKAGE, &["test", "-count=1", "./..."])?;
    test.env("TRUNKLINE_LIBRARY", workshop.programs.join(name_of_library()));
    count = count.and(of_one(&run(test, suites::DEADLINE)?));
    let fixture = |role: &str| {
        let program = workshop.program(&format!("fixture-{role}"));
        let mut build = go(workspace, FIXTURES, &["build", "-o"])?;
        build.arg(&program).arg(Path::new("./cmd").join(role));
        must(build, suites::DEADLINE).map(|_| program).context("the fixtures in Go")
    };
    Ok(count.and(suites::vectors_of(workspace, "go", fixture("server")?, fixture("client")?)?))
}

/// Without cgo, as programs are built that need no C compiler.
fn go(workspace: &Workspace, folder: &str, arguments: &[&str]) -> Result<Command> {
    let mut go = workspace.command(system::go()?);
    go.current_dir(workspace.path(folder)).env("CGO_ENABLED", "0").args(arguments);
    Ok(go)
}
