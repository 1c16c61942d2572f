//! Demonstrates the main features: each with the clients and servers of all languages, over stdio,
//! HTTP and HTTP+SSE, in all revisions.

use anyhow::Result;

use crate::build;
use crate::console;
use crate::language::Language;
use crate::length::Length;
use crate::matrix::{self, Cell, Features, Findings, Status};
use crate::options::Options;
use crate::table::Table;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, options: &[String]) -> Result<bool> {
    let Options { languages, long, .. } = Options::parse(options, &["--lang", "--long"])?;
    let length = Length::of(workspace, long)?;
    build::languages(workspace, &languages)?;

    let features = Features::load(workspace)?;
    let mut pairings = matrix::ours(&languages);
    let left = matrix::shorten(&mut pairings, &features, length);
    let findings = matrix::play(workspace, "demo", &pairings, &features)?;
    matrix::show(&[summary(&features, &findings, &languages)], &[], &findings);
    if left > 0 {
        console::line(&format!("`cargo xtask demo --long` plays the other {left} cells, too"));
    }
    Ok(findings.failed() == 0)
}

/// A table with a column for the clients and one for the servers of each language, with median
/// times.
fn summary(features: &Features, findings: &Findings, languages: &[Language]) -> Table {
    let roles = ["client", "server"];
    let columns =
        roles.iter().flat_map(|role| languages.iter().map(move |language| format!("{} {role}", language.name)));
    matrix::table::make(
        "Medians of each feature, as client and as server",
        features,
        columns.collect(),
        |feature, column| {
            let is_in = |cell: &&Cell| {
                let (client, server) = (cell.client.name(), cell.server.name());
                cell.feature == feature
                    && [format!("{client} client"), format!("{server} server")].contains(&column.to_owned())
            };
            verdict(findings.cells.iter().filter(is_in))
        },
    )
}

fn verdict<'a>(cells: impl Iterator<Item = &'a Cell>) -> String {
    let mut times = Vec::new();
    let mut failed = 0;
    for cell in cells {
        match cell.status {
            Status::Pass(ms) => times.push(ms),
            Status::Fail(_) => failed += 1,
            Status::Undefined | Status::Absent(_) => {}
        }
    }
    times.sort_by(f64::total_cmp);
    match (failed, times.get(times.len() / 2)) {
        (0, Some(median)) => format!("✓ {median:.1} ms"),
        (0, None) => String::new(),
        (failed, _) => format!("✗ {failed}"),
    }
}
