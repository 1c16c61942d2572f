//! The code in the README and on the pages is code that runs: every block names its file, stands
//! there word for word, and the files are run (examples.rs).

use anyhow::{Context, Result};

use crate::test::{Count, Selection};
use crate::workspace::Workspace;

/// Languages that a reader can run, so that a snippet has to name its file.
const CODE: [&str; 9] = ["rust", "rs", "python", "py", "js", "mjs", "ts", "javascript", "c"];

/// The documents whose code is checked. The READMEs of the bindings are checked by their bindings'
/// tests.
const PAGES: [&str; 7] = [
    "README.md",
    "docs/authorization.md",
    "docs/composition.md",
    "docs/features.md",
    "docs/frameworks.md",
    "docs/groups.md",
    "docs/tasks.md",
];

/// Blocks begin with ```` ```python examples/python/server.py ````.
pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut count = Count { passed: 0, failed: 0, said: String::new(), note: String::new() };
    for page in PAGES {
        let blocks = blocks(&text(workspace, page)?);
        for block in &blocks {
            match block.fault(workspace) {
                None => count.passed += 1,
                Some(fault) => {
                    count.failed += 1;
                    count.said.push_str(&format!("{page}:{}: {fault}\n", block.line));
                }
            }
        }
        if blocks.is_empty() {
            count.failed += 1;
            count.said.push_str(&format!("{page} shows no code\n"));
        }
    }
    Ok(count)
}

/// The files that the documents show.
pub(crate) fn files(workspace: &Workspace) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for page in PAGES {
        files.extend(blocks(&text(workspace, page)?).into_iter().filter_map(|block| block.file));
    }
    Ok(files)
}

fn text(workspace: &Workspace, page: &str) -> Result<String> {
    std::fs::read_to_string(workspace.path(page)).with_context(|| format!("cannot read {page}"))
}

struct Block {
    line: usize,
    file: Option<String>,
    text: String,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            continue;
        };
        let mut words = info.split_whitespace();
        let is_code = words.next().is_some_and(|language| CODE.contains(&language));
        let file = words.next().map(str::to_owned);
        let text: String = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| !line.starts_with("```"))
            .map(|line| format!("{line}\n"))
            .collect();
        if is_code {
            blocks.push(Block { line: index + 1, file, text });
        }
    }
    blocks
}

impl Block {
    fn fault(&self, workspace: &Workspace) -> Option<String> {
        let Some(file) = &self.file else {
            return Some("a block of code without its file: begin it with ```language path/of/the/file".to_owned());
        };
        match std::fs::read_to_string(workspace.path(file)) {
            Err(error) => Some(format!("cannot read {file}: {error}")),
            Ok(content) if content.replace("\r\n", "\n") != self.text => {
                Some(format!("the block is not what stands in {file}"))
            }
            Ok(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_with_their_files() {
        let text = "# Hello\n```python examples/a.py\nx = 1\n\ny = 2\n```\n```console\n$ ls\n```\n```rust\nfn main() {}\n```\n";
        let found: Vec<_> = blocks(text).into_iter().map(|block| (block.line, block.file, block.text)).collect();
        assert_eq!(
            found,
            [
                (2, Some("examples/a.py".to_owned()), "x = 1\n\ny = 2\n".to_owned()),
                (10, None, "fn main() {}\n".to_owned())
            ]
        );
    }
}
