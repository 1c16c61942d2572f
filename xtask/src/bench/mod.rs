//! `cargo xtask bench`: makes optimized builds, then runs the harness in `benches/` (see its
//! README).

pub(crate) mod builds;

use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::build::system;
use crate::report;
use crate::workspace::Workspace;

/// The workloads that are run by default.
const USUAL: &str = "a,b,c-session,c-2026,a-2026,d-stdio,d-http,e-cold-stdio,e-sessions,f-stdio,f-http,i,g-1,g-64,g-http-1,g-http-64,g-http-1000,j-resource,h-connect";
const ROUNDS: &str = "3";
const IMPORT_PROCESSES: &str = "20";

pub(crate) fn run(workspace: &Workspace, options: &[String]) -> Result<bool> {
    if !cfg!(target_os = "linux") {
        bail!("the measurements need Linux: they read /proc");
    }
    let mut harness = vec![];
    let (mut build_only, mut needs_redis) = (false, false);
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match (option.as_str(), option == "--build-only") {
            (_, true) => build_only = true,
            ("--rounds" | "--work" | "--servers" | "--server" | "--base" | "--imports" | "--calls", _) => {
                let value = options.next().with_context(|| format!("{option} needs a value"))?;
                needs_redis |= option == "--work" && (value == "all" || value.contains("grow"));
                harness.extend([option.as_str(), if value == "all" { "" } else { value }]);
            }
            ("--pin", _) => harness.push("--pin"),
            _ => bail!(
                "unknown option {option:?}; there are --build-only, --rounds, --work, --servers, --server, --base, --imports, --calls, --pin"
            ),
        }
    }
    builds::everything(workspace)?;
    if build_only {
        return Ok(true);
    }
    if needs_redis && let Err(missing) = system::redis_server() {
        eprintln!("nothing is measured with Redis: {missing:#}");
    }
    measure(workspace, &harness)
}

fn measure(workspace: &Workspace, options: &[&str]) -> Result<bool> {
    let home = builds::home(workspace);
    let (results, medians) = (home.join("results.jsonl"), home.join("medians.json"));
    let _ = std::fs::remove_file(&results);
    let mut python = workspace.command(system::python()?);
    python.arg(workspace.path("benches/run.py")).env("TRUNKLINE_BENCH_HOME", &home);
    for (option, usual) in [("--work", USUAL), ("--rounds", ROUNDS), ("--imports", IMPORT_PROCESSES)] {
        if !options.contains(&option) {
            python.args([option, usual]);
        }
    }
    // `--work all` is the harness's own default.
    let given = options.chunks(2).filter(|pair| pair != &["--work", ""]).flatten();
    python.args(given).arg("--out").arg(&results).arg("--json").arg(&medians);
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

    let medians: Value = serde_json::from_str(&std::fs::read_to_string(&medians)?)?;
    let errors = medians["medians"].as_array().is_some_and(|rows| {
        rows.iter().any(|row| row["errors"] != 0 && row["server"].as_str().is_some_and(|name| name.starts_with("ours")))
    });
    report::write(workspace, "bench", medians)?;
    std::fs::write(workspace.target.join("reports").join("bench.md"), tables.as_bytes())?;
    if errors {
        println!("some of our servers or clients answered wrongly or not at all: see the column `errors`");
    }
    Ok(!errors)
}
