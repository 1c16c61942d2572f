//! `cargo xtask matrix`, and the step of `cargo xtask test`.

use std::time::Instant;

use anyhow::{Result, bail};
use serde_json::json;

use crate::build;
use crate::console::{self, Colour};
use crate::language::Language;
use crate::matrix::{Features, Findings, Pairing, page, pairing, play_all, table};
use crate::report;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

/// Number of failures that are shown with their reasons; the report has all.
const SHOWN: usize = 25;

/// The selection of the command line.
struct Choice {
    languages: Vec<Language>,
    /// Words of which one stands in the name of each chosen pairing; empty: all.
    only: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace, options: &[String]) -> Result<bool> {
    let choice = Choice::parse(options)?;
    let pairings = choice.pairings()?;
    build::languages(workspace, &choice.languages)?;
    build::step("peers: the official SDKs", || build::peers::install(workspace))?;
    let features = Features::load(workspace)?;
    let start = Instant::now();
    let findings = play(workspace, &pairings, &features)?;
    show(&features, &findings, start.elapsed().as_secs_f64());
    let failed = findings.failed();
    if failed == 0 && choice.is_everything() {
        page::write(workspace, &features, &findings)?;
    }
    Ok(failed == 0)
}

/// All pairings of the chosen languages; the page has to be current if all are.
pub(crate) fn check(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    let choice = Choice { languages: selection.languages.clone(), only: Vec::new() };
    let features = Features::load(workspace)?;
    let findings = play(workspace, &choice.pairings()?, &features)?;
    let passed = findings.passed();
    let mut count =
        Count { passed, failed: findings.failed(), said: findings.failures().join("\n"), note: String::new() };
    if choice.is_everything() && count.failed == 0 && !page::is_current(workspace, &features, &findings) {
        count.failed += 1;
        count.said.push_str("docs/matrix.md is not current: run `cargo xtask matrix`");
    }
    Ok(count)
}

fn play(workspace: &Workspace, pairings: &[Pairing], features: &Features) -> Result<Findings> {
    let start = Instant::now();
    let findings = play_all(workspace, pairings, features, |done, name| {
        console::news(&format!("{done} of {} pairs … last: {name}", pairings.len()));
    })?;
    let cells: Vec<_> = findings.cells.iter().map(super::Cell::to_json).collect();
    let seconds = start.elapsed().as_secs_f64();
    report::write(workspace, "matrix", json!({"cells": cells, "faults": findings.faults, "seconds": seconds}))?;
    Ok(findings)
}

fn show(features: &Features, findings: &Findings, seconds: f64) {
    let mut notes = Vec::new();
    for table in table::all(features, &findings.cells, &mut notes) {
        console::line(&format!("\n{}", console::paint(Colour::Bold, table.title)));
        console::line(&table.to_console());
    }
    for (index, note) in notes.iter().enumerate() {
        console::line(&format!("({}) {note}", index + 1));
    }
    let failures = findings.failures();
    for failure in failures.iter().take(SHOWN) {
        console::line(&format!("{} {}", console::paint(Colour::Red, "✗"), failure.replace('\n', "\n    ")));
    }
    if failures.len() > SHOWN {
        console::line(&format!("and {} more, see target/reports/matrix.json", failures.len() - SHOWN));
    }
    let passed = findings.passed();
    let sum = format!("{} cells: {passed} pass, {} fail, {seconds:.1} s", findings.cells.len(), findings.failed());
    console::line(&console::paint(if failures.is_empty() { Colour::Green } else { Colour::Red }, &sum));
}

impl Choice {
    fn parse(options: &[String]) -> Result<Self> {
        let mut choice = Self { languages: Language::ALL.to_vec(), only: Vec::new() };
        let mut options = options.iter();
        while let Some(option) = options.next() {
            match (option.as_str(), options.next()) {
                ("--lang", Some(list)) => choice.languages = Language::parse_list(list)?,
                ("--only", Some(words)) => choice.only = words.split(',').map(str::to_owned).collect(),
                _ => bail!("the matrix knows two options: --lang rust,python,node,c and --only WORD,WORD"),
            }
        }
        Ok(choice)
    }

    /// An error if a word finds none.
    fn pairings(&self) -> Result<Vec<Pairing>> {
        let mut pairings = pairing::all(&self.languages);
        for word in &self.only {
            if word.is_empty() || !pairings.iter().any(|pairing| pairing.name().contains(word)) {
                bail!("--only {word:?} stands in the name of no pair, such as {:?}", pairings[0].name());
            }
        }
        if !self.only.is_empty() {
            pairings.retain(|pairing| self.only.iter().any(|word| pairing.name().contains(word)));
        }
        Ok(pairings)
    }

    fn is_everything(&self) -> bool {
        self.only.is_empty() && Language::ALL.iter().all(|language| self.languages.contains(language))
    }
}
