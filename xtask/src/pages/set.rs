//! Programs that exist in several languages. A page in the repository shows one of them, and a line
//! of links to the others; the site has a tab for each.

use std::path::Path;

use anyhow::{Result, bail};

use super::block::{Block, blocks, push};
use crate::language::Language;
use crate::stamp::stem_of;
use crate::workspace::Workspace;

/// The line of links, which `cargo xtask site` writes below the program.
pub(crate) const LINKS: &str = "In other languages: ";

#[derive(PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) language: Language,
    /// Relative to the root of the tree.
    pub(crate) file: String,
}

/// The program of a block in all languages, that of the block first. Empty if it exists in one
/// language only, or if the page is about one.
pub(crate) fn programs(workspace: &Workspace, page: &str, block: &Block) -> Vec<Program> {
    let Some(file) = block.file.as_deref().filter(|_| Language::of_page(page).is_none()) else {
        return Vec::new();
    };
    let program = |language: Language| {
        let file = places(language, file).into_iter().find(|file| workspace.path(file).exists())?;
        Some(Program { language, file })
    };
    let mut found: Vec<Program> = Language::listed().into_iter().filter_map(program).collect();
    match found.iter().position(|program| program.file == file) {
        Some(place) if found.len() > 1 => found[..=place].rotate_right(1),
        _ => found.clear(),
    }
    found
}

/// The possible paths of a program in a language.
fn places(language: Language, file: &str) -> Vec<String> {
    let (stem, name) = (stem_of(Path::new(file)), language.name);
    if file.starts_with("docs/snippets/") {
        return vec![format!("docs/snippets/{stem}.{}", language.snippet_ending)];
    }
    if file.starts_with("examples/deployment/") {
        return vec![format!("examples/deployment/{name}.Dockerfile")];
    }
    let endings = std::iter::once(&language.snippet_ending).chain(language.example_endings);
    endings.map(|ending| format!("examples/{name}/{stem}.{ending}")).collect()
}

/// A page with its lines of links.
pub(crate) fn linked(workspace: &Workspace, page: &str, text: &str) -> Result<String> {
    rewritten(workspace, page, text, |made, block, programs| {
        block.push_to(made);
        let links: Vec<String> = programs
            .iter()
            .skip(1)
            .map(|Program { language, file }| format!("[{}]({})", language.title, relative(page, file)))
            .collect();
        if !links.is_empty() {
            made.push_str(&format!("\n{LINKS}{}\n", links.join(" · ")));
        }
        Ok(())
    })
}

/// A page with its programs in some languages, for readers that see no tabs. A program that is in
/// none of them stays as it is.
pub(super) fn spelled_out(
    workspace: &Workspace,
    page: &str,
    text: &str,
    has: impl Fn(Language) -> bool,
) -> Result<String> {
    rewritten(workspace, page, text, |made, block, programs| {
        let kept: Vec<_> = programs.iter().filter(|program| has(program.language)).collect();
        if kept.is_empty() {
            block.push_to(made);
        }
        for (place, program) in kept.into_iter().enumerate() {
            let (block, note) = program.shown(workspace, block)?;
            made.push_str(if place == 0 { "" } else { "\n" });
            block.push_to(made);
            made.push_str(&note.map_or_else(String::new, |note| format!("\n{note}\n")));
        }
        Ok(())
    })
}

impl Program {
    /// Its block, in the place of one in another language, and what a reader must know to run it.
    pub(super) fn shown(&self, workspace: &Workspace, other: &Block) -> Result<(Block, Option<&'static str>)> {
        let text = workspace.text(&self.file)?;
        let note = self.language.note.filter(|(word, _)| text.contains(word)).map(|(_, note)| note);
        let fence = if other.language == "dockerfile" { &other.language } else { self.language.fences[0] };
        let (language, file) = (fence.to_owned(), Some(self.file.clone()));
        Ok((Block { language, file, first: other.first, last: other.last, text }, note))
    }
}

/// Writes a page with other text for each block and its line of links. Fails if a set of tabs would
/// be interrupted.
pub(super) fn rewritten(
    workspace: &Workspace,
    page: &str,
    text: &str,
    write: impl Fn(&mut String, &Block, &[Program]) -> Result<()>,
) -> Result<String> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut made, mut next) = (String::new(), 0);
    let mut seen: Vec<Program> = Vec::new();
    for block in blocks(text) {
        let programs = programs(workspace, page, &block);
        if let Some(other) = seen.iter().find(|one| programs[1.min(programs.len())..].contains(one)) {
            bail!("line {}: the program is already there as {}: show it in one language", block.first + 1, other.file);
        }
        push_prose(&mut made, &lines, next..block.first)?;
        write(&mut made, &block, &programs)?;
        next = block.last + 1;
        if !programs.is_empty() {
            next = after_links(&lines, next);
            made.push_str(if lines.get(next).is_none_or(|line| line.is_empty()) { "" } else { "\n" });
        }
        seen.extend(programs.into_iter().next());
    }
    push_prose(&mut made, &lines, next..lines.len())?;
    Ok(made)
}

