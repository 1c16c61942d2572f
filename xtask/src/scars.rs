//! `cargo xtask scars`: troubles that users of MCP report again and again, each with a bar and the
//! figure of every language (tests/scars).

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::build::{self, c, python, system};
use crate::language::Language;
use crate::process::run as run_process;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

const FOLDER: &str = "tests/scars";
const C_SERVER: &str = "scars-server";
const DEADLINE: Duration = Duration::from_secs(600);

/// Elsewhere there is neither `/proc`, nor, on Windows, a signal that a process can be sent.
const HAS_SCARS: bool = cfg!(target_os = "linux");

/// The command by itself.
pub(crate) fn run(workspace: &Workspace) -> Result<bool> {
    if !HAS_SCARS {
        bail!("the scars are measured on Linux: they read /proc, send signals and lower the number of descriptors");
    }
    build::languages(workspace, &Language::ALL)?;
    let count = measure(workspace, &Language::ALL)?;
    println!("{}", count.said.trim_end());
    println!("{} passed, {} failed (target/reports/scars.json)", count.passed, count.failed);
    Ok(count.failed == 0)
}

/// The step of the test command.
pub(crate) fn check(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    if !HAS_SCARS {
        return Ok(Count::one_passed("not measured: they need Linux".to_owned()));
    }
    let mut count = measure(workspace, &selection.languages)?;
    if count.failed == 0 {
        count.said.clear();
    }
    Ok(count)
}

fn measure(workspace: &Workspace, languages: &[Language]) -> Result<Count> {
    if languages.contains(&Language::C) {
        c::build_program(workspace, C_SERVER, &workspace.path(FOLDER).join("server.c"))?;
    }
    let report = workspace.target.join("reports").join("scars.json");
    std::fs::create_dir_all(workspace.target.join("reports"))?;
    let _ = std::fs::remove_file(&report);
    // Servers answer here what nobody should send.
    let workspace = &Workspace { records: None, ..workspace.clone() };
    let mut driver = workspace.command(system::python()?);
    driver.arg(workspace.path(FOLDER).join("run.py")).arg(&report);
    for (index, language) in languages.iter().enumerate() {
        if index > 0 {
            driver.arg("--");
        }
        driver.arg(language.name()).args(server(workspace, *language));
    }
    let output = run_process(driver, DEADLINE)?;
    let text = std::fs::read_to_string(&report)
        .with_context(|| format!("the scars wrote no report: {}\n[{}]", output.text, output.ending()))?;
    let report: Value = serde_json::from_str(&text)?;
    let rows = report["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let figures = || rows.iter().filter_map(|row| row["figures"].as_object()).flatten();
    let failed = figures().filter(|(_, figure)| figure.get("fault").is_some()).count();
    let passed = figures().count() - failed;
    // An empty report must not look like one without faults.
    let failed = if passed + failed == 0 { 1 } else { failed };
    Ok(Count { passed, failed, said: output.text, note: String::new() })
}

/// The command of a server.
fn server(workspace: &Workspace, language: Language) -> Vec<PathBuf> {
    let source = |name: &str| workspace.path(FOLDER).join(name);
    match language {
        Language::Rust => vec![workspace.built("scars-server")],
        Language::Python => vec![workspace.venv_program(python::VENV, "python"), source("server.py")],
        Language::Node => vec!["node".into(), source("server.mjs")],
        Language::C => vec![c::program(workspace, C_SERVER)],
    }
}
