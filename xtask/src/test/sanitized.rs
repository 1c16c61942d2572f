//! The suites of Python, Node.js and C with a library that the compiler has instrumented: the
//! address sanitizer reports each wrong access of its code to memory. That takes Rust's nightly
//! toolchain, and the runtime of the sanitizer that gcc brings.

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

const DEADLINE: Duration = Duration::from_secs(5400);
/// Interpreters do not free everything at their end, which the extension is not at fault for.
const OPTIONS: &str = "detect_leaks=0";

pub(crate) fn python(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let library = instrumented(workspace, "trunkline-python", "_native")?;
    // A package of its own, since others use that of the tree at the same time.
    let packages = home(workspace).join("python");
    copy_tree(&workspace.path("bindings-python/python"), &packages)?;
    copy_if_changed(&library, &packages.join("trunkline").join(EXTENSION))?;
    // Beside its folder, the interpreter finds that it is one of a virtual environment.
    copy_if_changed(&workspace.venv(VENV).join("pyvenv.cfg"), &home(workspace).join("pyvenv.cfg"))?;
    let path = std::env::join_paths([packages, site_packages(workspace, VENV)?])?;
    // Python's own allocator takes large pieces, in which the sanitizer sees no borders.
    let variables = [("PYTHONMALLOC", "malloc".to_owned()), ("PYTHONPATH", path.to_string_lossy().into_owned())];
    let starter = starter(workspace, "python", &workspace.venv_program(VENV, "python"), &variables)?;
    watched(workspace, "python", || pytest(workspace, &starter, DEADLINE))
}

pub(crate) fn node(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let library = instrumented(workspace, "trunkline-node", "trunkline_node")?;
    let mut node = workspace.command("node");
    node.args(["--print", "process.execPath"]);
    let interpreter = PathBuf::from(must(node, DEADLINE)?.stdout.trim());
    let preset = home(workspace).join("preset.cjs");
    let variables = [
        ("TRUNKLINE_NATIVE", library.display().to_string()),
        ("NODE_OPTIONS", format!("--require={}", preset.display())),
    ];
    let starter = starter(workspace, "node", &interpreter, &variables)?;
    write_if_changed(&preset, format!("process.execPath = {:?};\n", starter.display().to_string()).as_bytes())?;
    watched(workspace, "node", || node_test(workspace, &starter, DEADLINE))
}

/// The program looks for the library in folders of the environment before that of the package.
pub(crate) fn c(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let library = instrumented(workspace, "trunkline-c", "trunkline")?;
    let folder = home(workspace).join("c");
    std::fs::create_dir_all(&folder)?;
    copy_if_changed(&library, &folder.join(c::name_of_library()))?;
    let mut runner = format!("env LD_LIBRARY_PATH={}", folder.display());
    for (name, value) in runtime(workspace, "c")? {
        runner.push_str(&format!(" {name}={value}"));
    }
    watched(workspace, "c", || Ok(results::of_cargo(&run(scenarios(workspace, &runner), DEADLINE)?)))
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

/// A program that is an interpreter with the runtime of the sanitizer. The interpreter takes it for
/// itself: so also servers that a client starts, with few variables, have the runtime.
fn starter(workspace: &Workspace, name: &str, interpreter: &Path, variables: &[(&str, String)]) -> Result<PathBuf> {
    let mut text = "#!/bin/bash\n".to_owned();
    for (name, value) in runtime(workspace, name)? {
        text.push_str(&format!("export {name}='{value}'\n"));
    }
    for (name, value) in variables {
        // Tests that set one to something else, or to nothing, mean it.
        text.push_str(&format!("export {name}=\"${{{name}-{value}}}\"\n"));
    }
    text.push_str(&format!("exec -a \"$0\" '{}' \"$@\"\n", interpreter.display()));
    let starter = home(workspace).join("bin").join(name);
    write_if_changed(&starter, text.as_bytes())?;
    launchers::make_executable(&starter)?;
    Ok(starter)
}

/// The variables that give a process the runtime of the sanitizer.
fn runtime(workspace: &Workspace, name: &str) -> Result<[(&'static str, String); 2]> {
    let reports = reports(workspace, name).join("report");
    let options = format!("{OPTIONS}:log_path={}", reports.display());
    Ok([("LD_PRELOAD", preloaded(workspace)?), ("ASAN_OPTIONS", options)])
}

fn reports(workspace: &Workspace, name: &str) -> PathBuf {
    home(workspace).join(format!("reports-{name}"))
}

/// Runs a suite. Each report is a failure, also that of a process whose output nobody reads.
fn watched(workspace: &Workspace, name: &str, suite: impl FnOnce() -> Result<Count>) -> Result<Count> {
    let reports = reports(workspace, name);
    if reports.exists() {
        std::fs::remove_dir_all(&reports)?;
    }
    std::fs::create_dir_all(&reports)?;
    let mut count = suite()?;
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
