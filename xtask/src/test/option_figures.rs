//! Checks that figures of options on pages match the defaults, which no standard tool does. Pages
//! state them next to the option: "`drain_deadline` (5 s)", "`max_running`, 128" or "128 calls
//! (`max_running`)".

use std::collections::HashMap;

use anyhow::Result;

use crate::pages;
use crate::test::Count;
use crate::test::figure::{Figure, figures_in};
use crate::workspace::Workspace;

const OPTIONS: &str = "docs/options.md";
/// A figure belongs to an option in parentheses this many words after it.
const MAX_WORDS_BETWEEN: usize = 6;

pub(super) fn check(workspace: &Workspace) -> Result<Count> {
    let defaults = defaults(&workspace.text(OPTIONS)?);
    let mut count = Count::default();
    for page in pages::all(workspace)?.into_iter().chain(["SECURITY.md".to_owned()]).filter(|page| page != OPTIONS) {
        for (option, figure) in stated(&workspace.text(&page)?) {
            if let Some(defaults) = defaults.get(&option) {
                let fault = || format!("{page}: `{option}` is stated as {figure:?}, its default is {defaults:?}");
                count.add((!defaults.contains(&figure)).then(fault));
            }
        }
    }
    Ok(count)
}

/// Options with numeric defaults, in the spelling of each language. Options of several objects may
/// share a name.
fn defaults(page: &str) -> HashMap<String, Vec<Figure>> {
    let mut defaults: HashMap<String, Vec<Figure>> = HashMap::new();
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split(" | ").map(|cell| cell.trim_matches(['|', ' ', '`'])).collect();
        let Some(figure) = cells.get(5).and_then(|default| figures_in(default).next()) else { continue };
        for name in &cells[..3] {
            let known = defaults.entry((*name).to_owned()).or_default();
            known.push(figure);
        }
    }
    defaults
}

/// Options with a figure next to them.
fn stated(page: &str) -> Vec<(String, Figure)> {
    let mut fenced = false;
    let prose: Vec<&str> = page
        .lines()
        .filter(|line| {
            fenced ^= line.starts_with("```");
            !fenced
        })
        .flat_map(str::split_whitespace)
        .collect();
    let bare =
        |index: usize| prose.get(index).map_or("", |word: &&str| word.trim_matches(['(', ')', ',', ';', ':', '.']));
    let figure = |index: usize| Figure::read(bare(index), bare(index + 1));
    let is_cell = |index: usize| prose.get(index) == Some(&"|");
    let mut stated = Vec::new();
    for (index, word) in prose.iter().enumerate() {
        let Some(option) = bare(index).strip_prefix('`').and_then(|word| word.strip_suffix('`')) else { continue };
        let found = if word.starts_with("(`") && word.contains("`)") {
            // A full stop, a semicolon or the end of a cell separates an option from a figure.
            let belongs = |index: &usize| !prose[*index].ends_with(['.', ';', ':']) && !is_cell(*index);
            (index.saturating_sub(MAX_WORDS_BETWEEN)..index).rev().take_while(belongs).find_map(figure)
        } else if word.ends_with(['.', ';', ':', ')']) {
            None
        } else {
            figure(index + 1 + usize::from(is_cell(index + 1)))
        };
        stated.extend(found.map(|figure| (option.to_owned(), figure)));
    }
    stated
}

#[cfg(test)]
mod tests {
    use super::*;
    use Figure::{Milliseconds, Number};

    #[test]
    fn figures_are_found_next_to_their_options() {
        let page = "128 calls run at once\n(`max_running`), and 1,024 wait (`max_waiting`). Within 3 words. The `debug`\n\
            option, `drain_deadline` (5 s), or `a`, 2 min.\n| `b` | 4 MiB |\n```\n`c` 1\n```\n`d`: 7 are two sentences.\n";
        let found = [
            ("max_running", Number(128)),
            ("max_waiting", Number(1024)),
            ("drain_deadline", Milliseconds(5000)),
            ("a", Milliseconds(120_000)),
            ("b", Number(4 << 20)),
        ];
        assert_eq!(stated(page), found.map(|(option, figure)| (option.to_owned(), figure)));
    }

    #[test]
    fn defaults_have_the_names_of_each_language() {
        let page = "| `keep_alive` | `keepAliveMs` | `keepAlive` | `LIMIT` | time | 15 s | Time. |\n\
            | `debug` | `debug` | `debug` | `x` | boolean | `false` | Details. |\n";
        let defaults = defaults(page);
        assert_eq!(defaults.len(), 3);
        assert_eq!(defaults["keepAlive"], [Milliseconds(15_000)]);
    }
}
