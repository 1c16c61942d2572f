//! Holds the sizes of the C library that `docs/performance.md` states, which no other tool reads.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process::must;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

const PAGE: &str = "docs/performance.md";
/// Precedes the table, whose first column has the options of cargo in backticks, and whose second
/// one has megabytes.
const MARK: &str = "<!-- sizes of the C library -->";
/// How much larger than stated a library may be.
const TOLERANCE: f64 = 1.05;
/// A build optimizes all crates together.
const BUILD_TIMEOUT: Duration = Duration::from_secs(3600);

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(Count { note: "measured on Linux with x86-64 only".to_owned(), ..Count::default() });
    }
    let stated = stated(&workspace.text(PAGE)?)?;
    ensure!(!stated.is_empty(), "{PAGE} has no table after {MARK:?}");
    let mut count = Count::default();
    for (options, megabytes) in stated {
        let size = size(workspace, &options)?;
        count.add((size > megabytes * TOLERANCE).then(|| {
            format!(
                "with {options:?} the C library has {size:.2} MB, and {PAGE} says {megabytes:.2}: find out what grew"
            )
        }));
    }
    Ok(count)
}

/// The options of cargo and the megabytes in each row of the table.
fn stated(page: &str) -> Result<Vec<(String, f64)>> {
    let table = page.split_once(MARK).map_or("", |(_, rest)| rest.trim_start());
    // The heading and the line below it.
    let rows = table.lines().take_while(|line| line.starts_with('|')).skip(2);
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let options = cells.get(1).map(|cell| cell.trim_matches('`').to_owned());
        let megabytes = cells.get(2).and_then(|cell| cell.parse().ok());
        options.zip(megabytes).with_context(|| format!("{PAGE}: no size in {row:?}"))
    })
    .collect()
}

/// The megabytes of the shared library.
fn size(workspace: &Workspace, options: &str) -> Result<f64> {
    let target = workspace.target.join("sizes");
    let mut cargo = workspace.cargo();
    cargo.args(["rustc", "--quiet", "--release", "--package", "trunkline-c", "--lib", "--crate-type", "cdylib"]);
    cargo.args(options.split_whitespace()).arg("--target-dir").arg(&target);
    must(cargo, BUILD_TIMEOUT)?;
    let library = target.join("release").join(workspace.library_file("trunkline"));
    let bytes = fs::metadata(&library).with_context(|| format!("cannot read {}", library.display()))?.len();
    #[expect(clippy::cast_precision_loss, reason = "no library has 2^52 bytes")]
    Ok(bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_to_its_end() {
        let page = format!(
            "| x | 1 |\n\n{MARK}\n\n| options | MB | without |\n| --- | ---: | --- |\n| | 20.5 | |\n| `--features a` | 9 | b |\n\n| y | 2 |\n"
        );
        assert_eq!(stated(&page).unwrap(), [(String::new(), 20.5), ("--features a".to_owned(), 9.0)]);
        assert!(stated(&format!("{MARK}\n| a | b |\n| --- | --- |\n| x | many |\n")).is_err());
    }
}
