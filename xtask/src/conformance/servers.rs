//! Runs the fixture servers in the conformance runners, with one process and one port each.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};

use super::role::Role;
use super::runner::RUNNER_TIMEOUT;
use super::subject::{Subject, Through};
use super::suite::{Scenario, Suite, Taken};
use super::verdict::{self, Verdict};
use super::{RESULTS, RUNS_AT_ONCE, chosen, count_of, write_report};
use crate::console;
use crate::http_servers;
use crate::process::{run, tail};
use crate::test::Count;
use crate::workers;
use crate::workspace::Workspace;

/// Runs both runners with these servers; one process and one port each serves all revisions. `only`
/// keeps scenarios with one of these strings in their name; empty for all.
pub(crate) fn servers(workspace: &Workspace, subjects: &[Subject], only: &[String]) -> Result<Count> {
    let start = Instant::now();
    let suites = chosen(workspace, Role::Server, only)?;
    let commands = subjects.iter().map(|subject| (subject.name(), subject.server(workspace)));
    let (processes, urls) = http_servers::start(commands);

    // Neighbours in this list run concurrently, so they should be of different servers.
    let each = suites.iter().flat_map(|suite| subjects.iter().map(move |subject| (suite, *subject)));
    let jobs: Vec<(&Suite, Subject)> =
        each.filter(|(suite, subject)| suite.scenarios.iter().any(|scenario| subject.plays(suite, scenario))).collect();
    let mut verdicts: Vec<Verdict<'_>> = Vec::new();
    let mut done = 0;
    // A log message of a pipe names no request. A bridge drops one that could be for several
    // callers, of which there is only one if its suites run one after the other.
    let at_once = if subjects.iter().any(|subject| subject.through != Through::Nothing) { 1 } else { RUNS_AT_ONCE };
    workers::run(
        at_once,
        &jobs,
        |&(suite, subject)| judge((suite, subject), workspace, urls.of(&subject.name())),
        |index, found| {
            let (suite, subject) = jobs[index];
            done += 1;
            console::news(&format!("{done} of {} runs … last: {} {}", jobs.len(), subject.name(), suite.name()));
            verdicts.extend(found);
        },
    );
    let mut count = count_of(Role::Server, subjects, &suites, &verdicts);
    count.add(
        processes.stop(|_| true).err().map(|stubborn| format!("\nservers that do not stop when asked: {stubborn}")),
    );
    write_report(workspace, (Role::Server, subjects), &verdicts, &count, start)?;
    Ok(count)
}

/// Runs a suite against a server.
fn judge<'a>(
    (suite, subject): (&'a Suite, Subject),
    workspace: &Workspace,
    url: Result<&str, String>,
) -> Vec<Verdict<'a>> {
    let results = workspace.target.join(RESULTS).join(subject.name()).join(suite.name().replace(' ', "-"));
    let ended = url.map_err(|error| anyhow!(error)).and_then(|url| run_suite(suite, workspace, url, &results));
    let faults = |scenario: &Scenario| match &ended {
        Ok(ending) => checks_of(&results, &scenario.name)
            .and_then(|file| verdict::faults_in(&scenario.name, subject.through, &file))
            .unwrap_or_else(|error| vec![format!("{error:#}; {ending}")]),
        Err(error) => vec![format!("{error:#}")],
    };
    let judged = |scenario| Verdict { subject, suite, scenario, faults: faults(scenario) };
    suite.scenarios.iter().filter(|scenario| subject.plays(suite, scenario)).map(judged).collect()
}

/// Describes how the runner ended. Failed checks are in its results.
fn run_suite(suite: &Suite, workspace: &Workspace, url: &str, results: &Path) -> Result<String> {
    if results.exists() {
        std::fs::remove_dir_all(results).with_context(|| format!("cannot empty {}", results.display()))?;
    }
    std::fs::create_dir_all(results)?;
    let mut endings = String::new();
    for choice in choices(suite) {
        let mut command = suite.runner.command(workspace, &["server", "--url", url]);
        command.args(choice).arg("--output-dir").arg(results);
        let output = run(command, RUNNER_TIMEOUT)?;
        std::fs::write(results.join("said.txt"), &output.text)?;
        if !matches!(output.status.and_then(|status| status.code()), Some(0 | 1)) {
            endings.push_str(&format!("the runner ended with {}\n{}\n", output.ending(), tail(&output.text, 15)));
        }
    }
    Ok(endings)
}

/// The options of each required process.
fn choices(suite: &Suite) -> Vec<Vec<&str>> {
    match (suite.taken, suite.revision) {
        (Taken::AsRequirements, Some(revision)) => vec![vec!["--requirements", revision]],
        (Taken::Whole, Some(revision)) => vec![vec!["--suite", "all", "--spec-version", revision]],
        (Taken::Whole | Taken::AsRequirements, None) => vec![vec!["--suite", "all"]],
        (Taken::OneByOne, revision) => {
            let one_by_one = |scenario| {
                let mut choice = vec!["--scenario", scenario];
                choice.extend(revision.into_iter().flat_map(|revision| ["--spec-version", revision, "--force"]));
                choice
            };
            suite.scenarios.iter().map(|scenario| one_by_one(scenario.name.as_str())).collect()
        }
    }
}

/// The runners write to directories such as `server-ping-2026-01-31T10-20-30-123Z`.
fn checks_of(results: &Path, scenario: &str) -> Result<PathBuf> {
    let start = format!("server-{scenario}-");
    for entry in std::fs::read_dir(results)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.strip_prefix(&start).is_some_and(|time| time.starts_with("20") && time.ends_with('Z')) {
            return Ok(entry.path().join("checks.json"));
        }
    }
    bail!("the runner wrote no result for it")
}
