//! The suites of Python and Node.js with an extension that the compiler has instrumented: the
//! address sanitizer reports each wrong access of its code to memory. That takes Rust's nightly
//! toolchain, and the runtime of the sanitizer that gcc brings.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::build::python::{EXTENSION, VENV};
use crate::build::system;
use crate::process::{Output, must, run};
use crate::stamp::{copy_if_changed, copy_tree, files_under};
use crate::test::{Count, Selection, counts, suites};
use crate::workspace::Workspace;

const DEADLINE: Duration = Duration::from_secs(5400);
/// Interpreters do not free everything at their end, which the extension is not at fault for.
const OPTIONS: &str = "detect_leaks=0";

pub(crate) fn python(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let library = instrumented(workspace, "trunkline-python", "_native")?;
    // A package of its own, since others use that of the tree at the same time.
    let packages = home(workspace).join("python");
    copy_tree(&workspace.path("bindings-python/python"), &packages)?;
    copy_if_changed(&library, &packages.join("trunkline").join(EXTENSION))?;
    let mut suite = suites::pytest(workspace)?;
    // Python's own allocator takes large pieces, in which the sanitizer sees no borders.
    suite.env("PYTHONPATH", packages).env("PYTHONMALLOC", "malloc");
    watched(workspace, VENV, suite, counts::of_pytest)
}

pub(crate) fn node(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let library = instrumented(workspace, "trunkline-node", "trunkline_node")?;
    let mut suite = suites::node_test(workspace)?;
    suite.env("TRUNKLINE_NATIVE", library);
    watched(workspace, "node", suite, counts::of_node)
}

fn home(workspace: &Workspace) -> PathBuf {
    workspace.target.join("sanitized")
}

/// Builds a library with checks of its accesses to memory. With a target, so that build scripts and
/// macros are compiled without.
fn instrumented(workspace: &Workspace, package: &str, library: &str) -> Result<PathBuf> {
    let host = system::host()?;
    let mut cargo = workspace.command("rustup");
    cargo.args(["run", "nightly", "cargo", "build", "--locked", "--package", package, "--target", &host]);
    cargo.arg("--target-dir").arg(home(workspace));
    cargo.env("RUSTFLAGS", "-Zsanitizer=address");
    // Those of the toolchain that has started this program.
    for name in ["CARGO", "RUSTC", "RUSTC_WORKSPACE_WRAPPER", "RUSTUP_TOOLCHAIN"] {
        cargo.env_remove(name);
    }
    must(cargo, DEADLINE).context("the sanitizer needs `rustup toolchain install nightly`")?;
    Ok(home(workspace).join(host).join("debug").join(workspace.library_file(library)))
}

/// Runs a suite with the runtime of the sanitizer in each of its processes. Each report is a
/// failure, also that of a process whose output nobody reads.
fn watched(workspace: &Workspace, name: &str, mut suite: Command, count: fn(&Output) -> Count) -> Result<Count> {
    let reports = home(workspace).join(format!("reports-{name}"));
    if reports.exists() {
        std::fs::remove_dir_all(&reports)?;
    }
    std::fs::create_dir_all(&reports)?;
    suite.env("LD_PRELOAD", preloaded(workspace)?);
    suite.env("ASAN_OPTIONS", format!("{OPTIONS}:log_path={}", reports.join("report").display()));
    let mut count = count(&run(suite, DEADLINE)?);
    for report in files_under(&reports)? {
        count.failed += 1;
        count.said.push_str(&read(&report)?);
    }
    Ok(count)
}

/// The runtime has to come first in a process, and finds the exceptions of C++ only in a library
/// that is there already.
fn preloaded(workspace: &Workspace) -> Result<String> {
    let mut found = Vec::new();
    for library in ["libasan.so", "libstdc++.so"] {
        let mut compiler = workspace.command("gcc");
        compiler.arg(format!("-print-file-name={library}"));
        let path = must(compiler, DEADLINE)?.stdout.trim().to_owned();
        // Without the library, gcc answers with its name.
        if !Path::new(&path).is_absolute() {
            bail!("gcc has no {library}: install libgcc-dev or its like for the version of gcc");
        }
        found.push(path);
    }
    Ok(found.join(":"))
}

fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}
