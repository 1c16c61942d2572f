//! Checks that each row of the declaration that is deprecated has its mark in every language, also
//! in files that are not generated, as those of Rust. `tests/deprecations.json` says where.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::text::{camel, deprecation, pascal};
use crate::test::Count;
use crate::workspace::Workspace;

/// The names of the lists of rows: options, handlers of requests and of notifications, and requests
/// of handlers.
const LISTS: [&str; 4] = ["options", "host", "notifications", "operations"];

/// Counts the marks of all languages.
pub(super) fn check(workspace: &Workspace, printed: &Value) -> Result<Count> {
    let places: Value = serde_json::from_str(&workspace.text("tests/deprecations.json")?)?;
    let languages = places["languages"].as_array().context("the places have no languages")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut count = Count::default();
    for list in LISTS {
        let names = deprecated(&printed[list]);
        ensure!(!names.is_empty(), "no row of {list:?} is deprecated");
        for language in languages {
            let marks: Vec<String> = language["marks"].as_array().into_iter().flatten().map(text).collect();
            let place = &language[list];
            let file = format!("{}/{}", text(&language["folder"]), text(&place["file"]));
            let source = workspace.text(&file)?;
            for name in &names {
                let fault = || format!("{file}: `{name}` is deprecated, but not marked with {marks:?}");
                let is_marked = is_marked(&source, &text(&place["item"]), place["end"].as_str(), name, &marks);
                count.add((!is_marked).then(fault));
            }
        }
    }
    Ok(count)
}

/// The names of the rows that are deprecated, or of those in their lists of fields.
fn deprecated(rows: &Value) -> Vec<String> {
    let rows = rows.as_array().into_iter().flatten();
    let rows = rows.flat_map(|row| row["fields"].as_array().map_or_else(|| vec![row], |of| of.iter().collect()));
    let is_deprecated = |row: &&Value| row["doc"].as_str().is_some_and(|doc| deprecation(doc).1.is_some());
    rows.filter(is_deprecated).filter_map(|row| row["name"].as_str()).map(str::to_owned).collect()
}

/// Returns whether an item exists, and its documentation or attributes have the marks everywhere.
fn is_marked(text: &str, item: &str, end: Option<&str>, name: &str, marks: &[String]) -> bool {
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
        let marks = |mark: &str| vec![mark.to_owned()];
        let text = "@Deprecated(\"a\")\nfun onA()\n/** B. */\npublic fun onB()\n/** C. */\n@Deprecated(\"c\")\npublic fun onC()";
        let is_marked_so = |name| is_marked(text, " fun on^(", None, name, &marks("@Deprecated("));
        assert_eq!(["b", "c", "d"].map(is_marked_so), [false, true, false]);
        let text = " def on_a(\n\"\"\"A.\n\n.. deprecated:: 1\n\"\"\"\n def on_b(\n\"\"\"B.\"\"\"\n";
        let is_marked_so = |name| is_marked(text, " def on_@(", Some("\"\"\"\n"), name, &marks(".. deprecated:: "));
        assert_eq!(["a", "b"].map(is_marked_so), [true, false]);
    }
}
