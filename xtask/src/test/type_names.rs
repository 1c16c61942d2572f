//! One type name, one meaning: finds names that several modules of our Rust crates define.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::stamp::files_under;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

const SOURCES: [&str; 6] =
    ["core/src", "core/proto/src", "core/bridge/src", "bindings-c/src", "bindings-node/native", "bindings-python/src"];

/// Names that several modules define for one and the same thing, with the reason.
const SHARED: [(&str, &str); 24] = [
    ("AccessControl", "one without the feature `auth`"),
    ("Authorization", "one without the feature `auth`"),
    ("Caller", "one without the feature `auth`"),
    ("Schema", "one without the feature `schema-validation`"),
    ("Descriptor", "the protocol's, and the system's of an alarm on each platform"),
    ("InputRequest", "as a server makes it, as a client receives it, and as it crosses the waist"),
    ("InputRequired", "as a server makes it, as a client receives it, and as it crosses the waist"),
    ("AccessToken", CROSSES),
    ("GroupServer", CROSSES),
    ("LogMessage", CROSSES),
    ("Request", CROSSES),
    ("SkillFile", CROSSES),
    ("Tool", DEFINITION),
    ("Resource", DEFINITION),
    ("ResourceTemplate", DEFINITION),
    ("Prompt", DEFINITION),
    ("Task", "the model of the protocol, and the task of a server that it describes"),
    ("Bell", "the trait and its implementation for Node.js"),
    ("Port", "the core's, and its owner in each binding"),
    ("Server", "the core's, and its owner in C"),
    ("Listener", "the core's, and its owner in C"),
    ("Connection", "the core's, and its owner in C"),
    ("Notification", "a message, and those that cross the waist"),
    ("Result", "the idiom: a result with the error type of its module"),
];
const CROSSES: &str = "the core's, and as it crosses the waist";
const DEFINITION: &str = "the model of the protocol, and its definition with a handler, from which the model is made";

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for folder in SOURCES {
        for file in files_under(&workspace.path(folder))? {
            let place = file.strip_prefix(workspace.path(""))?.display().to_string();
            if !place.ends_with(".rs") || place.ends_with("tests.rs") || place.contains("/tests/") {
                continue;
            }
            let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {place}"))?;
            for (line, name) in defined_in(&text) {
                places.entry(name.to_owned()).or_default().push(format!("{place}:{line}"));
            }
        }
    }
    let mut count = Count { passed: 0, failed: 0, said: String::new(), note: format!("{} types", places.len()) };
    for (name, places) in &places {
        if places.len() == 1 || SHARED.iter().any(|(shared, _)| shared == name) {
            count.passed += 1;
        } else {
            count.failed += 1;
            count.said.push_str(&format!("{name} has several meanings: {}\n", places.join(", ")));
        }
    }
    Ok(count)
}

/// The types that a module defines: those without indentation, and those that a macro such as
/// `json_object!` makes. Types within a function or a test are nobody else's.
fn defined_in(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_macro = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.starts_with(|letter: char| !letter.is_whitespace()) {
            in_macro = line.ends_with("! {");
        }
        let is_public = |line: &&str| line.starts_with("pub");
        let line = line.strip_prefix("    ").filter(|_| in_macro).filter(is_public).unwrap_or(line);
        let line = match line.strip_prefix("pub") {
            Some(rest) => rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest),
            None => line,
        };
        let line =
            if line.starts_with(' ') { line.strip_prefix(' ').filter(|rest| !rest.starts_with(' '))? } else { line };
        let rest = ["struct ", "enum ", "trait ", "type ", "union "].iter().find_map(|word| line.strip_prefix(word))?;
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
        rest.starts_with(char::is_uppercase).then(|| (index + 1, &rest[..end]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_a_module_are_found_and_those_within_functions_are_not() {
        let text = "pub struct One;\nenum Two<T> {}\npub(super) trait Three: Send {}\npub(crate) type Four = u8;\n    struct Five;\nstructural\njson_object! {\n    /// A.\n    pub struct Six {\n        pub enum Seven\n    }\n}\nfn f() {\n    pub struct Eight;\n}";
        let names: Vec<_> = defined_in(text).map(|(_, name)| name).collect();
        assert_eq!(names, ["One", "Two", "Three", "Four", "Six"]);
    }
}
