//! Checks that each row of the declaration that is deprecated has its mark in every language, also
//! in files that are not generated, as those of Rust.

use anyhow::{Result, ensure};
use serde_json::Value;

use super::text::{camel, deprecation, pascal};
use crate::test::Count;
use crate::workspace::Workspace;

/// The names of the lists of rows: options, handlers of requests and of notifications, and requests
/// of handlers.
const LISTS: [&str; 4] = ["options", "host", "notifications", "operations"];

/// The items of a list in a language.
struct Place {
    file: &'static str,
    /// The code of an item: `@` stands for its name, `~` for it in camel case, `^` in Pascal case,
    /// and `%` in capitals.
    item: &'static str,
    /// The end of the documentation, if that follows the item.
    end: Option<&'static str>,
}

const fn above(file: &'static str, item: &'static str) -> Place {
    Place { file, item, end: None }
}

const fn docstring(file: &'static str, item: &'static str) -> Place {
    Place { file, item, end: Some("\"\"\"\n") }
}

/// The folder of a language, its marks, and the places of the lists.
type Marked = (&'static str, &'static [&'static str], [Place; 4]);

static LANGUAGES: [Marked; 9] = [
    (
        "core/src",
        &["#[deprecated(note = \"since 2026-07-28 of the protocol, "],
        [
            above("client/client_options.rs", " @: Option<"),
            above("client/server_requests/client_handlers.rs", " on_@("),
            above("client/server_requests/client_handlers.rs", " fn on_@("),
            above("server/typed/context.rs", " fn @("),
        ],
    ),
    (
        "bindings-python/python/trunkline/_internal",
        &[".. deprecated:: 2026-07-28 "],
        [
            docstring("_generated/options.py", "    @: "),
            docstring("client/_generated/server_requests.py", " def on_@("),
            docstring("client/_generated/server_requests.py", " def on_@("),
            docstring("context/_async/_generated/client_requests.py", " def @("),
        ],
    ),
    (
        "bindings-node/src/generated",
        &["@deprecated Since 2026-07-28: "],
        [
            above("options.ts", "  ~?: "),
            above("server-requests.ts", "  on^?: "),
            above("server-requests.ts", "  on^?: "),
            above("client-requests.ts", "  ~("),
        ],
    ),
    (
        "bindings-c/src/generated",
        &["@deprecated Since 2026-07-28: "],
        [
            above("options.rs", " trunkline_client_options_set_@("),
            above("server_requests.rs", " trunkline_client_on_@("),
            above("methods.h", " TRUNKLINE_NOTIFICATION_% "),
            above("context.rs", " trunkline_call_@("),
        ],
    ),
    (
        "bindings-go",
        &["Deprecated: "],
        [
            above("generated_options.go", "\t^ "),
            above("generated_options.go", "\tOn^ "),
            above("generated_options.go", "\tOn^ "),
            above("generated_operations.go", "func (c *Call) ^("),
        ],
    ),
    (
        "bindings-uniffi/kotlin/src/main/kotlin/dev/trunkline/generated",
        &["@Deprecated(\"Since 2026-07-28: "],
        [
            above("Options.kt", " var ~: "),
            above("ClientHandlers.kt", " fun on^("),
            above("ClientHandlers.kt", " fun on^("),
            above("ClientRequests.kt", " fun ~("),
        ],
    ),
    (
        "bindings-uniffi/java/src/generated/java/dev/trunkline/java",
        &["@deprecated Since 2026-07-28: ", "@Deprecated "],
        [
            above("ClientOptions.java", " ClientOptions ~("),
            above("ClientHandlers.java", " O on^("),
            above("ClientHandlers.java", " O on^("),
            above("InputRequests.java", " InputRequest ~("),
        ],
    ),
    (
        "bindings-uniffi/ruby/lib/trunkline/generated",
        // `@deprecated Since` in a tag, and `Deprecated since` in a list of options.
        &["ince 2026-07-28: "],
        [
            Place { file: "options.rb", item: "# - `@` (", end: Some("# - `") },
            above("handlers.rb", " on_@: "),
            above("handlers.rb", " on_@: "),
            above("client_requests.rb", " def @"),
        ],
    ),
    (
        "bindings-uniffi/swift/Sources/Trunkline/generated",
        &["@available(*, deprecated, message: \"since 2026-07-28, "],
        [
            above("Options.swift", " var ~: "),
            above("ClientHandlers.swift", " var on^: "),
            above("ClientHandlers.swift", " var on^: "),
            above("ClientRequests.swift", " func ~("),
        ],
    ),
];

/// Counts the marks of all languages.
pub(super) fn check(workspace: &Workspace, printed: &Value) -> Result<Count> {
    let mut count = Count::default();
    for (list, named) in LISTS.into_iter().enumerate() {
        let names = deprecated(&printed[named]);
        ensure!(!names.is_empty(), "no row of {named:?} is deprecated");
        for (folder, marks, places) in &LANGUAGES {
            let file = format!("{folder}/{}", places[list].file);
            let text = workspace.text(&file)?;
            for name in &names {
                let fault = || format!("{file}: `{name}` is deprecated, but not marked with {marks:?}");
                count.add((!is_marked(&text, &places[list], name, marks)).then(fault));
            }
        }
    }
    Ok(count)
}

/// The names of the rows that are deprecated, or of those in their lists of fields.
fn deprecated(rows: &Value) -> Vec<String> {
    let rows = rows.as_array().into_iter().flatten();
    let rows =
        rows.flat_map(|row| row["fields"].as_array().map_or_else(|| vec![row], |fields| fields.iter().collect()));
    let is_deprecated = |row: &&Value| row["doc"].as_str().is_some_and(|doc| deprecation(doc).1.is_some());
    rows.filter(is_deprecated).filter_map(|row| row["name"].as_str()).map(str::to_owned).collect()
}

/// Whether an item exists, and its documentation or attributes have the marks wherever it does.
fn is_marked(text: &str, Place { item, end, .. }: &Place, name: &str, marks: &[&str]) -> bool {
    let item = item
        .replace('@', name)
        .replace('~', &camel(name))
        .replace('^', &pascal(name))
        .replace('%', &name.to_uppercase());
    let mut found = text.match_indices(&item).map(|(at, _)| match end {
        Some(end) => text[at + item.len()..].split(end).next().unwrap_or_default().to_owned(),
        None => {
            let lines = text[..at].rsplit('\n').skip(1).map(str::trim_start);
            let is_comment = |line: &&str| line.starts_with(['/', '*', '#', '@']) && !line.starts_with("#define");
            lines.take_while(is_comment).fold(String::new(), |text, line| format!("{line} {text}"))
        }
    });
    let is_whole = |of: String| {
        let words: Vec<_> = of.split_whitespace().filter(|word| *word != "#").collect();
        let of = words.join(" ") + " ";
        marks.iter().all(|mark| of.contains(mark))
    };
    found.next().is_some_and(is_whole) && found.all(is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_next_to_their_item() {
        let kotlin = above("", " fun on^(");
        let text = "@Deprecated(\"a\")\nfun onA()\n/** B. */\npublic fun onB()\n/** C. */\n@Deprecated(\"c\")\npublic fun onC()";
        let is_marked_so = |name| is_marked(text, &kotlin, name, &["@Deprecated("]);
        assert_eq!(["b", "c", "d"].map(is_marked_so), [false, true, false]);
        let text = " def on_a(\n\"\"\"A.\n\n.. deprecated:: 1\n\"\"\"\n def on_b(\n\"\"\"B.\"\"\"\n";
        let is_marked_so = |name| is_marked(text, &docstring("", " def on_@("), name, &[".. deprecated:: "]);
        assert_eq!(["a", "b"].map(is_marked_so), [true, false]);
    }
}
