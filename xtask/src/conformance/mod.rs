//! Runs the official conformance runners with our fixtures (tests/conformance/README.md).

mod clients;
mod listing;
mod role;
mod runner;
mod servers;
mod subject;
mod suite;
mod table;
mod verdict;

use std::time::Instant;

use anyhow::{Result, bail};
use serde_json::json;

use crate::build;
use crate::console;
use crate::options::Options;
use crate::report;
use crate::test::{Count, Selection, wire};
use crate::workspace::Workspace;

pub(crate) use clients::{clients, passed_clients};
use role::Role;
pub(crate) use servers::servers;
pub(crate) use subject::Subject;
use subject::Through;
use suite::Suite;
use verdict::Verdict;

/// A runner mostly waits for its peer, so use one more than the processors of a small machine.
const RUNS_AT_ONCE: usize = 3;
/// The directory of the runners' own reports, in the target directory.
const RESULTS: &str = "conformance";

/// Judges a server and a client through the bridge.
pub(crate) fn through_the_bridge(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    let subjects = |role| Subject::bridged(&selection.languages, role);
    Ok(servers(workspace, &subjects(Role::Server), &[])?.and(clients(workspace, &subjects(Role::Client), &[])?))
}

/// `cargo xtask conformance server` and `cargo xtask conformance client`.
pub(crate) fn run(mut workspace: Workspace, options: &[String]) -> Result<bool> {
    let (role, options) = match options.split_first().map(|(role, rest)| (role.as_str(), rest)) {
        Some(("server", rest)) => (Role::Server, rest),
        Some(("client", rest)) => (Role::Client, rest),
        _ => bail!("name the side to judge: `cargo xtask conformance server` or `cargo xtask conformance client`"),
    };
    let Options { languages, only, bridge, .. } = Options::parse(options, &["--lang", "--only", "--bridge"])?;
    build::languages(&workspace, &languages)?;
    let subjects = if bridge { Subject::bridged(&languages, role) } else { Subject::alone(&languages) };
    let mut count = match role {
        Role::Server => {
            workspace.records = Some(wire::forget(&workspace, RESULTS)?);
            servers(&workspace, &subjects, &only)?
        }
        Role::Client => clients(&workspace, &subjects, &only)?,
    };
    for line in count.said.lines() {
        console::line(&if line.starts_with('✗') { console::paint(console::RED, line) } else { line.to_owned() });
    }
    if workspace.records.is_some() {
        let pure = wire::check_step(&workspace, RESULTS)?;
        if pure.failed > 0 {
            console::line(&pure.said);
        }
        console::line(&format!("wire purity: {}", pure.note));
        count = count.and(Count { said: String::new(), note: String::new(), ..pure });
    }
    console::line(&format!("{} passed, {} failed", count.passed, count.failed));
    Ok(count.failed == 0)
}

/// The scenarios of a role with one of these strings in their name, or all if there are none.
fn chosen(workspace: &Workspace, role: Role, only: &[String]) -> Result<Vec<Suite>> {
    build::node::install(workspace, runner::PACKAGE)?;
    let suites = Suite::all(workspace, role)?;
    let suites: Vec<Suite> = suites.into_iter().filter_map(|suite| suite.narrowed(only)).collect();
    if suites.is_empty() {
        bail!("no scenario has one of the words {} in its name", only.join(", "));
    }
    Ok(suites)
}

/// The verdicts as a table.
fn count_of(role: Role, subjects: &[Subject], suites: &[Suite], verdicts: &[Verdict<'_>]) -> Count {
    let failed = verdicts.iter().filter(|verdict| !verdict.is_green()).count();
    let said = table::draw(role, subjects, suites, verdicts);
    Count { passed: verdicts.len() - failed, failed, said, ..Count::default() }
}

fn write_report(
    workspace: &Workspace,
    (role, subjects): (Role, &[Subject]),
    verdicts: &[Verdict<'_>],
    count: &Count,
    start: Instant,
) -> Result<()> {
    let of = if subjects.iter().all(|subject| subject.through != Through::Nothing) { "-bridged" } else { "" };
    report::write(
        workspace,
        &format!("conformance-{}{of}", role.word()),
        json!({
            "scenarios": verdicts.iter().map(Verdict::to_json).collect::<Vec<_>>(),
            "passed": count.passed, "failed": count.failed, "seconds": start.elapsed().as_secs_f64(),
        }),
    )
}
