//! Tables in columns.

use crate::output::DIM;
use trunkline::printable;

/// Longer cells are cut, except in the last column.
const MAX_COLUMN: usize = 60;

/// Rows whose cells stand in columns. Cells come from servers: they are made printable and put on
/// one line here.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Adds a row.
    pub(crate) fn add<'a>(&mut self, cells: impl IntoIterator<Item = &'a str>) {
        self.rows.push(cells.into_iter().map(one_line).collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines, each with an indentation. The last column is dimmed.
    pub(crate) fn lines(&self, indent: &str) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count().min(MAX_COLUMN)).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |row: &Vec<String>| {
            let mut line = indent.to_owned();
            for (index, cell) in row.iter().enumerate() {
                if columns == 1 {
                    line += cell;
                } else if index + 1 == columns {
                    if !cell.is_empty() {
                        line += &format!("{DIM}{cell}{DIM:#}");
                    }
                } else {
                    let cell = cut(cell, MAX_COLUMN);
                    line += &format!("{cell:width$}  ", width = widths[index]);
                }
            }
            line.trim_end().to_owned()
        };
        self.rows.iter().map(line).collect()
    }
}

/// A string of a server on one line, safe to print.
pub(crate) fn one_line(text: &str) -> String {
    printable(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The start of a string.
pub(crate) fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(max.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_in_columns_and_cannot_leave_them() {
        let mut table = Table::default();
        table.add(["a\u{1b}[2J\nb", "first", "x"]);
        table.add(["longer name", "", "\u{202e}y"]);
        table.add([&"z".repeat(100), "", ""]);
        let lines: Vec<_> =
            table.lines("  ").iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect();
        let first = format!("  {:60}  first  x", "a b");
        assert_eq!(lines, [first, format!("  {:60}         y", "longer name"), format!("  {}…", "z".repeat(59))]);
    }
}
