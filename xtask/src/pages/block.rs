//! Code blocks of a page. One that begins with ```` ```python docs/snippets/tools.py ```` shows
//! that file verbatim.

use anyhow::Result;

pub(crate) struct Block {
    pub(crate) language: String,
    pub(crate) file: Option<String>,
    /// The line of its opening fence, counted from 0.
    pub(crate) first: usize,
    /// The line of its closing fence.
    pub(crate) last: usize,
    /// Its lines without the fences.
    pub(crate) text: String,
}

impl Block {
    pub(super) fn push_to(&self, text: &mut String) {
        let file = self.file.as_ref().map_or_else(String::new, |file| format!(" {file}"));
        text.push_str(&format!("```{}{file}\n{}```\n", self.language, self.text));
    }
}

pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((first, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let mut words = info.split_whitespace().map(str::to_owned);
        let (language, file) = (words.next().unwrap_or_default(), words.next());
        let (mut last, mut text) = (first, String::new());
        for (index, line) in lines.by_ref() {
            last = index;
            if line.starts_with("```") {
                break;
            }
            text.push_str(line);
            text.push('\n');
        }
        found.push(Block { language, file, first, last, text });
    }
    found
}

/// Inserts the contents of files into the page's blocks.
pub(super) fn filled(page: &str, read: impl Fn(&str) -> Result<String>) -> Result<String> {
    let lines: Vec<&str> = page.lines().collect();
    let mut text = String::new();
    let mut next = 0;
    for block in blocks(page) {
        let Some(file) = &block.file else { continue };
        let body = read(file)?;
        push(&mut text, "", &lines[next..=block.first]);
        text.push_str(&body);
        next = block.last;
    }
    push(&mut text, "", &lines[next..]);
    Ok(text)
}

pub(super) fn push(text: &mut String, indent: &str, lines: &[&str]) {
    for line in lines {
        text.push_str(if line.is_empty() { "" } else { indent });
        text.push_str(line);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# Hello\n```python a.py\nx = 1\n\ny = 2\n```\n```console\n$ ls\n```\n```rust b.rs\n```\nThe end.\n";

    #[test]
    fn blocks_are_found_with_their_files() {
        let found: Vec<_> =
            blocks(PAGE).into_iter().map(|block| (block.first, block.last, block.file, block.text)).collect();
        assert_eq!(
            found,
            [
                (1, 5, Some("a.py".to_owned()), "x = 1\n\ny = 2\n".to_owned()),
                (6, 8, None, "$ ls\n".to_owned()),
                (9, 10, Some("b.rs".to_owned()), String::new()),
            ]
        );
    }

    #[test]
    fn blocks_are_filled_with_their_files() {
        let read = |file: &str| Ok(format!("new {file}\n"));
        let made = filled(PAGE, read).unwrap();
        assert_eq!(
            made,
            "# Hello\n```python a.py\nnew a.py\n```\n```console\n$ ls\n```\n```rust b.rs\nnew b.rs\n```\nThe end.\n"
        );
        assert_eq!(filled(&made, read).unwrap(), made);
        assert!(filled(PAGE, |file| anyhow::bail!("no {file}")).is_err());
    }
}
