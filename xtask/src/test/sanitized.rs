//! Runs the suites of Python, Node.js and C with a library instrumented by the compiler: the
//! address sanitizer reports each invalid memory access of its code. This needs Rust's nightly
//! toolchain, and the sanitizer runtime that comes with gcc. Their messages are not recorded: those
//! of the usual runs are.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::build::python::{EXTENSION, VENV, site_packages};
use crate::build::{c, launchers, system};
use crate::language::{node_test, pytest, scenarios};
use crate::process::{must, run};
use crate::stamp::{copy_if_changed, copy_tree, files_under, write_if_changed};
use crate::test::{Count, Selection, results};
use crate::workspace::Workspace;

const TIMEOUT: Duration = Duration::from_secs(5400);
/// Interpreters do not free everything on exit, which is not the extension's fault.
const OPTIONS: &str = "detect_leaks=0";

pub(crate) fn python(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let workspace = &workspace.unrecorded();
    let library = instrumented(workspace, "trunkline-python", "_native")?;
    // Use a separate package, because others use the one in the tree at the same time.
    let packages = home(workspace).join("python");
    copy_tree(&workspace.path("bindings-python/python"), &packages)?;
    copy_if_changed(&library, &packages.join("trunkline").join(EXTENSION))?;
    // From this file next to its directory, the interpreter knows that it is in a virtual
    // environment.
    copy_if_changed(&workspace.venv(VENV).join("pyvenv.cfg"), &home(workspace).join("pyvenv.cfg"))?;
    let path = std::env::join_paths([packages, site_packages(workspace, VENV)?])?;
    // Python's own allocator allocates large blocks, in which the sanitizer sees no boundaries.
    let variables = [("PYTHONMALLOC", "malloc".to_owned()), ("PYTHONPATH", path.to_string_lossy().into_owned())];
    let starter = starter(workspace, "python", &workspace.venv_program(VENV, "python"), &variables)?;
    watched(workspace, "python", || pytest(workspace, &starter, TIMEOUT))
}

pub(crate) fn node(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let workspace = &workspace.unrecorded();
    let library = instrumented(workspace, "trunkline-node", "trunkline_node")?;
    let mut node = workspace.command("node");
    node.args(["--print", "process.execPath"]);
    let interpreter = PathBuf::from(must(node, TIMEOUT)?.stdout.trim());
    let preset = home(workspace).join("preset.cjs");
    let variables = [
        ("TRUNKLINE_NATIVE", library.display().to_string()),
        ("NODE_OPTIONS", format!("--require={}", preset.display())),
    ];
    let starter = starter(workspace, "node", &interpreter, &variables)?;
    write_if_changed(&preset, format!("process.execPath = {:?};\n", starter.display().to_string()).as_bytes())?;
    watched(workspace, "node", || node_test(workspace, &starter, TIMEOUT))
}

/// The program searches the directories in the environment for the library before that of the
/// package.
pub(crate) fn c(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let workspace = &workspace.unrecorded();
    let library = instrumented(workspace, "trunkline-c", "trunkline")?;
    let folder = home(workspace).join("c");
    std::fs::create_dir_all(&folder)?;
    copy_if_changed(&library, &folder.join(c::name_of_library()))?;
    let mut runner = format!("env LD_LIBRARY_PATH={}", folder.display());
    for (name, value) in runtime(workspace, "c")? {
        runner.push_str(&format!(" {name}={value}"));
    }
    watched(workspace, "c", || Ok(results::of_cargo(&run(scenarios(workspace, &runner), TIMEOUT)?)))
}

fn home(workspace: &Workspace) -> PathBuf {
    workspace.target.join("sanitized")
}

/// Builds an instrumented library. A target is given so that build scripts and macros are not
/// instrumented.
fn instrumented(workspace: &Workspace, package: &str, library: &str) -> Result<PathBuf> {
    let host = system::host()?;
    let mut cargo = workspace.command("rustup");
    cargo.args(["run", "nightly", "cargo", "build", "--locked", "--package", package, "--target", &host]);
    cargo.arg("--target-dir").arg(home(workspace));
    cargo.env("RUSTFLAGS", "-Zsanitizer=address");
    // So that reports name lines.
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
    // Set by the toolchain that started this program.
    for name in ["CARGO", "RUSTC", "RUSTC_WORKSPACE_WRAPPER", "RUSTUP_TOOLCHAIN"] {
        cargo.env_remove(name);
    }
    must(cargo, TIMEOUT).context("the sanitizer needs `rustup toolchain install nightly`")?;
    Ok(home(workspace).join(host).join("debug").join(workspace.library_file(library)))
}

/// A launcher that runs an interpreter with the sanitizer runtime. The interpreter treats the
/// launcher as itself, so servers that a client starts, with few variables, also have the runtime.
fn starter(workspace: &Workspace, name: &str, interpreter: &Path, variables: &[(&str, String)]) -> Result<PathBuf> {
    let mut text = "#!/bin/bash\n".to_owned();
    for (name, value) in runtime(workspace, name)? {
        text.push_str(&format!("export {name}='{value}'\n"));
    }
    for (name, value) in variables {
        // A test that sets one to another value, or to nothing, does so on purpose.
        text.push_str(&format!("export {name}=\"${{{name}-{value}}}\"\n"));
    }
    text.push_str(&format!("exec -a \"$0\" '{}' \"$@\"\n", interpreter.display()));
    let starter = home(workspace).join("bin").join(name);
    write_if_changed(&starter, text.as_bytes())?;
    launchers::make_executable(&starter)?;
    Ok(starter)
}

/// The environment variables that load the sanitizer runtime.
fn runtime(workspace: &Workspace, name: &str) -> Result<[(&'static str, String); 2]> {
    let reports = reports(workspace, name).join("report");
    let options = format!("{OPTIONS}:log_path={}", reports.display());
    Ok([("LD_PRELOAD", preloaded(workspace)?), ("ASAN_OPTIONS", options)])
}

fn reports(workspace: &Workspace, name: &str) -> PathBuf {
    home(workspace).join(format!("reports-{name}"))
}

/// Runs a suite. Each report is a failure, including those of processes whose output is not read.
fn watched(workspace: &Workspace, name: &str, suite: impl FnOnce() -> Result<Count>) -> Result<Count> {
    let reports = reports(workspace, name);
    if reports.exists() {
        std::fs::remove_dir_all(&reports)?;
    }
    std::fs::create_dir_all(&reports)?;
    let mut count = suite()?;
    for report in files_under(&reports)? {
        count.failed += 1;
        count.said.push_str(&workspace.text(&report)?);
    }
    Ok(count)
}

/// The runtime must be loaded first, and only finds C++ exceptions in a library that is already
/// loaded.
fn preloaded(workspace: &Workspace) -> Result<String> {
    let mut found = Vec::new();
    for library in ["libasan.so", "libstdc++.so"] {
        let mut compiler = workspace.command("gcc");
        compiler.arg(format!("-print-file-name={library}"));
        let path = must(compiler, TIMEOUT)?.stdout.trim().to_owned();
        // If the library is missing, gcc prints only its name.
        if !Path::new(&path).is_absolute() {
            bail!("gcc has no {library}: install libgcc-dev or its like for the version of gcc");
        }
        found.push(path);
    }
    Ok(found.join(":"))
}
