//! Finds the requirements that the tests of all languages name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use crate::language::Language;
use crate::requirements::ids;
use crate::requirements::sides::{Side, Sides};
use crate::stamp::files_under;
use crate::workspace::Workspace;

/// Directories without tests of the protocol.
const LEFT_OUT: [&str; 5] = ["xtask", "benches", "examples", "docs", "tests/requirements"];

/// The ids that tests name, with the file and, if known, the test.
#[derive(Default)]
pub(super) struct Mentions {
    named: BTreeMap<String, BTreeSet<(String, String)>>,
    /// Ids in one name or one range, with its location.
    groups: Vec<(String, Vec<String>)>,
    sides: Sides,
}

impl Mentions {
    pub(super) fn has(&self, id: &str) -> bool {
        self.named.contains_key(id)
    }

    /// The files that name an id, each with its tests; an empty list stands for the whole file.
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

    /// Ids in one name or one range, with its location.
    pub(super) fn groups(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.groups.iter().map(|(place, ids)| (place.as_str(), &ids[..]))
    }

    /// The sides under test in the files that name an id.
    pub(super) fn sides(&self, id: &str) -> BTreeSet<Side> {
        self.named.get(id).into_iter().flatten().map(|(file, _)| self.sides.of_file(file)).collect()
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
    let mut mentions = Mentions { sides: Sides::read(workspace)?, ..Mentions::default() };
    for path in files_under(&workspace.root)? {
        let file = path.strip_prefix(&workspace.root)?.to_string_lossy().replace('\\', "/");
        if LEFT_OUT.iter().any(|folder| Path::new(&file).starts_with(folder)) {
            continue;
        }
        let name = file.rsplit('/').next().unwrap_or(&file);
        let is_vector = file.starts_with("tests/vectors/") && name.ends_with(".json");
        let language = Language::ALL.into_iter().find(|language| (language.tests.is_file)(name, &file));
        if !is_vector && language.is_none() {
            continue;
        }
        if let Some(language) = language {
            language.tests.read(&file, &workspace.text(&file)?, prefixes, &mut mentions);
        } else {
            let vector: Value = workspace.json(&file)?;
            let named = vector["requirements"].as_array().into_iter().flatten().filter_map(Value::as_str);
            mentions.add(&file, "", named.map(str::to_owned));
        }
    }
    Ok(mentions)
}

/// How a language writes its tests.
pub(crate) struct TestSyntax {
    /// Returns whether a file contains tests, by its name and path.
    pub(crate) is_file: fn(name: &str, file: &str) -> bool,
    /// Returns whether a whole file consists of tests.
    pub(crate) is_whole: fn(file: &str) -> bool,
    /// Prefixes of lines that belong to the item below: comments and attributes.
    pub(crate) above: &'static [&'static str],
    /// Prefixes of functions and other items.
    pub(crate) functions: &'static [&'static str],
    /// The rest of a line that starts a test, from its name on; `marked` by an attribute above it.
    pub(crate) test: fn(line: &str, marked: bool) -> Option<&str>,
}

impl TestSyntax {
    /// Ids above or inside a test belong to the test, others to the file.
    fn read(&self, file: &str, text: &str, prefixes: &[String], mentions: &mut Mentions) {
        let lines = self.tests_in(file, text);
        let mut test: Option<(String, usize)> = None;
        let mut above: Vec<Vec<String>> = Vec::new();
        let mut marked = false;
        let begins = |line: &str, starts: &[&str]| starts.iter().any(|start| line.starts_with(start));
        for (index, line) in lines.iter().enumerate() {
            let trimmed = line.trim_start();
            let indent = line.len() - trimmed.len();
            let here = ids::in_text(line, prefixes);
            if begins(trimmed, self.above) {
                above.extend(here);
                marked |= is_test_attribute(trimmed);
                continue;
            }
            if let Some(name) = (self.test)(trimmed, marked).and_then(|rest| name_in(rest, lines.get(index + 1))) {
                above.push(ids::in_name(&name, prefixes));
                test = Some((name, indent));
            } else if begins(trimmed, self.functions) && test.as_ref().is_some_and(|(_, of_test)| indent <= *of_test) {
                test = None;
            }
            let owner = test.as_ref().map_or("", |(name, _)| name.as_str());
            mentions.add_groups(file, owner, above.drain(..).chain(here));
            marked &= trimmed.is_empty();
        }
        mentions.add_groups(file, test.as_ref().map_or("", |(name, _)| name.as_str()), above);
    }

