//! Checks that `docs/dependencies.md` has a reason for each dependency, and that published crates
//! contain the licences. cargo-deny checks the rest in CI: duplicate versions, licences,
//! advisories, sources.

use anyhow::Result;

use crate::test::{Count, Selection};
use crate::workspace::Workspace;

const REASONS: &str = "docs/dependencies.md";
/// Crates that are published separately; their packages have no other licence files.
const PUBLISHED: [&str; 2] = ["core", "core/proto"];

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut count = Count::default();
    count.add(unexplained(&workspace.text("Cargo.toml")?, &workspace.text(REASONS)?));
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        for folder in PUBLISHED {
            let is_copied = workspace.text(format!("{folder}/{licence}")).ok() == Some(workspace.text(licence)?);
            count.add((!is_copied).then(|| format!("{folder}/{licence} is not {licence} of the repository: copy it")));
        }
    }
    Ok(count)
}

/// Crates in the workspace's dependency table without a row on the page, and rows without a crate.
/// Crates with a path are our own.
fn unexplained(manifest: &str, page: &str) -> Vec<String> {
    let table = manifest.split("\n[workspace.dependencies]\n").nth(1).and_then(|rest| rest.split("\n[").next());
    let lines = table.unwrap_or_default().lines().filter(|line| !line.contains("{ path = "));
    let crates: Vec<&str> = lines.filter_map(|line| line.split_once(" = ").map(|(name, _)| name)).collect();
    let rows: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let without_row =
        crates.iter().filter(|name| !rows.contains(name)).map(|name| format!("{REASONS} has no row for `{name}`"));
    let without_crate = rows
        .iter()
        .filter(|name| !crates.contains(name))
        .map(|name| format!("{REASONS} has a row for `{name}`, on which nothing depends"));
    without_row.chain(without_crate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_needs_its_row_and_a_row_its_crate() {
        let manifest =
            "[x]\n[workspace.dependencies]\nours = { path = \"x\" }\na = \"1\"\nb = \"1\"\n\n[y]\nz = \"1\"\n";
        assert!(unexplained(manifest, "| crate |\n| `a` | x |\n| `b` | x |\n").is_empty());
        assert_eq!(unexplained(manifest, "| `a` | x |\n| `c` | x |\n").len(), 2);
    }
}
