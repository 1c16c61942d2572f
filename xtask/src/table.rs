//! Tables of results, in the console and on pages.

use serde::Serialize;

/// A table of strings; the first column has the names of the rows.
#[derive(Serialize)]
pub(crate) struct Table {
    pub(crate) title: &'static str,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<(String, Vec<String>)>,
}

impl Table {
    pub(crate) fn to_console(&self) -> String {
        let name_width = self.rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0) + 2;
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| {
                let cells = self.rows.iter().map(|(_, row)| row[index].chars().count());
                cells.chain([column.chars().count()]).max().unwrap_or(0) + 2
            })
            .collect();
        let line = |name: &str, row: &[String]| {
            let row: String = row.iter().zip(&widths).map(|(text, width)| format!("{text:<width$}")).collect();
            format!("{name:<name_width$}{row}").trim_end().to_owned()
        };
        let mut text = line("", &self.columns) + "\n";
        for (name, row) in &self.rows {
            text.push_str(&(line(name, row) + "\n"));
        }
        text
    }
}
