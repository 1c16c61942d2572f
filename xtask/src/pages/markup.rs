//! Converts a page for the site: blocks in several languages, which fold in plain Markdown, become
//! tabs.

use std::path::{Component, Path, PathBuf};

use anyhow::{Result, bail};

use super::block::{push, rewritten};
use super::fold::unfolded;
use super::{Block, REPOSITORY};
use crate::language::Language;
use crate::workspace::Workspace;

/// `page` is the path of the page, from which its links start.
pub(super) fn for_site(workspace: &Workspace, page: &str, text: &str) -> Result<String> {
    let folder = Path::new(page).parent().unwrap_or(Path::new(""));
    with_links(&with_tabs(&unfolded(text)), folder, |path| workspace.path(path).exists())
}

/// Converts blocks in different languages to tabs.
fn with_tabs(page: &str) -> String {
    rewritten(page, |text, run, lines| {
        let is_tabs = run.len() > 1;
        let indent = if is_tabs { "    " } else { "" };
        for block in run {
            if let (true, Some(title)) = (is_tabs, title(block)) {
                text.push_str(&format!("\n=== \"{title}\"\n\n"));
            }
            text.push_str(&format!("{indent}{}\n", opening(block)));
            push(text, indent, &lines[block.first + 1..=block.last]);
        }
    })
}

/// The title of its tab. Selecting a title applies to all pages.
pub(super) fn title(block: &Block) -> Option<&'static str> {
    // Container files are named after the language of their program.
    let of_container = block.file.as_deref().filter(|_| block.language == "dockerfile");
    let of_container = of_container.and_then(|file| Path::new(file).file_stem()?.to_str());
    let of_tab = of_container.unwrap_or(&block.language);
    let language = Language::known().find(|one| one.name == of_tab || one.fences.contains(&of_tab));
    language.map(|language| language.title)
}

/// The opening fence in the site generator's syntax.
fn opening(block: &Block) -> String {
    let name = block.file.as_deref().and_then(|file| Path::new(file).file_name()).filter(|_| block.language != "text");
    let name = name.map_or_else(String::new, |name| format!(" title=\"{}\"", name.to_string_lossy()));
    format!("```{}{name}", block.language)
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
    let (file, _) = target.split_once('#').unwrap_or((target, ""));
    let path = normal(&folder.join(file));
    let path = path.to_string_lossy().replace('\\', "/");
    // The site generator checks links to pages and their anchors.
    if (path.starts_with("docs/") && path.ends_with(".md")) || (path.starts_with("docs/images/") && exists(&path)) {
        return Ok(target.to_owned());
    }
    if !exists(&path) {
        bail!("a link to {target}, and there is no {path}");
    }
    Ok(format!("{REPOSITORY}{path}"))
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
    fn blocks_of_different_languages_become_tabs() {
        let page =
            "A\n\n```python docs/a.py\nx = 1\n\ny = 2\n```\n\n```rust docs/a.rs\nfn a() {}\n```\nB\n```sh\nls\n```\n";
        assert_eq!(
            with_tabs(page),
            "A\n\n\n=== \"Python\"\n\n    ```python title=\"a.py\"\n    x = 1\n\n    y = 2\n    ```\n\n=== \"Rust\"\n\n    \
             ```rust title=\"a.rs\"\n    fn a() {}\n    ```\nB\n```sh\nls\n```\n"
        );
    }

    #[test]
    fn container_files_become_tabs_by_their_names() {
        let page = "```dockerfile a/python.Dockerfile\nFROM a\n```\n```dockerfile a/node.Dockerfile\nFROM b\n```\n";
        let shown = with_tabs(page);
        assert!(shown.contains("=== \"Python\"") && shown.contains("=== \"Node.js\""), "{shown}");
    }

    #[test]
    fn blocks_of_one_language_stay_apart() {
        let page = "```python a.py\n```\n```python b.py\n```\n";
        assert_eq!(with_tabs(page), "```python title=\"a.py\"\n```\n```python title=\"b.py\"\n```\n");
    }

    #[test]
    fn links_out_of_the_pages_lead_to_the_repository() {
        let page = "[a](tools.md#x), [b](../SECURITY.md) [c](https://x.y)\n```\n[d](../none)\n```\n";
        let made = with_links(page, Path::new("docs"), |path| path == "SECURITY.md").unwrap();
        assert_eq!(
            made,
            format!("[a](tools.md#x), [b]({REPOSITORY}SECURITY.md) [c](https://x.y)\n```\n[d](../none)\n```\n")
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
