//! The worst habits of style that CONTRIBUTING.md names: comments whose sentences begin with a
//! question word instead of a noun, some un-English phrases, and long lines of prose in the docs.

use std::path::Path;

use anyhow::{Context, Result};

use crate::process::must;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

const DEADLINE: std::time::Duration = std::time::Duration::from_secs(60);

/// A sentence that begins so has no noun to be about.
const QUESTION_WORDS: [&str; 8] = ["How", "What", "Whatever", "Who", "Whom", "Whoever", "Whose", "Whether"];

/// Phrases with their better form.
const PHRASES: [(&str, &str); 3] =
    [("belongs into", "belongs in"), ("handshake era", "legacy era"), ("nobody shall", "nobody may")];

/// Denials that are not English, but after "there".
const DENIALS: [&str; 4] = ["is no", "is none", "are no", "are none"];

/// Columns of a line of prose, in Markdown and in the comments of Rust, C and TypeScript; tables,
/// code, directives and lines that are one long link are free.
const COLUMNS: usize = 100;

/// Written by a tool, or the record of a measurement.
const GENERATED: [&str; 3] = ["docs/options.md", "docs/requirements.md", "docs/performance.md"];

/// Around the parts of a page that `cargo xtask generate` writes; their source is checked instead.
const GENERATED_PART: &str = "<!-- generated: ";
const END_OF_GENERATED_PART: &str = "<!-- end of generated: ";

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut git = workspace.command("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let listed = must(git, DEADLINE)?.stdout;
    let mut count = Count { passed: 0, failed: 0, said: String::new(), note: String::new() };
    for file in listed.lines().filter(|file| !GENERATED.contains(file)) {
        let Some(language) = Language::of(Path::new(file)) else { continue };
        let path = workspace.path(file);
        if !path.exists() {
            continue;
        }
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {file}"))?;
        let faults = faults(language, &text);
        if faults.is_empty() {
            count.passed += 1;
        } else {
            count.failed += 1;
        }
        for (line, fault) in faults {
            count.said.push_str(&format!("{file}:{line}: {fault}\n"));
        }
    }
    Ok(count)
}

#[derive(Clone, Copy, PartialEq)]
enum Language {
    /// `//`, `///`, `//!`.
    Rust,
    /// C and TypeScript: `//`, `///`, `/* */`.
    Slashes,
    /// Python, TOML and YAML: `#` and docstrings. The linter of Python bounds the lines.
    Hash,
    Markdown,
}

impl Language {
    fn of(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()? {
            "rs" => Some(Self::Rust),
            "c" | "h" | "hpp" | "ts" | "mts" | "cts" | "js" | "mjs" | "cjs" => Some(Self::Slashes),
            "py" | "pyi" | "toml" | "yml" | "yaml" => Some(Self::Hash),
            "md" => Some(Self::Markdown),
            _ => None,
        }
    }
}

/// Line numbers from 1, with the fault.
fn faults(language: Language, text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fenced = false;
    let mut docstring = false;
    let mut generated = false;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        generated = (generated || line.starts_with(GENERATED_PART)) && !line.starts_with(END_OF_GENERATED_PART);
        if generated && language == Language::Markdown {
            continue;
        }
        let prose = match language {
            Language::Slashes => {
                let comment = comment_of_slashes(line);
                let free = comment.is_none_or(|text| text.starts_with("eslint") || text.starts_with('|'));
                if !free && line.chars().count() > COLUMNS && !is_unbreakable(line) {
                    found.push((number, format!("a comment with more than {COLUMNS} columns")));
                }
                comment
            }
            Language::Rust => {
                let comment = comment_of_slashes(line);
                match comment {
                    Some(text) => fenced ^= text.starts_with("```"),
                    None => fenced = false,
                }
                // A line of a template ends in an escape; its width is that of the file it becomes.
                let free = fenced || line.ends_with("\\n\\") || comment.is_none_or(|text| text.starts_with('|'));
                if !free && line.chars().count() > COLUMNS && !is_unbreakable(line) {
                    found.push((number, format!("a comment with more than {COLUMNS} columns")));
                }
                comment
            }
            Language::Hash => comment_of_hash(line, &mut docstring),
            Language::Markdown => {
                let fence = line.trim_start().starts_with("```");
                fenced ^= fence;
                let free = fence || fenced || line.starts_with("    ") || line.starts_with('|');
                if !free && line.chars().count() > COLUMNS && line.trim().contains(' ') && !is_unbreakable(line) {
                    found.push((number, format!("a line of prose with more than {COLUMNS} columns")));
                }
                (!free).then_some(line)
            }
        };
        // Errors are prose, too.
        let with_code = if language == Language::Markdown { prose } else { Some(line) };
        if let Some(phrase) = with_code.and_then(denied) {
            found.push((number, format!("{phrase:?}: write \"is not a\" or \"are not\"")));
        }
        let Some(prose) = prose else { continue };
        if let Some(word) = question_word(language, prose) {
            found.push((number, format!("a sentence that begins with {word:?}: begin with a noun or an imperative")));
        }
        for (phrase, better) in PHRASES {
            if prose.contains(phrase) {
                found.push((number, format!("{phrase:?}: write {better:?}")));
            }
        }
    }
    found
}

