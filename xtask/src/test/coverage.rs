//! Counts the features that each language has: the rows of `docs/coverage.md`. A cell is code that
//! must stand in the program of its row, in a file that the tests run.

use anyhow::{Context, Result, ensure};

use crate::language::Language;
use crate::pages;
use crate::test::programs::FOLDER;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

const PAGE: &str = "docs/coverage.md";

/// The languages in the order of their columns, with the ends of their files.
const COLUMNS: [(Language, &str, &str); 4] = [
    (Language::Python, "py", "py"),
    (Language::Node, "ts", "mjs"),
    (Language::Rust, "rs", "rs"),
    (Language::C, "c", "c"),
];

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let rows = rows(&pages::text(workspace, PAGE)?);
    ensure!(!rows.is_empty(), "{PAGE} has no row");
    let mut count = Count { passed: 0, failed: 0, said: String::new(), note: String::new() };
    let mut sums = Vec::new();
    for (index, (language, snippet, example)) in COLUMNS.into_iter().enumerate() {
        let mut found = 0;
        for row in &rows {
            let cell = row.cells.get(index).map_or("", String::as_str);
            let files = [
                format!("{FOLDER}/{}.{snippet}", row.program),
                format!("examples/{}/{}.{example}", language.name(), row.program),
            ];
            let file = files.iter().find(|file| workspace.path(file).exists());
            let file = file.with_context(|| format!("{PAGE}: there is neither {} nor {}", files[0], files[1]))?;
            if !cell.is_empty() && pages::text(workspace, file)?.contains(cell) {
                found += 1;
            } else {
                count.said.push_str(&format!("{}: {cell:?} does not stand in {file}\n", row.feature));
            }
        }
        count.passed += found;
        count.failed += rows.len() - found;
        sums.push(format!("{} {found} of {}", language.name(), rows.len()));
    }
    count.note = sums.join(", ");
    Ok(count)
}

struct Row {
    feature: String,
    program: String,
    cells: Vec<String>,
}

/// The rows of the table: feature, page, program, and one cell a language.
fn rows(page: &str) -> Vec<Row> {
    let lines = page.lines().filter(|line| line.starts_with("| ")).skip(2);
    let rows = lines.filter_map(|line| {
        let line = line.trim_matches('|').replace("\\|", "\u{0}");
        let mut cells = line.split('|').map(|cell| cell.replace('\u{0}', "|").trim().trim_matches('`').to_owned());
        Some(Row { feature: cells.next()?, program: cells.nth(1)?, cells: cells.collect() })
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_program_and_its_cells() {
        let page = "# F\n\n| feature | page | program | Python | C |\n| --- | --- | --- | --- | --- |\n| Call | [tools](tools.md) | tools | `a \\| b` | `call(` |\n";
        let found: Vec<_> = rows(page).into_iter().map(|row| (row.feature, row.program, row.cells)).collect();
        assert_eq!(found, [("Call".to_owned(), "tools".to_owned(), vec!["a | b".to_owned(), "call(".to_owned()])]);
    }
}
