//! `docs/matrix.md`: the results without times, so that the page only changes when they do.

use std::path::PathBuf;

use anyhow::Result;

use crate::language::Language;
use crate::matrix::Findings;
use crate::matrix::cell::Status;
use crate::matrix::feature::Features;
use crate::matrix::table;
use crate::stamp::write_if_changed;
use crate::workspace::Workspace;

fn file(workspace: &Workspace) -> PathBuf {
    workspace.path("docs/matrix.md")
}

pub(super) fn write(workspace: &Workspace, features: &Features, findings: &Findings) -> Result<()> {
    write_if_changed(&file(workspace), render(features, findings).as_bytes())
}

/// Returns whether the page shows these results.
pub(super) fn is_current(workspace: &Workspace, features: &Features, findings: &Findings) -> bool {
    std::fs::read_to_string(file(workspace)).is_ok_and(|text| text == render(features, findings))
}

fn render(features: &Features, findings: &Findings) -> String {
    let mut notes = Vec::new();
    let tables = table::all(features, &findings.cells, &mut notes);
    let count = |is_it: fn(&Status) -> bool| findings.cells.iter().filter(|cell| is_it(&cell.status)).count();
    let passed = count(|status| matches!(status, Status::Pass(_)));
    let undefined = count(|status| matches!(status, Status::Undefined));
    let absent = count(|status| matches!(status, Status::Absent(_)));
    let mut page = format!(
        "# Matrix

Written by `cargo xtask matrix`: each client with each server over stdio, Streamable HTTP (`http`)
and HTTP+SSE (`sse`: in the oldest revision and the newest that is spoken there), in each revision
that both know, and each feature by itself (`tests/matrix`).
A cell is one feature of one client with one server over one transport in one revision.
{}
- {} cells: {passed} pass, {} fail
- {undefined} more are of features that the revision does not define
- {absent} more are of features that a peer lacks; they are tried all the same, and one that works is
  an error

`✓` stands for cells that all pass, in every language, over every transport, and in every revision
that defines the feature. A number in brackets is a reason below: there the peer lacks it, in all
cells or, next to a `✓`, in some.
",
        newer_languages(),
        findings.cells.len() - undefined - absent,
        findings.failed(),
    );
    for table in tables {
        page.push_str(&format!("\n{}", table.to_markdown()));
    }
    if !notes.is_empty() {
        page.push_str("\n## Reasons\n\n");
    }
    for (index, note) in notes.iter().enumerate() {
        page.push_str(&format!("{}. {note}\n", index + 1));
    }
    page
}

/// What is left out of the page.
fn newer_languages() -> String {
    let newer: Vec<_> = Language::ALL.iter().filter(|one| !one.meets_all).map(|one| one.title).collect();
    if newer.is_empty() {
        return String::new();
    }
    format!(
        "Newer languages ({}) play with Rust, themselves and their official SDK;\n`cargo xtask matrix --long` plays all pairs.\n",
        newer.join(", ")
    )
}