/// A line that is little more than one link or one span of code cannot be broken.
fn is_unbreakable(line: &str) -> bool {
    let line = line.trim_start_matches(['-', '*', ' ']);
    let is_link = line.starts_with('[') && (line.contains("]: ") || line.ends_with(')'));
    let longest_span = line.split('`').skip(1).step_by(2).map(|span| span.chars().count()).max();
    is_link || longest_span.is_some_and(|columns| columns + 20 > COLUMNS || columns * 4 > line.chars().count() * 3)
}

fn comment_of_slashes(line: &str) -> Option<&str> {
    let trimmed = line.trim_start();
    let at_start = ["///", "//!", "//", "/**", "/*", "* "].iter().find_map(|mark| trimmed.strip_prefix(mark));
    at_start.map(|rest| rest.trim().trim_end_matches("*/").trim())
}

fn comment_of_hash<'a>(line: &'a str, docstring: &mut bool) -> Option<&'a str> {
    let trimmed = line.trim();
    if let Some(rest) = trimmed.strip_prefix("# ") {
        return (!*docstring).then_some(rest);
    }
    let marks = trimmed.matches("\"\"\"").count();
    let inside = *docstring;
    if marks % 2 == 1 {
        *docstring = !*docstring;
    }
    if marks > 0 && !inside {
        return trimmed.starts_with("\"\"\"").then(|| trimmed.trim_matches('"'));
    }
    inside.then(|| trimmed.trim_matches('"'))
}

/// The question word that begins a sentence of this line: at its start in a comment (of which each
/// line begins a sentence only after a full stop, so that only capitals count), or after a full
/// stop.
fn question_word(language: Language, prose: &str) -> Option<&'static str> {
    let prose = prose.trim_start_matches(['-', '*', '#', '>', ' ']);
    let begins = |text: &str, word: &str| {
        text.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '\'']) && !text.trim_end().ends_with('?'))
    };
    // Headings and questions of documents are free, and so are names in code.
    let sentences = prose.match_indices(". ").map(|(at, _)| &prose[at + 2..]);
    std::iter::once(prose)
        .chain(sentences)
        .find_map(|sentence| QUESTION_WORDS.into_iter().find(|word| begins(sentence, word)))
        .filter(|_| language != Language::Markdown || !prose.ends_with('?'))
}

/// A denial as in "X … no Y", where "X is not a Y" is English; after "there", and before "longer",
/// it is.
fn denied(text: &str) -> Option<&'static str> {
    let is_denial = |at: usize, phrase: &str| {
        let (before, after) = (&text[..at], &text[at + phrase.len()..]);
        !before.ends_with(char::is_alphanumeric)
            && !before.to_ascii_lowercase().ends_with("there ")
            && after.starts_with([' ', ',', '.', ';', ':', ')'])
            && !after.starts_with(" longer")
    };
    DENIALS.into_iter().find(|phrase| text.match_indices(phrase).any(|(at, _)| is_denial(at, phrase)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(language: Language, text: &str) -> Vec<usize> {
        faults(language, text).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn a_comment_begins_with_a_noun() {
        let code = "/// What a server says.\nfn what() {}\n// The reply. Who waits for it gets it.\n//! Whether it is over.\n/// The end.";
        assert_eq!(lines(Language::Slashes, code), [1, 3, 4]);
        assert_eq!(lines(Language::Slashes, " * Whoever asks.\nlet x = \"What now\"; // fine"), [1]);
    }

    #[test]
    fn denials_are_english() {
        let code =
            "// A path IS URL.\n// There IS URL; it IS longer there.\n//! Others ARE.\nlet a = \"IS b\";\n// this now";
        assert_eq!(lines(Language::Rust, &code.replace("IS", "is no").replace("ARE", "are none")), [1, 3, 4]);
    }

    #[test]
    fn comments_are_bounded_but_for_directives() {
        let long = "word ".repeat(30);
        assert_eq!(lines(Language::Slashes, &format!("// {long}\n// eslint {long}\nconst a = 1;\n * {long}")), [1, 4]);
    }

    #[test]
    fn docstrings_are_prose_and_code_is_not() {
        let code =
            "\"\"\"What it is.\"\"\"\n# Who calls.\nWhat = 1\n\"\"\"A noun.\n\nWhether it is so.\n\"\"\"\nWho = 2";
        assert_eq!(lines(Language::Hash, code), [1, 2, 6]);
    }

    #[test]
    fn lines_of_documents_are_bounded_but_for_tables_code_and_links() {
        let long = "word ".repeat(30);
        let text = format!("{long}\n| {long}|\n```\n{long}\n```\n    {long}\n[{long}](x)\n{long}");
        assert_eq!(lines(Language::Markdown, &text), [1, 8]);
    }

    #[test]
    fn generated_parts_of_a_page_are_free() {
        let long = "word ".repeat(30);
        let page = format!("<!-- generated: events -->\n{long}\n<!-- end of generated: events -->\n{long}");
        assert_eq!(lines(Language::Markdown, &page), [4]);
    }

    #[test]
    fn questions_are_free_and_words_that_only_begin_alike_too() {
        assert_eq!(lines(Language::Slashes, "// What is this?\n// Whole messages only."), [] as [usize; 0]);
        assert_eq!(lines(Language::Slashes, "/// It belongs into a room."), [1]);
    }
}
