//! Runs the fixture clients in the conformance runners: for each scenario, one command line of the
//! runner, which starts a client process. The runner's own suites would start all clients at once
//! and ignore their exit statuses.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};

use super::role::Role;
use super::runner::{Loaded, Runner};
use super::subject::Subject;
use super::suite::{Scenario, Suite};
use super::verdict::{self, Verdict};
use super::{RESULTS, RUNS_AT_ONCE, chosen, count_of, write_report};
use crate::console;
use crate::length::Length;
use crate::process::tail;
use crate::stamp::files_under;
use crate::test::{Count, Selection};
use crate::workers;
use crate::workspace::Workspace;

/// The scenario that measures a wait. It may be 200 ms late, so two may run at a time, and nothing
/// else.
const TIMED_SCENARIO: &str = "sse-retry";
const TIMED_AT_ONCE: usize = 2;
/// The revision of extension scenarios outside the runner's requirement sets.
const OF_EXTENSIONS: &str = "2026-07-28";

type Job<'a> = (&'a Suite, &'a Scenario, Subject);

/// Runs both runners with these clients. `only` keeps scenarios with one of these strings in their
/// name; empty for all.
pub(crate) fn clients(workspace: &Workspace, subjects: &[Subject], only: &[String]) -> Result<Count> {
    let suites = chosen(workspace, Role::Client, only)?;
    // The runner checks each message of the client, and its servers send invalid ones on purpose.
    let workspace = Workspace { records: None, ..workspace.clone() };
    run_jobs(&workspace, subjects, Length::Long, &suites, |_, _| true)
}

/// Runs both runners for the test command. With `timed`, only the scenario that measures a wait,
/// which other work would lengthen; otherwise all others.
pub(crate) fn passed_clients(workspace: &Workspace, selection: &Selection, timed: bool) -> Result<Count> {
    let mut suites = chosen(workspace, Role::Client, &[])?;
    for suite in &mut suites {
        suite.scenarios.retain(|scenario| (scenario.name == TIMED_SCENARIO) == timed);
    }
    suites.retain(|suite| !suite.scenarios.is_empty());
    let workspace = Workspace { records: None, ..workspace.clone() };
    let is_run = |number, subject: Subject| is_run(number, selection.half(subject.language), selection.length());
    run_jobs(&workspace, &Subject::alone(&selection.languages), selection.length(), &suites, is_run)
}

/// Returns whether a scenario is run with a client.
fn is_run(scenario: usize, half: Option<usize>, length: Length) -> bool {
    match (length, half) {
        (Length::Short { turn }, Some(half)) => (scenario + half + turn).is_multiple_of(2),
        _ => true,
    }
}

/// Runs the scenarios, by their number, with those clients for which `is_run` says so.
fn run_jobs(
    workspace: &Workspace,
    subjects: &[Subject],
    length: Length,
    suites: &[Suite],
    is_run: impl Fn(usize, Subject) -> bool,
) -> Result<Count> {
    let start = Instant::now();
    let each = suites.iter().flat_map(|suite| suite.scenarios.iter().map(move |scenario| (suite, scenario)));
    let playable: Vec<(usize, Job<'_>)> = each
        .enumerate()
        .flat_map(|(number, (suite, scenario))| {
            let subjects = subjects.iter().filter(|subject| subject.plays(suite, scenario));
            subjects.map(move |subject| (number, (suite, scenario, *subject)))
        })
        .collect();
    let chosen = playable.iter().filter(|(number, (.., subject))| is_run(*number, *subject)).map(|(_, job)| *job);
    let (timed, rest): (Vec<Job<'_>>, Vec<Job<'_>>) =
        chosen.partition(|(_, scenario, _)| scenario.name == TIMED_SCENARIO);
    let runners = Loaded::new(workspace);
    let mut verdicts = Vec::new();
    let total = timed.len() + rest.len();
    for (at_once, jobs) in [(RUNS_AT_ONCE, rest), (TIMED_AT_ONCE, timed)] {
        workers::run(
            at_once,
            &jobs,
            |&(suite, scenario, subject)| {
                let faults = faults(workspace, &runners, length, (suite, scenario, subject));
                let faults = faults.unwrap_or_else(|error| vec![format!("{error:#}")]);
                Verdict { subject, suite, scenario, faults }
            },
            |index, verdict| {
                let (_, scenario, subject) = jobs[index];
                verdicts.push(verdict);
                let done = verdicts.len();
                console::news(&format!("{done} of {total} runs … last: {} {}", subject.name(), scenario.name));
            },
        );
    }
    let left = playable.len() - total;
    let count = Count { left, ..count_of(Role::Client, subjects, suites, &verdicts) };
    write_report(workspace, (Role::Client, subjects), &verdicts, &count, start)?;
    Ok(count)
}

/// Runs a scenario with a client.
fn faults(
    workspace: &Workspace,
    runners: &Loaded<'_>,
    length: Length,
    (suite, scenario, subject): Job<'_>,
) -> Result<Vec<String>> {
    let folder = format!("{}-client", subject.name());
    let suite_folder = workspace.target.join(RESULTS).join(folder).join(suite.name().replace(' ', "-"));
    let results = suite_folder.join(scenario.name.replace('/', "-"));
    if results.exists() {
        std::fs::remove_dir_all(&results).with_context(|| format!("cannot empty {}", results.display()))?;
    }
    std::fs::create_dir_all(&results)?;

    let shares_process = !length.is_long() && subject.language.starts_slowly && scenario.name != TIMED_SCENARIO;
    let client = subject.client(workspace, shares_process)?;
    let folder = results.to_str().context("the path of the tree is not text")?;
    let mut arguments = vec!["client", "--command", &client, "--scenario", &scenario.name, "--output-dir", folder];
    if suite.runner == Runner::Newest {
        arguments.extend(["--spec-version", suite.revision.unwrap_or(OF_EXTENSIONS), "--force"]);
    }
    let ended = runners.run(suite.runner, &arguments)?;
    std::fs::write(results.join("said.txt"), &ended.said)?;

    let mut faults = verdict::faults_in(&scenario.name, subject.through, &checks_in(&results)?)?;
    // The runner knows the scenarios in which a client may exit with an error.
    if ended.status != 0 || !faults.is_empty() {
        let said = std::fs::read_to_string(checks_in(&results)?.with_file_name("stderr.txt")).unwrap_or_default();
        let said = tail(said.trim_end(), 5);
        faults.push(format!("the runner ended with status {}; the client's last words: {said}", ended.status));
    }
    Ok(faults)
}

/// The runners write to directories such as `auth/dpop-2026-01-31T10-20-30-123Z`.
fn checks_in(folder: &Path) -> Result<PathBuf> {
    let mut files = files_under(folder)?.into_iter();
    files.find(|file| file.ends_with("checks.json")).context("the runner wrote no result for it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;

    #[test]
    fn halves_and_turns_together_run_every_scenario() {
        let halves = || Language::ALL.iter().filter_map(|language| language.half);
        assert_eq!(halves().filter(|half| *half == 0).count(), halves().filter(|half| *half == 1).count());
        for scenario in 0..4 {
            for turn in 0..4 {
                let run = |half, turn| is_run(scenario, half, Length::Short { turn });
                assert!(run(None, turn) && run(Some(0), turn) != run(Some(1), turn));
                assert_ne!(run(Some(0), turn), run(Some(0), turn + 1));
                assert!(is_run(scenario, Some(turn), Length::Long));
            }
        }
    }
}