fn push_prose(made: &mut String, lines: &[&str], range: std::ops::Range<usize>) -> Result<()> {
    if let Some(line) = range.clone().find(|&index| lines[index].starts_with(LINKS)) {
        bail!("line {}: links to other languages without their program directly above them", line + 1);
    }
    push(made, "", &lines[range]);
    Ok(())
}

/// The index after the line of links, if that follows.
fn after_links(lines: &[&str], next: usize) -> usize {
    let rest = &lines[next.min(lines.len())..];
    let empty = rest.iter().take_while(|line| line.is_empty()).count();
    if rest.get(empty).is_some_and(|line| line.starts_with(LINKS)) { next + empty + 1 } else { next }
}

/// The path of a file from the folder of a page.
fn relative(page: &str, file: &str) -> String {
    let mut folders: Vec<&str> = page.split('/').collect();
    folders.pop();
    let shared = folders.iter().zip(file.split('/')).take_while(|(folder, part)| *folder == part).count();
    let path: Vec<&str> = file.split('/').skip(shared).collect();
    format!("{}{}", "../".repeat(folders.len() - shared), path.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "docs/tools.md";
    const PLAIN: &str =
        "A\n\n```python docs/snippets/tools.py\nx = 1\n```\nB\n\n```text docs/snippets/tools.txt\n```\n";

    fn made(text: &str) -> Result<String> {
        linked(&Workspace::find()?, PAGE, text)
    }

    #[test]
    fn a_program_has_links_to_the_other_languages() {
        let linked = made(PLAIN).unwrap();
        let line = format!(
            "x = 1\n```\n\n{LINKS}[Node.js](snippets/tools.ts) · [Rust](snippets/tools.rs) · [C](snippets/tools.c) · \
             [Go](snippets/tools.go) · [Kotlin](snippets/tools.kt) · [Java](snippets/tools.java) · \
             [Ruby](snippets/tools.rb) · [Swift](snippets/tools.swift)\n\nB\n"
        );
        assert!(linked.contains(&line), "{linked}");
        assert_eq!(made(&linked).unwrap(), linked);
        assert_eq!(made(&linked.replace(" · [C](snippets/tools.c)", "")).unwrap(), linked);
    }

    #[test]
    fn links_start_from_the_folder_of_the_page() {
        let file = "docs/snippets/tools.ts";
        assert_eq!(relative("docs/tools.md", file), "snippets/tools.ts");
        assert_eq!(relative("docs/decisions/threads.md", file), "../snippets/tools.ts");
        assert_eq!(relative("docs/tools.md", "examples/c/client.c"), "../examples/c/client.c");
        assert_eq!(relative("README.md", "examples/c/client.c"), "examples/c/client.c");
    }

    #[test]
    fn the_program_of_the_page_comes_first() {
        let text = "```go docs/snippets/tools.go\n```\n```dockerfile examples/deployment/rust.Dockerfile\n```\n";
        let workspace = Workspace::find().unwrap();
        let titles = |block: &Block| {
            programs(&workspace, PAGE, block).into_iter().map(|program| program.language.title).collect::<Vec<_>>()
        };
        let [go, rust] = &blocks(text)[..] else { panic!("two blocks") };
        assert_eq!(titles(go)[..4], ["Go", "Python", "Node.js", "Rust"]);
        assert_eq!(titles(rust)[..4], ["Rust", "Python", "Node.js", "C"]);
        assert!(programs(&workspace, "docs/tutorial-go.md", go).is_empty());
    }

    #[test]
    fn an_interrupted_set_is_refused() {
        let linked = made(PLAIN).unwrap();
        let twice = format!("{linked}\nA note.\n\n```rust docs/snippets/tools.rs\n```\n");
        let noted = linked.replace("x = 1\n```\n", "x = 1\n```\n\nA note.\n");
        for (text, part) in [(twice, "already there as docs/snippets/tools.py"), (noted, "directly above")] {
            let error = made(&text).expect_err("an interrupted set");
            assert!(format!("{error:#}").contains(part), "{error:#}");
        }
    }

    #[test]
    fn pages_for_models_have_the_programs_of_one_language() {
        let workspace = Workspace::find().unwrap();
        let node = |language: Language| language.name == "node";
        let made = spelled_out(&workspace, PAGE, &linked(&workspace, PAGE, PLAIN).unwrap(), node).unwrap();
        assert!(made.starts_with("A\n\n```ts docs/snippets/tools.ts\n// A tool"), "{made}");
        assert!(made.contains("await using") && made.contains("needs [a compiler option]"), "{made}");
        assert!(!made.contains("x = 1") && !made.contains(LINKS), "{made}");
        let all = spelled_out(&workspace, PAGE, PLAIN, |_| true).unwrap();
        assert_eq!(all.matches("docs/snippets/tools.").count(), Language::known().count() + 1);
    }
}
