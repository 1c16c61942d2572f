//! Blocks in several languages in plain Markdown: they fold, and only the first is open. The site
//! has tabs instead.

use super::markup::{run_length, title};
use super::{Block, blocks};

/// Folds the blocks of a page that are in several languages.
pub(super) fn folded(page: &str) -> String {
    let page = unfolded(page);
    let lines: Vec<&str> = page.lines().collect();
    let blocks = blocks(&page);
    let mut text = String::new();
    let (mut next, mut index) = (0, 0);
    while let Some(block) = blocks.get(index) {
        let run = &blocks[index..index + run_length(&blocks[index..], &lines)];
        push(&mut text, &lines[next..block.first]);
        match run {
            [alone] => push(&mut text, &lines[alone.first..=alone.last]),
            run => run.iter().enumerate().for_each(|(place, block)| fold(&mut text, block, place == 0, &lines)),
        }
        next = run.last().map_or(next, |last| last.last + 1);
        index += run.len();
    }
    push(&mut text, &lines[next..]);
    text
}

fn fold(text: &mut String, block: &Block, open: bool, lines: &[&str]) {
    let (open, title) = (if open { " open" } else { "" }, title(block).unwrap_or_default());
    text.push_str(&format!("<details{open}>\n<summary>{title}</summary>\n\n"));
    push(text, &lines[block.first..=block.last]);
    text.push_str("\n</details>\n");
}

/// Turns folded blocks back into consecutive ones.
pub(super) fn unfolded(page: &str) -> String {
    let mut text = String::new();
    let (mut fenced, mut after_fold) = (false, false);
    for line in page.lines() {
        fenced ^= line.starts_with("```");
        if !fenced && is_fold(line) {
            after_fold = true;
        } else if !(after_fold && line.is_empty() && text.ends_with("\n\n")) {
            if after_fold && !line.is_empty() && !text.ends_with("\n\n") {
                text.push('\n');
            }
            after_fold &= line.is_empty();
            push(&mut text, &[line]);
        }
    }
    text
}

fn is_fold(line: &str) -> bool {
    matches!(line, "<details>" | "<details open>" | "</details>")
        || (line.starts_with("<summary>") && line.ends_with("</summary>"))
}

fn push(text: &mut String, lines: &[&str]) {
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str =
        "A\n\n```python a.py\nx = 1\n\n\ny = 2\n```\n\n```rust a.rs\nfn a() {}\n```\n\n```text a.txt\n1\n```\nB\n";
    const FOLDED: &str = "A\n\n<details open>\n<summary>Python</summary>\n\n```python a.py\nx = 1\n\n\ny = 2\n```\n\n</details>\n\
                          <details>\n<summary>Rust</summary>\n\n```rust a.rs\nfn a() {}\n```\n\n</details>\n\n\
                          ```text a.txt\n1\n```\nB\n";

    #[test]
    fn languages_are_folded_and_unfolded() {
        assert_eq!(folded(PLAIN), FOLDED);
        assert_eq!(folded(FOLDED), FOLDED);
        assert_eq!(unfolded(FOLDED), PLAIN);
    }

    #[test]
    fn one_language_stays_open() {
        let page = "A\n```python a.py\n```\n```python b.py\n```\n";
        assert_eq!(folded(page), page);
    }
}
