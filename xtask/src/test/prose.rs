//! The width of prose, in Markdown and in comments: rustfmt has no stable option for it, and the
//! linters of other languages none that leaves tables and links alone.

use std::path::Path;

use anyhow::Result;

use crate::pages;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

/// Python has its linter for this.
const ENDINGS: [&str; 10] = ["md", "rs", "c", "h", "ts", "mts", "cts", "js", "mjs", "cjs"];

const COLUMNS: usize = 100;

/// Written by a tool, or the record of a measurement.
const GENERATED: [&str; 3] = ["docs/options.md", "docs/requirements.md", "docs/performance.md"];

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut count = Count::default();
    for file in workspace.files(&[])? {
        let ending = Path::new(&file).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if ENDINGS.contains(&ending) && !GENERATED.contains(&file.as_str()) {
            let wide = wide_lines(&pages::text(workspace, &file)?, ending == "md");
            let faults = wide.iter().map(|line| format!("{file}:{line}: prose with more than {COLUMNS} columns"));
            count.add(faults);
        }
    }
    Ok(count)
}

/// The numbers of the lines of prose that are too wide. Code, tables, directives, links and the
/// parts of a page that `cargo xtask generate` writes are free.
fn wide_lines(text: &str, is_markdown: bool) -> Vec<usize> {
    let (mut fenced, mut generated) = (false, false);
    let is_wide = |line: &str| {
        let trimmed = line.trim_start();
        let comment = ["///", "//!", "//", "/*", "* "].iter().find_map(|mark| trimmed.strip_prefix(mark));
        let prose = if is_markdown { Some(line) } else { comment.map(str::trim_start) };
        let fence = prose.is_some_and(|prose| prose.trim_start().starts_with("```"));
        fenced = prose.is_some() && (fenced ^ fence);
        generated = is_markdown
            && (generated || line.starts_with("<!-- generated: "))
            && !line.starts_with("<!-- end of generated: ");
        let is_free = |prose: &str| {
            // A line of a template ends in an escape; its width is that of the file it becomes.
            fence
                || fenced
                || generated
                || ["|", "    ", "eslint"].iter().any(|start| prose.starts_with(start))
                || line.ends_with("\\n\\")
        };
        prose.is_some_and(|prose| !is_free(prose)) && line.chars().count() > COLUMNS && !is_unbreakable(line)
    };
    text.lines().map(is_wide).enumerate().filter_map(|(index, wide)| wide.then_some(index + 1)).collect()
}

/// A line that is little more than one word, one link or one span of code cannot be broken.
fn is_unbreakable(line: &str) -> bool {
    let line = line.trim_start_matches(['-', '*', ' ']);
    let is_link = line.starts_with('[') && (line.contains("]: ") || line.ends_with(')'));
    let longest_span = line.split('`').skip(1).step_by(2).map(|span| span.chars().count()).max();
    is_link
        || !line.contains(' ')
        || longest_span.is_some_and(|columns| columns + 20 > COLUMNS || columns * 4 > line.chars().count() * 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_bounded_but_for_directives_and_code() {
        let long = "word ".repeat(30);
        let code =
            format!("// {long}\n// eslint {long}\nconst a = \"{long}\";\n * {long}\n/// ```\n/// {long}\n/// ```");
        assert_eq!(wide_lines(&code, false), [1, 4]);
    }

    #[test]
    fn pages_are_bounded_but_for_tables_code_links_and_generated_parts() {
        let long = "word ".repeat(30);
        let text = format!("{long}\n| {long}|\n```\n{long}\n```\n    {long}\n[{long}](x)\n{long}");
        assert_eq!(wide_lines(&text, true), [1, 8]);
        let page = format!("<!-- generated: events -->\n{long}\n<!-- end of generated: events -->\n{long}");
        assert_eq!(wide_lines(&page, true), [4]);
    }
}
