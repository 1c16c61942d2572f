//! Finds what the tests of all languages name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::requirements::ids;
use crate::requirements::sides::Side;
use crate::stamp::files_under;
use crate::workspace::Workspace;

/// Where no test of the protocol lies.
const LEFT_OUT: [&str; 5] = ["xtask", "benches", "examples", "docs", "tests/requirements"];

/// The ids that tests name, with the file and, where it is known, the test.
#[derive(Default)]
pub(super) struct Mentions {
    named: BTreeMap<String, BTreeSet<(String, String)>>,
    /// Ids that one name or one range holds, with its place.
    groups: Vec<(String, Vec<String>)>,
}

impl Mentions {
    pub(super) fn has(&self, id: &str) -> bool {
        self.named.contains_key(id)
    }

    /// Files, each with the names of its tests; without a name, the id is named for all of the
    /// file.
    pub(super) fn of(&self, id: &str) -> BTreeMap<&str, Vec<&str>> {
        let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (file, test) in self.named.get(id).into_iter().flatten() {
            let tests = files.entry(file).or_default();
            tests.extend(Some(test.as_str()).filter(|test| !test.is_empty()));
        }
        files
    }

    pub(super) fn named(&self) -> impl Iterator<Item = (&str, String)> {
        self.named
            .iter()
            .flat_map(|(id, places)| places.iter().map(move |(file, test)| (id.as_str(), format!("{file} {test}"))))
    }

    /// Ids that stand in one name or one range, with its place.
    pub(super) fn groups(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.groups.iter().map(|(place, ids)| (place.as_str(), &ids[..]))
    }

    /// The sides under test where the id is named.
    pub(super) fn sides(&self, id: &str) -> BTreeSet<Side> {
        self.named.get(id).into_iter().flatten().map(|(file, _)| Side::of_file(file)).collect()
    }

    fn add_groups(&mut self, file: &str, test: &str, groups: impl IntoIterator<Item = Vec<String>>) {
        for ids in groups {
            if ids.len() > 1 {
                self.groups.push((format!("{file} {test}"), ids.clone()));
            }
            self.add(file, test, ids);
        }
    }

    fn add(&mut self, file: &str, test: &str, ids: impl IntoIterator<Item = String>) {
        for id in ids {
            self.named.entry(id).or_default().insert((file.to_owned(), test.to_owned()));
        }
    }
}

pub(super) fn tree(workspace: &Workspace, prefixes: &[String]) -> Result<Mentions> {
    let mut mentions = Mentions::default();
    for path in files_under(&workspace.root)? {
        let file = path.strip_prefix(&workspace.root)?.to_string_lossy().replace('\\', "/");
        if LEFT_OUT.iter().any(|folder| Path::new(&file).starts_with(folder)) {
            continue;
        }
        let Some(kind) = Kind::of(&file) else { continue };
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {file}"))?;
        match kind {
            Kind::Vector => {
                let vector: Value = serde_json::from_str(&text).with_context(|| format!("cannot read {file}"))?;
                let named = vector["requirements"].as_array().into_iter().flatten().filter_map(Value::as_str);
                mentions.add(&file, "", named.map(str::to_owned));
            }
            Kind::Source(language) => language.read(&file, &text, prefixes, &mut mentions),
        }
    }
    Ok(mentions)
}

enum Kind {
    Source(Language),
    Vector,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Rust,
    Python,
    Node,
    C,
}

impl Kind {
    fn of(file: &str) -> Option<Self> {
        let name = file.rsplit('/').next()?;
        let ends = |ending: &str| name.ends_with(ending);
        Some(match name.rsplit('.').next()? {
            "rs" => Self::Source(Language::Rust),
            "py" if name.starts_with("test_") => Self::Source(Language::Python),
            "mjs" | "cjs" | "js" | "ts" | "mts"
                if [".test.mjs", ".test.cjs", ".test.js", ".test.ts", ".test.mts"].into_iter().any(ends) =>
            {
                Self::Source(Language::Node)
            }
            "c" if file.contains("/tests/") => Self::Source(Language::C),
            "json" if file.starts_with("tests/vectors/") => Self::Vector,
            _ => return None,
        })
    }
}

impl Language {
    /// Ids above a test or in it belong to the test, ids elsewhere to the file.
    fn read(self, file: &str, text: &str, prefixes: &[String], mentions: &mut Mentions) {
        let lines = self.tests_in(file, text);
        let mut test: Option<(String, usize)> = None;
        let mut above: Vec<Vec<String>> = Vec::new();
        let mut marked = false;
        for (index, line) in lines.iter().enumerate() {
            let trimmed = line.trim_start();
            let indent = line.len() - trimmed.len();
            let here = ids::in_text(line, prefixes);
            if self.is_above(trimmed) {
                above.extend(here);
                marked |= self == Self::Rust && is_test_attribute(trimmed);
                continue;
            }
            if let Some(name) = self.name_of_test(trimmed, lines.get(index + 1), marked) {
                above.push(ids::in_name(&name, prefixes));
                test = Some((name, indent));
            } else if self.starts_function(trimmed) && test.as_ref().is_some_and(|(_, of_test)| indent <= *of_test) {
                test = None;
            }
            let owner = test.as_ref().map_or("", |(name, _)| name.as_str());
            mentions.add_groups(file, owner, above.drain(..).chain(here));
            marked &= trimmed.is_empty();
        }
        mentions.add_groups(file, test.as_ref().map_or("", |(name, _)| name.as_str()), above);
    }

