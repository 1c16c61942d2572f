//! Proves that no binding spells a method of the protocol by hand: generated files have the names.
//!
//! The `Cargo.toml` files, the cargo features and `clippy.toml` prove the layers of the core
//! (`docs/architecture.md`).

use std::path::Path;

use anyhow::{Context, Result};

use crate::stamp::files_under;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

/// The sources of the bindings (the charter in `docs/bridge.md`).
const BINDINGS: [&str; 5] = [
    "bindings-python/src",
    "bindings-python/python/trunkline",
    "bindings-node/native",
    "bindings-node/src",
    "bindings-c/src",
];
/// Where the methods stand.
const METHODS: &str = "core/proto/src/protocol/method.rs";

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut count = Count { passed: 0, failed: 0, said: String::new(), note: String::new() };
    let table = workspace.path(METHODS);
    let table = std::fs::read_to_string(&table).with_context(|| format!("cannot read {}", table.display()))?;
    let methods = methods_in(&table);
    if methods.is_empty() {
        count.failed += 1;
        count.said.push_str(&format!("{METHODS} names no method that xtask/src/test/methods.rs could find\n"));
    }
    for folder in BINDINGS {
        for file in files_under(&workspace.path(folder))?.iter().filter(|file| is_code(file)) {
            let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            let words = protocol_words(&methods, &text);
            match words.is_empty() {
                true => count.passed += 1,
                false => count.failed += 1,
            }
            let place = file.strip_prefix(workspace.path(""))?;
            for (line, word) in words {
                let fault =
                    format!("{}:{line}: `{word}` is a word of the protocol, for the core to know\n", place.display());
                count.said.push_str(&fault);
            }
        }
    }
    Ok(count)
}

/// The methods whose names are of the wire alone: with a slash.
fn methods_in(table: &str) -> Vec<&str> {
    let rows = table.lines().filter_map(|line| line.trim().strip_suffix("\",")?.split_once(" = \""));
    rows.map(|(_, name)| name).filter(|name| name.contains('/') && !name.contains(' ')).collect()
}

/// The methods that stand as a string in the code of a file; every notification counts, known or
/// put together. Examples in docs are between backquotes.
fn protocol_words(methods: &[&str], text: &str) -> Vec<(usize, String)> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default()).enumerate();
    let words = methods.iter().map(|method| format!("\"{method}\"")).chain(["\"notifications/".to_owned()]);
    lines
        .filter(|(_, line)| !line.contains('`'))
        .flat_map(|(index, line)| {
            let found: Vec<_> = words.clone().filter(|word| line.contains(word)).collect();
            found.into_iter().take(1).map(move |word| (index + 1, word))
        })
        .collect()
}

/// The source files that people write; generated ones follow from the rows of the core.
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
        let text = "// tools/list\nask(\"tools/list\");\nformat!(\"notifications/{}\", x);\nask(\"ping\");";
        let words: Vec<_> = protocol_words(&methods_in(table), text).into_iter().map(|(line, _)| line).collect();
        assert_eq!(words, [2, 3]);
    }
}