    /// The lines that are tests: a whole test file, or the test module at the end of a source file.
    fn tests_in<'a>(&self, file: &str, text: &'a str) -> Vec<&'a str> {
        let lines: Vec<&str> = text.lines().collect();
        let is_module = |pair: &[&str]| {
            pair[0].starts_with("#[cfg(")
                && pair[0].contains("test")
                && pair[1].starts_with("mod ")
                && pair[1].ends_with('{')
        };
        let start = match (self.is_whole)(file) {
            true => 0,
            false => lines.windows(2).position(is_module).map_or(lines.len(), |before| before + 1),
        };
        lines[start..].to_vec()
    }
}

/// An identifier, or a quoted string, which may be on the next line.
fn name_in(rest: &str, next: Option<&&str>) -> Option<String> {
    let text = if rest.trim().is_empty() { next?.trim() } else { rest.trim_start() };
    let quoted = text.chars().next().filter(|quote| "\"'`".contains(*quote));
    let name = match quoted {
        Some(quote) => text[1..].split(quote).next()?,
        None => text.split(|one: char| !one.is_ascii_alphanumeric() && one != '_').next()?,
    };
    Some(name.to_owned()).filter(|name| !name.is_empty())
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

    fn found(language: &str, file: &str, text: &str) -> Vec<String> {
        let mut mentions = Mentions::default();
        let language = Language::parse_list(language).unwrap()[0];
        language.tests.read(file, text, &["RES".to_owned()], &mut mentions);
        mentions.named().map(|(id, place)| format!("{id} {}", place.split_once(' ').unwrap_or_default().1)).collect()
    }

    #[test]
    fn rust_tests_are_named_by_name_comment_and_body() {
        let text = "//! RES-01\nfn helper() {}\n\n/// RES-02\n#[tokio::test]\nasync fn res_03_reads() {\n    // RES-04\n}\n\nfn other() {\n    // RES-05\n}\n";
        let expected = ["RES-01 ", "RES-02 res_03_reads", "RES-03 res_03_reads", "RES-04 res_03_reads", "RES-05 "];
        assert_eq!(found("rust", "core/tests/a.rs", text), expected);
    }

    #[test]
    fn rust_sources_count_from_their_test_module() {
        let text = "// RES-01\nfn a() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn res_02_b() {}\n}\n";
        assert_eq!(found("rust", "core/spine/src/a.rs", text), ["RES-02 res_02_b"]);
        assert!(found("rust", "core/spine/src/a.rs", "// RES-01\n").is_empty());
    }

    #[test]
    fn python_node_and_c_tests_are_read() {
        let python =
            "def test_res_01_a() -> None:\n    \"\"\"RES-02\"\"\"\n\n# RES-03\nasync def test_b():\n    pass\n";
        assert_eq!(
            found("python", "t/test_a.py", python),
            ["RES-01 test_res_01_a", "RES-02 test_res_01_a", "RES-03 test_b"]
        );
        let node = "test(\n  \"RES-01: reads\",\n  () => {\n    // RES-02\n  });\n";
        assert_eq!(found("node", "a.test.mjs", node), ["RES-01 RES-01: reads", "RES-02 RES-01: reads"]);
        let c = "/* RES-01 */\nstatic void reads(void) {\n  check(); /* RES-02 */\n}\n";
        assert_eq!(found("c", "x/tests/c/a.c", c), ["RES-01 reads", "RES-02 reads"]);
    }
}
