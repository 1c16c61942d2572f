//! `cargo xtask bench`: makes optimized builds, then runs the harness in `benches/` (see its
//! README).

pub(crate) mod builds;

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::build::system;
use crate::process::must;
use crate::report;
use crate::workspace::Workspace;

/// The default arguments of the harness.
const DEFAULT_ARGUMENTS: [&str; 6] = [
    "--work",
    "a,b,c-session,c-2026,a-2026,d-stdio,d-http,e-cold-stdio,e-sessions,f-stdio,f-http,i,g-1,g-64,g-http-1,g-http-64,g-http-1000,j-resource,h-connect",
    "--rounds",
    "3",
    "--imports",
    "20",
];

/// All options but two are those of the harness.
pub(crate) fn run(workspace: &Workspace, options: &[String]) -> Result<bool> {
    if !cfg!(target_os = "linux") {
        bail!("the measurements need Linux: they read /proc");
    }
    if let [first, others @ ..] = options
        && first == "--bridges"
    {
        builds::bridges(workspace)?;
        return bridges(workspace, others);
    }
    if options == ["--build-only"] {
        return builds::everything(workspace).map(|()| true);
    }
    // Finds wrong options before the builds, which take minutes.
    let mut trial = harness(workspace, options)?;
    trial.args(["--report", "/dev/null"]);
    must(trial, Duration::from_secs(60))?;
    builds::everything(workspace)?;
    if let Err(missing) = system::redis_server() {
        eprintln!("nothing is measured with Redis: {missing:#}");
    }
    measure(workspace, options)
}

/// `trunkline bridge` next to others, which the program installs.
fn bridges(workspace: &Workspace, options: &[String]) -> Result<bool> {
    let mut python = workspace.command(system::python()?);
    python.arg(workspace.path("benches/bridges.py")).env("TRUNKLINE_BENCH_HOME", builds::home(workspace));
    python.arg("--json").arg(workspace.report("bridges.json")?).args(options);
    let tables = python.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("cannot start the harness")?;
    std::fs::write(workspace.report("bridges.md")?, &tables.stdout)?;
    println!("{}", String::from_utf8_lossy(&tables.stdout));
    Ok(tables.status.success())
}

/// Options that are given replace the usual ones before them.
fn harness(workspace: &Workspace, options: &[String]) -> Result<Command> {
    let mut python = workspace.command(system::python()?);
    python.arg(workspace.path("benches/run.py")).env("TRUNKLINE_BENCH_HOME", builds::home(workspace));
    python.args(DEFAULT_ARGUMENTS).args(options);
    Ok(python)
}

fn measure(workspace: &Workspace, options: &[String]) -> Result<bool> {
    let home = builds::home(workspace);
    let (results, medians) = (home.join("results.jsonl"), home.join("medians.json"));
    let _ = std::fs::remove_file(&results);
    let mut python = harness(workspace, options)?;
    python.arg("--out").arg(&results).arg("--json").arg(&medians);
    // The harness has a deadline for each measurement. It stays in our process group, so Ctrl-C
    // reaches it, and it stops the processes that it started.
    let output = python
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .and_then(std::process::Child::wait_with_output)
        .context("cannot start the harness")?;
    let tables = String::from_utf8_lossy(&output.stdout);
    println!("{tables}");
    if !output.status.success() {
        bail!("the harness ended with {}", output.status);
    }

    let medians: Value = workspace.json(&medians)?;
    let errors = medians["medians"].as_array().is_some_and(|rows| {
        rows.iter().any(|row| row["errors"] != 0 && row["server"].as_str().is_some_and(|name| name.starts_with("ours")))
    });
    report::write(workspace, "bench", medians)?;
    std::fs::write(workspace.report("bench.md")?, tables.as_bytes())?;
    if errors {
        println!("some of our servers or clients answered wrongly or not at all: see the column `errors`");
    }
    Ok(!errors)
}
