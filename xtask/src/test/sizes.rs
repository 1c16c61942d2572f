//! Holds the sizes of the C library and of the program that `docs/performance.md` states, which no
//! other tool reads.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::build::system;
use crate::process::must;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

const PAGE: &str = "docs/performance.md";
/// Precedes the table, whose first column has the options of cargo in backticks, and whose second
/// one has megabytes.
const LIBRARY_MARK: &str = "<!-- sizes of the C library -->";
/// The same, with targets in the first column.
const PROGRAM_MARK: &str = "<!-- sizes of the program -->";
/// How much larger than stated they may be.
const TOLERANCE: f64 = 1.05;
/// Nor may the program be larger: the workflow `packages` refuses it.
const MAX_PROGRAM: f64 = 16.0;
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// A build optimizes all crates together.
const BUILD_TIMEOUT: Duration = Duration::from_secs(3600);

type Size = fn(&Workspace, &str) -> Result<f64>;

pub(crate) fn of_the_library(workspace: &Workspace, _: &Selection) -> Result<Count> {
    check(workspace, LIBRARY_MARK, f64::INFINITY, library)
}

/// Static, as it is published for Linux.
pub(crate) fn of_the_program(workspace: &Workspace, _: &Selection) -> Result<Count> {
    check(workspace, PROGRAM_MARK, MAX_PROGRAM, program)
}

fn check(workspace: &Workspace, mark: &str, most: f64, size: Size) -> Result<Count> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(Count { note: "measured on Linux with x86-64 only".to_owned(), ..Count::default() });
    }
    let stated = stated(&workspace.text(PAGE)?, mark)?;
    ensure!(!stated.is_empty(), "{PAGE} has no table after {mark:?}");
    let mut count = Count::default();
    for (built, megabytes) in stated {
        let size = size(workspace, &built)?;
        let most = most.min(megabytes * TOLERANCE);
        count.add((size > most).then(|| {
            format!(
                "with {built:?} there are {size:.2} MB, of at most {most:.2}; {PAGE} says {megabytes:.2}: find out what grew"
            )
        }));
    }
    Ok(count)
}

/// The thing built, and the megabytes, in each row of the table.
fn stated(page: &str, mark: &str) -> Result<Vec<(String, f64)>> {
    let table = page.split_once(mark).map_or("", |(_, rest)| rest.trim_start());
    // The heading and the line below it.
    let rows = table.lines().take_while(|line| line.starts_with('|')).skip(2);
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let built = cells.get(1).map(|cell| cell.trim_matches('`').to_owned());
        let megabytes = cells.get(2).and_then(|cell| cell.parse().ok());
        built.zip(megabytes).with_context(|| format!("{PAGE}: no size in {row:?}"))
    })
    .collect()
}

/// The megabytes of the shared library.
fn library(workspace: &Workspace, options: &str) -> Result<f64> {
    let target = workspace.target.join("sizes");
    let mut cargo = workspace.cargo();
    cargo.args(["rustc", "--quiet", "--release", "--package", "trunkline-c", "--lib", "--crate-type", "cdylib"]);
    cargo.args(options.split_whitespace()).arg("--target-dir").arg(&target);
    must(cargo, BUILD_TIMEOUT)?;
    megabytes(&target.join("release").join(workspace.library_file("trunkline")))
}

/// The megabytes of the program, which must start.
fn program(workspace: &Workspace, target: &str) -> Result<f64> {
    system::musl(target)?;
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--quiet", "--profile", "release-cli", "--package", "trunkline-cli", "--bins"]);
    cargo.args(["--target", target]);
    must(cargo, BUILD_TIMEOUT)?;
    let built = workspace.target.join(target).join("release-cli/trunkline");
    let mut start = workspace.command(&built);
    start.arg("--version");
    must(start, START_TIMEOUT)?;
    megabytes(&built)
}

fn megabytes(file: &Path) -> Result<f64> {
    let bytes = fs::metadata(file).with_context(|| format!("cannot read {}", file.display()))?.len();
    #[expect(clippy::cast_precision_loss, reason = "no file has 2^52 bytes")]
    Ok(bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_to_its_end() {
        let page = format!(
            "| x | 1 |\n\n{LIBRARY_MARK}\n\n| options | MB | without |\n| --- | ---: | --- |\n| | 20.5 | |\n| `--features a` | 9 | b |\n\n| y | 2 |\n"
        );
        assert_eq!(stated(&page, LIBRARY_MARK).unwrap(), [(String::new(), 20.5), ("--features a".to_owned(), 9.0)]);
        assert!(stated(&format!("{LIBRARY_MARK}\n| a | b |\n| --- | --- |\n| x | many |\n"), LIBRARY_MARK).is_err());
    }
}
