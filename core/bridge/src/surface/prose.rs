//! Documentation comments as text for every language.

/// The text of documentation comments: lines joined to paragraphs, without ids of requirements and links of Rust.
pub(super) fn text(lines: &[&str]) -> String {
    let paragraphs: Vec<String> = lines
        .split(|line| line.trim().is_empty())
        .map(|paragraph| paragraph.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" "))
        .filter(|paragraph| !paragraph.is_empty())
        .map(|paragraph| without_links(&without_ids(&paragraph)))
        .collect();
    paragraphs.join("\n\n")
}

/// Removes parentheses that hold ids of requirements only, such as `(TOOL-09)`.
fn without_ids(text: &str) -> String {
    let (mut kept, mut rest) = (String::new(), text);
    while let Some(start) = rest.find(" (") {
        let Some(length) = rest[start..].find(')') else { break };
        let inside = &rest[start + 2..start + length];
        let end = if inside.split(", ").all(is_id) { start } else { start + length + 1 };
        kept.push_str(&rest[..end]);
        rest = &rest[start + length + 1..];
    }
    kept + rest
}

fn is_id(word: &str) -> bool {
    word.split_once('-').is_some_and(|(group, number)| {
        !group.is_empty()
            && group.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit())
            && !number.is_empty()
            && number.chars().all(|digit| digit.is_ascii_digit())
    }) || word.starts_with("VERSIONS ")
}

/// Makes plain code of links: a path becomes its last part.
fn without_links(text: &str) -> String {
    let (mut kept, mut rest) = (String::new(), text);
    while let Some(start) = rest.find("[`") {
        let Some(length) = rest[start..].find("`]") else { break };
        let path = &rest[start + 2..start + length];
        kept.push_str(&rest[..start]);
        kept.push('`');
        kept.push_str(path.rsplit("::").next().unwrap_or(path));
        kept.push('`');
        rest = &rest[start + length + 2..];
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
    fn ids_of_requirements_go_and_other_parentheses_stay() {
        assert_eq!(text(&[" Base64 (TOOL-24, H26-03). A name (short) (RES-01)"]), "Base64. A name (short)");
        assert_eq!(text(&[" An encoding (ISO 8601)."]), "An encoding (ISO 8601).");
    }

    #[test]
    fn links_become_code() {
        assert_eq!(text(&[" At most [`Completion::MAX_VALUES`] of [`Field`]."]), "At most `MAX_VALUES` of `Field`.");
    }
}
