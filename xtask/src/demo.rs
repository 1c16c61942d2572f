//! The project's main job, shown: a table of client x server x transport x revision, each cell a real `tools/list` and `tools/call`
//! with a checked answer and its time.

use std::time::Instant;

use anyhow::{Result, bail};
use serde_json::json;

use crate::build;
use crate::console::{Colour, Console};
use crate::language::Language;
use crate::matrix::{self, Cell, Pair, REVISIONS};
use crate::report;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, options: &[String]) -> Result<bool> {
    let languages = match options {
        [] => Language::ALL.to_vec(),
        [option, list] if option == "--lang" => Language::parse_list(list)?,
        _ => bail!("the demo knows one option: --lang rust,python,node,c"),
    };
    build::languages(workspace, &languages)?;

    let console = Console::new();
    let pairs = matrix::pairs(&languages);
    console.line("");
    console.line(&console.paint(Colour::Bold, &heading()));
    let start = Instant::now();
    let mut table = Table::new(&console, &pairs);
    let stopped = matrix::run(workspace, &pairs, |index, cells| table.add(index, cells));
    let seconds = start.elapsed().as_secs_f64();

    let (passed, failed) = table.finish(seconds);
    let cells: Vec<_> = pairs
        .iter()
        .zip(&table.rows)
        .flat_map(|(pair, row)| row.iter().flatten().map(|cell| matrix::to_json(pair, cell)))
        .collect();
    report::write(workspace, "demo", json!({"cells": cells, "passed": passed, "failed": failed, "seconds": seconds}))?;
    if let Err(stubborn) = &stopped {
        console.line(&console.paint(Colour::Red, stubborn));
    }
    Ok(failed == 0 && stopped.is_ok())
}

fn heading() -> String {
    let columns: String = REVISIONS.iter().map(|revision| format!("{revision:>12}")).collect();
    format!("{:<8}{:<8}{:<7}{columns}", "client", "server", "over")
}

/// Rows are drawn in their order, each as soon as it and all before it are there.
struct Table<'a> {
    console: &'a Console,
    pairs: &'a [Pair],
    rows: Vec<Option<Vec<Cell>>>,
    drawn: usize,
}

impl<'a> Table<'a> {
    fn new(console: &'a Console, pairs: &'a [Pair]) -> Self {
        console.progress(&format!("0 of {} pairs …", pairs.len()));
        Self { console, pairs, rows: pairs.iter().map(|_| None).collect(), drawn: 0 }
    }

    fn add(&mut self, index: usize, cells: Vec<Cell>) {
        self.rows[index] = Some(cells);
        while let Some(Some(cells)) = self.rows.get(self.drawn) {
            self.console.line(&self.row(&self.pairs[self.drawn], cells));
            self.drawn += 1;
        }
        let there = self.rows.iter().flatten().count();
        let pair = &self.pairs[index];
        self.console.progress(&format!(
            "{there} of {} pairs … last: {} calls {} over {}",
            self.pairs.len(),
            pair.client.name(),
            pair.server.name(),
            pair.transport.name()
        ));
    }

    fn row(&self, pair: &Pair, cells: &[Cell]) -> String {
        let mut row = format!("{:<8}{:<8}{:<7}", pair.client.name(), pair.server.name(), pair.transport.name());
        for cell in cells {
            row.push_str(&match &cell.outcome {
                Ok(ms) => self.console.paint(Colour::Green, &format!("{:>12}", format!("✓ {ms:.1} ms"))),
                Err(_) => self.console.paint(Colour::Red, &format!("{:>12}", "✗")),
            });
        }
        row
    }

    /// The failures with their reasons, and the sum.
    fn finish(&self, seconds: f64) -> (usize, usize) {
        self.console.line("");
        let (mut passed, mut failed) = (0, 0);
        for (pair, row) in self.pairs.iter().zip(&self.rows) {
            let mut last_reason = "";
            for cell in row.iter().flatten() {
                let Err(reason) = &cell.outcome else {
                    passed += 1;
                    continue;
                };
                failed += 1;
                let name = format!(
                    "✗ {} calls {} over {}, {}:",
                    pair.client.name(),
                    pair.server.name(),
                    pair.transport.name(),
                    cell.revision
                );
                let reason_once = if last_reason == reason { "the same" } else { reason };
                self.console.line(&format!(
                    "{} {}",
                    self.console.paint(Colour::Red, &name),
                    reason_once.replace('\n', "\n    ")
                ));
                last_reason = reason;
            }
        }
        let sum = format!("{passed} of {} calls answered as they should in {seconds:.1} s", passed + failed);
        self.console.line(&self.console.paint(if failed == 0 { Colour::Green } else { Colour::Red }, &sum));
        (passed, failed)
    }
}
