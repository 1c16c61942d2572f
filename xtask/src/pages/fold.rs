//! Blocks in several languages in plain Markdown: they fold, and only the first is open. The site
//! has tabs instead.

use super::block::{push, rewritten};
use super::markup::title;

/// Folds the blocks of a page that are in several languages.
pub(super) fn folded(page: &str) -> String {
    rewritten(&unfolded(page), |text, run, lines| {
        for (place, block) in run.iter().enumerate() {
            let (is_folded, open) = (run.len() > 1, if place == 0 { " open" } else { "" });
            if is_folded {
                let title = title(block).unwrap_or_default();
                text.push_str(&format!("<details{open}>\n<summary>{title}</summary>\n\n"));
            }
            push(text, "", &lines[block.first..=block.last]);
            text.push_str(if is_folded { "\n</details>\n" } else { "" });
        }
    })
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
            push(&mut text, "", &[line]);
        }
    }
    text
}

fn is_fold(line: &str) -> bool {
    matches!(line, "<details>" | "<details open>" | "</details>")
        || (line.starts_with("<summary>") && line.ends_with("</summary>"))
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
