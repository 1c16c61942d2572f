//! `cargo xtask scars`: problems that MCP users report repeatedly, each with a threshold and the
//! result of every language (tests/scars).

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::build::{self, c, system};
use crate::language::Language;
use crate::length::Length;
use crate::options::Options;
use crate::process::run as run_process;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

const FOLDER: &str = "tests/scars";
const REPORT: &str = "scars.json";
const TIMEOUT: Duration = Duration::from_secs(900);
const LONG_TIMEOUT: Duration = Duration::from_secs(4 * 3600);

/// Other systems lack `/proc`, and Windows also lacks signals to processes.
const HAS_SCARS: bool = cfg!(target_os = "linux");

/// Runs as a command.
pub(crate) fn run(workspace: &Workspace, options: &[String]) -> Result<bool> {
    let Options { only, long, .. } = Options::parse(options, &["--long", "--only"])?;
    let only = only.iter().flat_map(|word| ["--only", word]);
    let options: Vec<_> = long.then_some("--long").into_iter().chain(only).collect();
    if !HAS_SCARS {
        bail!("the scars are measured on Linux: they read /proc, send signals and lower the number of descriptors");
    }
    build::languages(workspace, Language::available())?;
    let count = measure(workspace, Language::available(), REPORT, &options)?;
    println!("{}", count.said.trim_end());
    println!("{} passed, {} failed (target/reports/scars.json)", count.passed, count.failed);
    Ok(count.failed == 0)
}

/// Runs as a step of the test command: either the rows that nothing may disturb, or the others.
pub(crate) fn check(workspace: &Workspace, selection: &Selection, are_alone: bool) -> Result<Count> {
    if !HAS_SCARS {
        return Ok(Count::one_passed("not measured: they need Linux".to_owned()));
    }
    let (report, option) = if are_alone { ("scars-alone.json", "--alone") } else { (REPORT, "--beside") };
    let mut options = vec![option.to_owned()];
    if let Length::Short { turn } = selection.length() {
        options.extend(["--turn".to_owned(), turn.to_string()]);
        options.extend(selection.is_of_packages().then(|| "--packages".to_owned()));
    }
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let mut count = measure(workspace, &selection.languages, report, &options)?;
    // The report has the figures of those that passed.
    count.said = count.said.lines().filter(|line| !line.starts_with("ok ")).collect::<Vec<_>>().join("\n");
    Ok(count)
}

fn measure(workspace: &Workspace, languages: &[Language], report: &str, options: &[&str]) -> Result<Count> {
    system::redis_server()?;
    for role in ["server", "client"] {
        c::build_program(workspace, &format!("scars-{role}"), &workspace.path(FOLDER).join(format!("{role}.c")))?;
    }
    let report = workspace.report(report)?;
    let _ = std::fs::remove_file(&report);
    // These servers send invalid responses on purpose.
    let workspace = &Workspace { records: None, ..workspace.clone() };
    let mut driver = workspace.command(system::python()?);
    driver.arg(workspace.path(FOLDER).join("run.py")).args(options).arg(&report);
    for (index, language) in languages.iter().enumerate() {
        if index > 0 {
            driver.arg("--");
        }
        let program = |role: &str| {
            let source = workspace.path(FOLDER).join(role);
            (language.program)(workspace, &format!("scars-{role}"), &source)
        };
        driver.arg(language.name).args(program("server")).arg("+").args(program("client"));
    }
    let timeout = if options.contains(&"--long") { LONG_TIMEOUT } else { TIMEOUT };
    let output = run_process(driver, timeout)?;
    let report: Value = workspace
        .json(&report)
        .with_context(|| format!("the scars wrote no report: {}\n[{}]", output.text, output.ending()))?;
    let rows = report["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let figures = || rows.iter().filter_map(|row| row["figures"].as_object()).flatten();
    let failed = figures().filter(|(_, figure)| figure.get("fault").is_some()).count();
    let passed = figures().count() - failed;
    // An empty report must not look like a successful one.
    let failed = if passed + failed == 0 { 1 } else { failed };
    let left = report["left"].as_u64().and_then(|left| usize::try_from(left).ok()).unwrap_or_default();
    Ok(Count { passed, failed, said: output.text, left, ..Count::default() })
}
