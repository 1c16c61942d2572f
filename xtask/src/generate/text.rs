//! Text functions shared by several renderers.

use super::surface::Field;

/// Maximum line length of prose.
pub(crate) const WIDTH: usize = 100;

/// Converts `list_resources` to `listResources`.
pub(crate) fn camel(snake: &str) -> String {
    let mut words = snake.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |text, word| text + &capital(word))
}

/// Converts `list_resources` to `ListResources`.
pub(crate) fn pascal(snake: &str) -> String {
    snake.split('_').map(capital).collect()
}

/// Converts `listResources` to `list_resources`.
pub(crate) fn snake(camel: &str) -> String {
    // These count as one word.
    let camel = &camel.replace("OAuth", "Oauth").replace("DPoP", "Dpop");
    let mut text = String::new();
    for letter in camel.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

/// Digits with thousands separators.
pub(crate) fn grouped(digits: &str) -> String {
    let groups = digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok());
    groups.collect::<Vec<_>>().join(",")
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
}

/// A sentence, to be continued within another one. Names keep their capitals.
pub(crate) fn lowered(doc: &str) -> String {
    let mut letters = doc.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(doc.chars().skip(1)).collect()
        }
        _ => doc.to_owned(),
    }
}

/// Wraps text to lines of at most `width`; longer words get their own line. Paragraphs stay
/// separated by an empty line.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, paragraph) in text.split("\n\n").enumerate() {
        if index > 0 {
            lines.push(String::new());
        }
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

/// Wraps each line. Those that continue an item, which starts with one of the marks, are indented.
pub(crate) fn wrapped_items(text: &str, width: usize, marks: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let is_item = marks.iter().any(|mark| line.starts_with(mark));
        for (index, part) in wrapped(line, width).into_iter().enumerate() {
            lines.push(if is_item && index > 0 { format!("  {part}") } else { part });
        }
    }
    lines
}

/// The prefix of deprecation notices in the declaration.
pub(crate) const DEPRECATED: &str = "Deprecated in protocol revision 2026-07-28; ";

/// Separates the documentation from what its deprecation notice says to use instead.
pub(crate) fn deprecation(doc: &str) -> (String, Option<&str>) {
    let paragraph = doc.find("\n\n").unwrap_or(doc.len());
    let Some(start) = doc[..paragraph].find(DEPRECATED) else { return (doc.to_owned(), None) };
    let end = doc[start..paragraph].find(". ").map_or(paragraph, |length| start + length + 1);
    let replacement = &doc[start + DEPRECATED.len()..end];
    (format!("{}{}", doc[..start].trim_end(), &doc[end..]), Some(replacement))
}

/// Moves the deprecation notice to the end of the documentation, after a language's `mark`.
pub(crate) fn marked(doc: &str, mark: &str) -> String {
    let (doc, replacement) = deprecation(doc);
    replacement.map(|replacement| format!("{doc}\n\n{mark}{replacement}")).unwrap_or(doc)
}

/// Documentation whose notice becomes an annotation: the text and tags without it, and the
/// replacement that it names.
pub(crate) fn unmarked(docs: &[String]) -> (Vec<String>, Option<&str>) {
    let found: Vec<_> = docs.iter().map(|doc| deprecation(doc)).collect();
    let replacement = found.iter().find_map(|(_, replacement)| *replacement);
    (found.into_iter().map(|(doc, _)| doc).collect(), replacement)
}

/// Adds a prefix to each line, without trailing spaces.
pub(crate) fn prefixed(lines: &[String], prefix: &str) -> String {
    lines.iter().map(|line| format!("{}\n", format!("{prefix}{line}").trim_end())).collect()
}

/// The documentation of a member, with its revisions.
pub(crate) fn documented(field: &Field) -> String {
    let mut doc = field.doc.clone();
    let mut say = |text: String, word: &str| {
        if !doc.contains(word) {
            doc = format!("{doc} {text}");
        }
    };
    match (&field.since, &field.until) {
        (Some(since), Some(until)) if since == until => say(format!("{since} only."), since),
        (since, until) => {
            if let Some(since) = since {
                say(format!("From {since} on."), since);
            }
            if let Some(until) = until {
                say(format!("Until {until}."), until);
            }
        }
    }
    doc
}

/// A TSDoc or KDoc comment with text and tags; `deprecated` begins deprecation notices.
pub(crate) fn commented(indent: usize, docs: &[String], deprecated: &str) -> String {
    let indent = " ".repeat(indent);
    let width = WIDTH - indent.len() - " * ".len();
    let mut lines: Vec<String> = Vec::new();
    for (index, doc) in docs.iter().enumerate() {
        if index == 1 {
            lines.push(String::new());
        }
        let doc = marked(doc, deprecated);
        lines.extend(wrapped(&doc.replace("*/", "*\\/"), width));
    }
    if let [line] = &lines[..]
        && indent.len() + line.chars().count() + "/**  */".len() <= WIDTH
    {
        return format!("{indent}/** {line} */");
    }
    let lines: String = lines.iter().map(|line| format!("{indent}{}\n", format!(" * {line}").trim_end())).collect();
    format!("{indent}/**\n{lines}{indent} */")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_change_their_case() {
        assert_eq!(
            (camel("list_resources"), pascal("list_resources")),
            ("listResources".into(), "ListResources".into())
        );
        assert_eq!(snake("listResources"), "list_resources");
    }

    #[test]
    fn deprecations_have_the_form_of_the_language() {
        let doc = format!("Lists the roots. {DEPRECATED}use arguments. Blocks.\n\n- `a`: A.");
        let expected = "Lists the roots. Blocks.\n\n- `a`: A.\n\n@deprecated use arguments.";
        assert_eq!(marked(&doc, "@deprecated "), expected);
        let item = format!("Lists.\n\n- {DEPRECATED}b.");
        assert_eq!(marked(&item, "@"), item);
        let plain = ["Lists the roots. Blocks.\n\n- `a`: A.".to_owned(), "@param a A.".to_owned()];
        assert_eq!(unmarked(&[doc, plain[1].clone()]), (plain.to_vec(), Some("use arguments.")));
    }

    #[test]
    fn short_comments_take_one_line() {
        assert_eq!(commented(2, &["A tool.".into()], ""), "  /** A tool. */");
        let long = "word ".repeat(30);
        let text = commented(2, &[long], "");
        assert!(text.starts_with("  /**\n   * word") && text.lines().all(|line| line.len() <= WIDTH), "{text}");
    }

    #[test]
    fn lines_end_before_their_width() {
        assert_eq!(wrapped("one two three\n\nfour", 8), ["one two", "three", "", "four"]);
        assert_eq!(prefixed(&wrapped("one\n\ntwo", 8), " * "), " * one\n *\n * two\n");
    }
}
