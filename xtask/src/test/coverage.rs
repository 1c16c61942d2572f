//! Checks the table of features by language, `docs/coverage.md`, as no standard tool can: each cell
//! is code that must occur in the program of its row, in a file that the tests run.

use anyhow::{Context, Result, ensure};

use crate::language::Language;
use crate::test::programs::FOLDER;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

const PAGE: &str = "docs/coverage.md";

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut rows = rows(&workspace.text(PAGE)?);
    ensure!(rows.len() > 1, "{PAGE} has no row");
    let titles = rows.remove(0).cells;
    let mut count = Count::default();
    let mut sums = Vec::new();
    for language in Language::known() {
        let column = titles.iter().position(|title| *title == language.title);
        let column = column.with_context(|| format!("{PAGE} has no column {}", language.title))?;
        let mut found = 0;
        for row in &rows {
            let cell = row.cells.get(column).map_or("", String::as_str);
            let snippet = workspace.path(&format!("{FOLDER}/{}.{}", row.program, language.snippet_ending));
            let file = if snippet.exists() { snippet } else { language.example(workspace, &row.program) };
            let stands = !cell.is_empty() && workspace.text(&file).context(PAGE)?.contains(cell);
            found += usize::from(stands);
            count.add((!stands).then(|| format!("{}: {cell:?} does not stand in {}", row.feature, file.display())));
        }
        sums.push(format!("{} {found} of {}", language.name, rows.len()));
    }
    count.note = sums.join(", ");
    Ok(count)
}

struct Row {
    feature: String,
    program: String,
    cells: Vec<String>,
}

/// The rows of the table, with its heading: feature, page, program, and one cell per language.
fn rows(page: &str) -> Vec<Row> {
    let lines = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---"));
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
        let found: Vec<_> = rows(page).into_iter().skip(1).map(|row| (row.feature, row.program, row.cells)).collect();
        assert_eq!(found, [("Call".to_owned(), "tools".to_owned(), vec!["a | b".to_owned(), "call(".to_owned()])]);
    }
}
