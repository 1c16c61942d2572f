//! Converts a page for the site: a program that exists in several languages becomes a set of tabs.

use std::path::{Component, Path, PathBuf};

use anyhow::{Result, bail};

use super::REPOSITORY;
use super::block::{Block, push};
use super::set::{Program, rewritten};
use crate::workspace::Workspace;

/// `page` is the path of the page, from which its links start.
pub(super) fn for_site(workspace: &Workspace, page: &str, text: &str) -> Result<String> {
    let folder = Path::new(page).parent().unwrap_or(Path::new(""));
    let tabbed = rewritten(workspace, page, text, |made, block, programs| {
        if programs.is_empty() {
            push_block(made, "", block);
        }
        programs.iter().try_for_each(|program| push_tab(made, workspace, program, block))
    })?;
    with_links(&tabbed, folder, |path| workspace.path(path).exists())
}

/// Writes a tab. Selecting one applies to all pages, by its title.
fn push_tab(made: &mut String, workspace: &Workspace, program: &Program, block: &Block) -> Result<()> {
    const INDENT: &str = "    ";
    let (block, note) = program.shown(workspace, block)?;
    made.push_str(&format!("\n=== \"{}\"\n\n", program.language.title));
    push_block(made, INDENT, &block);
    if let Some(note) = note {
        push(made, INDENT, &["", note]);
    }
    Ok(())
}

/// Writes a block in the site generator's syntax.
fn push_block(made: &mut String, indent: &str, block: &Block) {
    let name = block.file.as_deref().and_then(|file| Path::new(file).file_name()).filter(|_| block.language != "text");
    let name = name.map_or_else(String::new, |name| format!(" title=\"{}\"", name.to_string_lossy()));
    push(made, indent, &[&format!("```{}{name}", block.language)]);
    push(made, indent, &block.text.lines().collect::<Vec<_>>());
    push(made, indent, &["```"]);
}

/// Makes links to files that are not pages point to the repository. Such a file must exist.
fn with_links(page: &str, folder: &Path, exists: impl Fn(&str) -> bool) -> Result<String> {
    let mut text = String::new();
    let mut fenced = false;
    for line in page.lines() {
        fenced ^= line.trim_start().starts_with("```");
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("](").filter(|_| !fenced) {
            let (target, after) = after.split_once(')').unwrap_or((after, ""));
            text.push_str(&format!("{before}]({})", site_target(target, folder, &exists)?));
            rest = after;
        }
        text.push_str(rest);
        text.push('\n');
    }
    Ok(text)
}

fn site_target(target: &str, folder: &Path, exists: impl Fn(&str) -> bool) -> Result<String> {
    if target.contains("://") || target.starts_with('#') || target.starts_with("mailto:") {
        return Ok(target.to_owned());
    }
    let (file, anchor) = target.split_at(target.find('#').unwrap_or(target.len()));
    let path = normal(&folder.join(file));
    let path = path.to_string_lossy().replace('\\', "/");
    // The site generator checks links to pages and their anchors.
    if (path.starts_with("docs/") && path.ends_with(".md")) || (path.starts_with("docs/images/") && exists(&path)) {
        return Ok(target.to_owned());
    }
    if !exists(&path) {
        bail!("a link to {target}, and there is no {path}");
    }
    Ok(format!("{REPOSITORY}{path}{anchor}"))
}

/// Resolves `..` in a path.
fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::CurDir => {}
            part => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_several_languages_becomes_tabs() {
        let page =
            "A\n\n```python docs/snippets/tools.py\nx = 1\n\ny = 2\n```\nB\n```sh\nls\n```\n\n```text a.txt\n1\n```\n";
        let made = for_site(&Workspace::find().unwrap(), "docs/tools.md", page).unwrap();
        let python = "A\n\n\n=== \"Python\"\n\n    ```python title=\"tools.py\"\n    \"\"\"A tool";
        assert!(made.starts_with(python), "{made}");
        let node = "\n\n    With Node.js 20 and 22, `await using` needs [a compiler option](tutorial-node.md#compile).\n\n\
                    === \"Rust\"\n\n    ```rust title=\"tools.rs\"\n";
        assert!(made.contains(node), "{made}");
        assert!(made.ends_with("    ```\n\nB\n```sh\nls\n```\n\n```text\n1\n```\n"), "{made}");
    }

    #[test]
    fn blocks_in_one_language_stay_apart() {
        let page = "```python a.py\n```\n```rust b.rs\n```\n";
        let made = for_site(&Workspace::find().unwrap(), "docs/tools.md", page).unwrap();
        assert_eq!(made, "```python title=\"a.py\"\n```\n```rust title=\"b.rs\"\n```\n");
    }

    #[test]
    fn links_out_of_the_pages_lead_to_the_repository() {
        let page = "[a](tools.md#x), [b](../SECURITY.md#y) [c](https://x.y)\n```\n[d](../none)\n```\n";
        let made = with_links(page, Path::new("docs"), |path| path == "SECURITY.md").unwrap();
        assert_eq!(
            made,
            format!("[a](tools.md#x), [b]({REPOSITORY}SECURITY.md#y) [c](https://x.y)\n```\n[d](../none)\n```\n")
        );
        assert!(with_links("[a](../none)", Path::new("docs"), |_| false).is_err());
    }

    #[test]
    fn links_of_a_page_start_from_its_folder() {
        let page = "[a](b.md) [c](../tools.md#x) [d](../../SECURITY.md)\n";
        let made = with_links(page, Path::new("docs/decisions"), |path| path == "SECURITY.md").unwrap();
        assert_eq!(made, format!("[a](b.md) [c](../tools.md#x) [d]({REPOSITORY}SECURITY.md)\n"));
    }
}
