//! `cargo xtask matrix`, and the step of `cargo xtask test`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde_json::json;

use crate::build;
use crate::console;
use crate::language::Language;
use crate::length::Length;
use crate::matrix::{Features, Findings, Pairing, cover, page, pairing, play_all, table};
use crate::options::Options;
use crate::report;
use crate::table::Table;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

/// Failures beyond these are only in the report.
const MAX_SHOWN_FAILURES: usize = 25;

pub(crate) fn run(workspace: &Workspace, options: &[String]) -> Result<bool> {
    let choice = Options::parse(options, &["--lang", "--only"])?;
    let mut pairings = pairing::all(&choice.languages);
    choice.choose(&mut pairings, Pairing::name)?;
    build::languages(workspace, &choice.languages)?;
    build::step("peers: the official SDKs", || build::peers::install(workspace))?;
    let features = Features::load(workspace)?;
    let findings = play(workspace, "matrix", &pairings, &features)?;
    let mut notes = Vec::new();
    let tables = table::all(&features, &findings.cells, &mut notes);
    show(&tables, &notes, &findings);
    let failed = findings.failed();
    if failed == 0 && choice.only.is_empty() && has_page_languages(&choice.languages) {
        page::write(workspace, &features, &findings)?;
    }
    Ok(failed == 0)
}

/// Plays the pairings of the chosen languages. In the long form, the page must be up to date.
pub(crate) fn check(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    let features = Features::load(workspace)?;
    let mut pairings = pairing::all(&selection.languages);
    let left = shorten(&mut pairings, &features, selection.length());
    let findings = play(workspace, "matrix", &pairings, &features)?;
    let passed = findings.passed();
    let mut count =
        Count { passed, failed: findings.failed(), said: findings.failures().join("\n"), left, ..Count::default() };
    let has_page = selection.length().is_long() && has_page_languages(&selection.languages);
    if has_page && count.failed == 0 && !page::is_current(workspace, &features, &findings)? {
        count.failed += 1;
        count.said.push_str("docs/matrix.md is not current: run `cargo xtask matrix`");
    }
    Ok(count)
}

/// Keeps the cells of a length, and returns the number of the others.
pub(crate) fn shorten(pairings: &mut Vec<Pairing>, features: &Features, length: Length) -> usize {
    let Length::Short { turn } = length else { return 0 };
    let all: usize = pairings.iter().map(|pairing| pairing.cells(features).len()).sum();
    cover::choose(pairings, features, turn);
    let chosen = pairings.iter().filter_map(|pairing| pairing.chosen.as_ref()).flat_map(BTreeMap::values);
    all - chosen.map(BTreeSet::len).sum::<usize>()
}

/// Returns whether the page shows the results of these languages.
fn has_page_languages(languages: &[Language]) -> bool {
    Language::ALL.iter().all(|language| languages.contains(language))
}

/// Plays pairings, and writes a report with this name.
pub(crate) fn play(workspace: &Workspace, name: &str, pairings: &[Pairing], features: &Features) -> Result<Findings> {
    let _task = console::begin("every feature with every client and server");
    let findings = play_all(workspace, pairings, features)?;
    let cells: Vec<_> = findings.cells.iter().map(super::Cell::to_json).collect();
    let Findings { faults, seconds, .. } = &findings;
    report::write(workspace, name, json!({"cells": cells, "faults": faults, "seconds": seconds}))?;
    Ok(findings)
}

pub(crate) fn show(tables: &[Table], notes: &[String], findings: &Findings) {
    for table in tables {
        console::line(&format!("\n{}", console::paint(console::BOLD, table.title)));
        console::line(&table.to_console());
    }
    for (index, note) in notes.iter().enumerate() {
        console::line(&format!("({}) {note}", index + 1));
    }
    let failures = findings.failures();
    for failure in failures.iter().take(MAX_SHOWN_FAILURES) {
        console::line(&format!("{} {}", console::paint(console::RED, "✗"), failure.replace('\n', "\n    ")));
    }
    if failures.len() > MAX_SHOWN_FAILURES {
        console::line(&format!("and {} more, see the report in target/reports", failures.len() - MAX_SHOWN_FAILURES));
    }
    let (passed, all) = (findings.passed(), findings.passed() + findings.failed());
    let cell = "each a feature of one client with one server over one transport in one revision";
    let sum = format!("{passed} of {all} cells: {cell}, in {:.1} s", findings.seconds);
    console::line(&console::paint(if failures.is_empty() { console::GREEN } else { console::RED }, &sum));
}
