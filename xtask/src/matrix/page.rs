//! `docs/matrix.md`: the results without times, so that the page only changes when they do. The
//! template next to this file contains its text.

use anyhow::Result;
use serde_json::json;

use crate::generate::templates;
use crate::matrix::Findings;
use crate::matrix::cell::Status;
use crate::matrix::feature::Features;
use crate::matrix::table;
use crate::stamp::write_if_changed;
use crate::workspace::Workspace;

const PAGE: &str = "docs/matrix.md";

pub(super) fn write(workspace: &Workspace, features: &Features, findings: &Findings) -> Result<()> {
    write_if_changed(&workspace.path(PAGE), render(workspace, features, findings)?.as_bytes())
}

/// Returns whether the page shows these results.
pub(super) fn is_current(workspace: &Workspace, features: &Features, findings: &Findings) -> Result<bool> {
    Ok(workspace.text(PAGE)? == render(workspace, features, findings)?)
}

fn render(workspace: &Workspace, features: &Features, findings: &Findings) -> Result<String> {
    let mut notes = Vec::new();
    let tables = table::all(features, &findings.cells, &mut notes);
    let count = |is_it: fn(&Status) -> bool| findings.cells.iter().filter(|cell| is_it(&cell.status)).count();
    let context = json!({
        "tables": tables,
        "notes": notes,
        "passed": findings.passed(),
        "failed": findings.failed(),
        "undefined": count(|status| matches!(status, Status::Undefined)),
        "absent": count(|status| matches!(status, Status::Absent(_))),
    });
    let environment = templates::environment(&workspace.path("xtask/src/matrix"))?;
    Ok(environment.get_template("matrix.md.j2")?.render(templates::value(context))?)
}
