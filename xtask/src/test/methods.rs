//! Checks that bindings don't spell out method names of the protocol, because generated files
//! contain them. No linter has the list of methods.
//!
//! The layers of the core (`docs/architecture.md`) are enforced by the `Cargo.toml` files, the
//! cargo features and `clippy.toml`.

use std::path::Path;

use anyhow::Result;

use crate::language::Language;
use crate::stamp::files_under;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

/// The file that lists the methods.
const METHODS: &str = "core/proto/src/protocol/method.rs";

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut count = Count::default();
    let table = workspace.text(METHODS)?;
    let methods = methods_in(&table);
    let none = || format!("{METHODS} names no method that xtask/src/test/methods.rs could find");
    count.add(methods.is_empty().then(none));
    // The sources of the bindings (see the rules in `docs/bridge.md`).
    let bindings = Language::ALL.into_iter().filter(|language| language.modules.is_some());
    for folder in bindings.flat_map(|language| language.crates.iter().copied().chain(language.package)) {
        for file in files_under(&workspace.path(folder))?.iter().filter(|file| is_code(file)) {
            // Backticks quote strings in TypeScript, and code in comments of the other languages.
            let quotes = if file.extension().is_some_and(|extension| extension == "ts") { "\"'`" } else { "\"'" };
            let words = protocol_words(&methods, &workspace.text(file)?, quotes);
            let place = file.strip_prefix(workspace.path(""))?.display();
            let fault =
                |(line, word)| format!("{place}:{line}: `{word}` is a word of the protocol, for the core to know");
            count.add(words.into_iter().map(fault));
        }
    }
    Ok(count)
}

/// The methods whose names only occur on the wire: those with a slash.
fn methods_in(table: &str) -> Vec<&str> {
    let rows = table.lines().filter_map(|line| line.trim().strip_suffix("\",")?.split_once(" = \""));
    rows.map(|(_, name)| name).filter(|name| name.contains('/') && !name.contains(' ')).collect()
}

/// The methods that occur as a string in the code of a file, in one of these quotes. Every
/// notification counts, known or composed.
fn protocol_words(methods: &[&str], text: &str, quotes: &str) -> Vec<(usize, String)> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let words = quotes.chars().flat_map(|quote| {
        let whole = methods.iter().map(move |method| format!("{quote}{method}{quote}"));
        whole.chain([format!("{quote}notifications/")])
    });
    let words: Vec<String> = words.collect();
    let (mut found, mut in_docstring) = (Vec::new(), false);
    for (index, line) in code.lines().enumerate() {
        let marks = line.matches("\"\"\"").count();
        let is_docstring = in_docstring || marks > 0;
        in_docstring ^= marks % 2 == 1;
        if is_docstring || is_comment(line) {
            continue;
        }
        let line = without_examples(line, quotes);
        found.extend(words.iter().find(|word| line.contains(word.as_str())).map(|word| (index + 1, word.clone())));
    }
    found
}

/// Returns whether a line is a comment in TypeScript or Rust.
fn is_comment(line: &str) -> bool {
    ["//", "/*", "* ", "*/"].iter().any(|start| line.trim_start().starts_with(start))
}

/// Removes a comment after `//`, and text between backticks unless these are quotes.
fn without_examples(line: &str, quotes: &str) -> String {
    let code = line.split(" // ").next().unwrap_or_default();
    if quotes.contains('`') { code.to_owned() } else { code.split('`').step_by(2).collect() }
}

/// Returns whether a file is hand-written source code; generated files follow from the core.
fn is_code(file: &Path) -> bool {
    let is_source =
        file.extension().is_some_and(|extension| ["rs", "py", "ts"].iter().any(|known| extension == *known));
    let is_generated =
        file.components().any(|part| part.as_os_str() == "generated" || part.as_os_str() == "_generated");
    is_source && !is_generated && !file.ends_with("tests.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_of_the_protocol_are_found_in_native_code() {
        let table = "names! {\n    PING = \"ping\",\n    TOOLS_LIST = \"tools/list\",\n}\n";
        assert_eq!(methods_in(table), ["tools/list"]);
        let lines_of = |text: &str, quotes: &str| {
            protocol_words(&methods_in(table), text, quotes).into_iter().map(|(line, _)| line).collect::<Vec<_>>()
        };
        let text = "// \"tools/list\"\nask(\"tools/list\");\nformat!(\"notifications/{}\", x);\nask(\"ping\");";
        assert_eq!(lines_of(text, "\"'"), [2, 3]);
        let python = "ask('tools/list')\n\"\"\"Such as\n    ask('tools/list')\n\"\"\"\nx = 1  # `\"tools/list\"`";
        assert_eq!(lines_of(python, "\"'"), [1]);
        let script = " * Sends `tools/list`.\nask(`tools/list`);\nnotify(`notifications/${name}`);";
        assert_eq!(lines_of(script, "\"'`"), [2, 3]);
    }
}