    /// The lines that are tests: all of a file of tests, or the test module at the end of a source
    /// file.
    fn tests_in(self, file: &str, text: &str) -> Vec<String> {
        let all_of_it = self != Self::Rust
            || file.contains("/tests/")
            || file.ends_with("/tests.rs")
            || file.starts_with("tests/vectors/runner/");
        let mut lines = text.lines().map(str::to_owned).peekable();
        let mut before = String::new();
        while let Some(line) = lines.peek().filter(|_| !all_of_it) {
            if before.starts_with("#[cfg(")
                && before.contains("test")
                && line.starts_with("mod ")
                && line.ends_with('{')
            {
                break;
            }
            before.clone_from(line);
            lines.next();
        }
        lines.collect()
    }

    /// Comments and attributes.
    fn is_above(self, trimmed: &str) -> bool {
        match self {
            Self::Rust => trimmed.starts_with("//") || trimmed.starts_with("#["),
            Self::Python => trimmed.starts_with('#') || trimmed.starts_with('@'),
            Self::Node | Self::C => ["//", "/*", "*"].iter().any(|start| trimmed.starts_with(start)),
        }
    }

    fn starts_function(self, trimmed: &str) -> bool {
        let starts: &[&str] = match self {
            Self::Rust => &["fn ", "async fn ", "pub ", "impl ", "struct ", "mod "],
            Self::Python => &["def ", "async def ", "class "],
            Self::Node => &["function ", "async function ", "class "],
            Self::C => &["static ", "int ", "void "],
        };
        starts.iter().any(|start| trimmed.starts_with(start))
    }

    fn name_of_test(self, trimmed: &str, next: Option<&String>, marked: bool) -> Option<String> {
        let identifier = |rest: &str| {
            let end = rest.find(|one: char| !one.is_ascii_alphanumeric() && one != '_').unwrap_or(rest.len());
            Some(rest[..end].to_owned()).filter(|name| !name.is_empty())
        };
        match self {
            Self::Rust if marked => identifier(trimmed.strip_prefix("async ").unwrap_or(trimmed).strip_prefix("fn ")?),
            Self::Rust => None,
            Self::Python => {
                let name = identifier(trimmed.strip_prefix("async ").unwrap_or(trimmed).strip_prefix("def ")?)?;
                name.starts_with("test_").then_some(name)
            }
            Self::Node => {
                let call = trimmed.strip_prefix("await ").unwrap_or(trimmed);
                let rest = ["test(", "it(", "t.test("].iter().find_map(|start| call.strip_prefix(start))?;
                let text = if rest.trim().is_empty() { next?.trim() } else { rest.trim_start() };
                let quote = text.chars().next().filter(|quote| "\"'`".contains(*quote))?;
                text[1..].split(quote).next().map(str::to_owned)
            }
            Self::C => {
                let name = trimmed.strip_prefix("static void ")?.strip_suffix("(void) {")?;
                identifier(name)
            }
        }
    }
}

fn is_test_attribute(line: &str) -> bool {
    line.strip_prefix("#[").is_some_and(|inside| {
        let path = inside.split(['(', ']']).next().unwrap_or_default();
        path == "test" || path.ends_with("::test")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(language: Language, file: &str, text: &str) -> Vec<String> {
        let mut mentions = Mentions::default();
        language.read(file, text, &["RES".to_owned()], &mut mentions);
        mentions.named().map(|(id, place)| format!("{id} {}", place.split_once(' ').unwrap_or_default().1)).collect()
    }

    #[test]
    fn rust_tests_are_named_by_name_comment_and_body() {
        let text = "//! RES-01\nfn helper() {}\n\n/// RES-02\n#[tokio::test]\nasync fn res_03_reads() {\n    // RES-04\n}\n\nfn other() {\n    // RES-05\n}\n";
        let expected = ["RES-01 ", "RES-02 res_03_reads", "RES-03 res_03_reads", "RES-04 res_03_reads", "RES-05 "];
        assert_eq!(found(Language::Rust, "core/tests/a.rs", text), expected);
    }

    #[test]
    fn rust_sources_count_from_their_test_module() {
        let text = "// RES-01\nfn a() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn res_02_b() {}\n}\n";
        assert_eq!(found(Language::Rust, "core/src/a.rs", text), ["RES-02 res_02_b"]);
        assert!(found(Language::Rust, "core/src/a.rs", "// RES-01\n").is_empty());
    }

    #[test]
    fn python_node_and_c_tests_are_read() {
        let python =
            "def test_res_01_a() -> None:\n    \"\"\"RES-02\"\"\"\n\n# RES-03\nasync def test_b():\n    pass\n";
        assert_eq!(
            found(Language::Python, "t/test_a.py", python),
            ["RES-01 test_res_01_a", "RES-02 test_res_01_a", "RES-03 test_b"]
        );
        let node = "test(\n  \"RES-01: reads\",\n  () => {\n    // RES-02\n  });\n";
        assert_eq!(found(Language::Node, "a.test.mjs", node), ["RES-01 RES-01: reads", "RES-02 RES-01: reads"]);
        let c = "/* RES-01 */\nstatic void reads(void) {\n  check(); /* RES-02 */\n}\n";
        assert_eq!(found(Language::C, "x/tests/c/a.c", c), ["RES-01 reads", "RES-02 reads"]);
    }
}
