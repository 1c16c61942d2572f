//! Converts doc comments to text for every language.

/// The text of a doc comment: lines joined into paragraphs, without examples, requirement ids and
/// Rust links.
pub(super) fn text(lines: &[&str]) -> String {
    let paragraphs: Vec<String> = without_examples(lines)
        .split(|line| line.is_empty())
        .map(|paragraph| paragraph.join(" "))
        .filter(|paragraph| !paragraph.is_empty())
        .map(|paragraph| without_links(&without_ids(&paragraph)))
        .collect();
    paragraphs.join("\n\n")
}

/// Trims the lines and removes code blocks, which are Rust, together with the heading "Example".
fn without_examples<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let (mut kept, mut in_code) = (Vec::new(), false);
    for line in lines.iter().map(|line| line.trim()) {
        if line.starts_with("```") {
            in_code = !in_code;
            kept.push("");
        } else if !in_code && !is_example_heading(line) {
            kept.push(line);
        }
    }
    kept
}

fn is_example_heading(line: &str) -> bool {
    matches!(line.trim_start_matches('#').trim(), "Example" | "Examples") && line.starts_with('#')
}

/// Removes parentheses that contain only requirement ids, such as `(TOOL-09)`.
fn without_ids(text: &str) -> String {
    replaced(text, " (", ")", |inside| inside.split(", ").all(is_id).then(String::new))
}

fn is_id(word: &str) -> bool {
    word.split_once('-').is_some_and(|(group, number)| {
        !group.is_empty()
            && group.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit())
            && !number.is_empty()
            && number.chars().all(|digit| digit.is_ascii_digit())
    })
}

/// Turns links into plain code, keeping only the last segment of a path.
fn without_links(text: &str) -> String {
    replaced(text, "[`", "`]", |path| Some(format!("`{}`", path.rsplit("::").next().unwrap_or(path))))
}

/// Replaces each part from `open` to `close` for whose inside there is a replacement.
fn replaced(text: &str, open: &str, close: &str, replacement: impl Fn(&str) -> Option<String>) -> String {
    let (mut kept, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(open) {
        let Some((inside, after)) = after.split_once(close) else { break };
        let part = replacement(inside).unwrap_or_else(|| format!("{open}{inside}{close}"));
        kept.extend([before, &part]);
        rest = after;
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_paragraphs() {
        assert_eq!(text(&[" One", " line.", "", " Two."]), "One line.\n\nTwo.");
    }

    #[test]
    fn examples_go_with_their_heading() {
        let lines = [" One.", "", " # Examples", "", " ```no_run", " # use a;", "", " b();", " ```", " Two."];
        assert_eq!(text(&lines), "One.\n\nTwo.");
        assert_eq!(text(&[" One.", " ```", " b();", " ```"]), "One.");
        assert_eq!(text(&[" Example"]), "Example");
    }

    #[test]
    fn ids_of_requirements_go_and_other_parentheses_stay() {
        assert_eq!(text(&[" Base64 (TOOL-24, H26-03). A name (short) (RES-01)"]), "Base64. A name (short)");
        assert_eq!(text(&[" An encoding (ISO 8601)."]), "An encoding (ISO 8601).");
    }

    #[test]
    fn links_become_code() {
        assert_eq!(text(&[" At most [`Completion::MAX_VALUES`] of [`Field`]."]), "At most `MAX_VALUES` of `Field`.");
    }
}
