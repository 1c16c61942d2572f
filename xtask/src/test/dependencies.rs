//! Each crate that is depended on is there with a reason, which `docs/dependencies.md` gives, and
//! so is the second version of one: what cargo finds twice is what `deny.toml` lists under `skip`.
//! Published crates have the licences.
//! (cargo-deny checks the rest in CI: licences, advisories, sources.)

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process::must;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

const DEADLINE: Duration = Duration::from_secs(120);
const REASONS: &str = "docs/dependencies.md";
/// Crates that are published for themselves: their packages have no other licence files.
const PUBLISHED: [&str; 2] = ["core", "core/proto"];

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut cargo = workspace.cargo();
    cargo.args(["tree", "--quiet", "--workspace", "--duplicates", "--target", "all", "--edges", "normal,build,dev"]);
    cargo.args(["--prefix", "none", "--depth", "0", "--format", "{p}"]);
    let tree = must(cargo, DEADLINE)?.stdout;
    let deny = std::fs::read_to_string(workspace.path("deny.toml")).context("cannot read deny.toml")?;
    let read =
        |file: &str| std::fs::read_to_string(workspace.path(file)).with_context(|| format!("cannot read {file}"));
    let mut faults = faults(&tree, &deny);
    faults.extend(unexplained(&read("Cargo.toml")?, &read(REASONS)?));
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        for folder in PUBLISHED {
            if read(&format!("{folder}/{licence}")).ok() != Some(read(licence)?) {
                faults.push(format!("{folder}/{licence} is not {licence} of the repository: copy it"));
            }
        }
    }
    let mut count = Count::default();
    count.add(faults);
    Ok(count)
}

/// `tree`: lines such as `getrandom v0.3.4`.
fn faults(tree: &str, deny: &str) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in tree.lines() {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(version)) = (words.next(), words.next().and_then(|version| version.strip_prefix('v')))
        {
            let known = versions.entry(name).or_default();
            if !known.contains(&version) {
                known.push(version);
            }
        }
    }
    let skipped: Vec<&str> =
        deny.lines().filter_map(|line| quoted(line.trim().strip_prefix('{')?.trim(), "crate = ")).collect();

    let mut faults = Vec::new();
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        let unexplained: Vec<String> = versions
            .iter()
            .map(|version| format!("{name}@{version}"))
            .filter(|one| !skipped.contains(&one.as_str()))
            .collect();
        if unexplained.len() > 1 {
            faults.push(format!(
                "the workspace uses {}: list all but one in deny.toml with the reason, or keep one",
                unexplained.join(" and ")
            ));
        }
    }
    for one in skipped {
        let several = one
            .split_once('@')
            .and_then(|(name, version)| Some(versions.get(name)?.len() > 1 && versions[name].contains(&version)));
        if several != Some(true) {
            faults.push(format!("deny.toml skips {one}, which is not a duplicate any more"));
        }
    }
    faults
}

/// The crates of the workspace's table without a row in the page, and rows without a crate. Crates
/// with a path are our own.
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

/// `b` of `a = "b" …`, given `a = `.
fn quoted<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.strip_prefix('"')?.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "a v1.0.0\na v2.0.0 (proc-macro)\na v2.0.0\n\nb v1.0.0 (*)\n";

    #[test]
    fn a_duplicate_needs_its_reason() {
        assert_eq!(faults(TREE, "skip = [\n]").len(), 1);
        assert!(faults(TREE, "skip = [\n    { crate = \"a@1.0.0\", reason = \"x\" },\n]").is_empty());
    }

    #[test]
    fn a_crate_needs_its_row_and_a_row_its_crate() {
        let manifest =
            "[x]\n[workspace.dependencies]\nours = { path = \"x\" }\na = \"1\"\nb = \"1\"\n\n[y]\nz = \"1\"\n";
        assert!(unexplained(manifest, "| crate |\n| `a` | x |\n| `b` | x |\n").is_empty());
        assert_eq!(unexplained(manifest, "| `a` | x |\n| `c` | x |\n").len(), 2);
    }

    #[test]
    fn a_reason_without_its_duplicate_is_old() {
        assert_eq!(faults("", "    { crate = \"b@1.0.0\", reason = \"x\" },").len(), 1);
    }
}
