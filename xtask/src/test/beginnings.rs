//! Finds comments that begin with a pronoun instead of their subject.

/// A reader cannot know what these refer to.
const PRONOUNS: [&str; 7] = ["It", "That", "Those", "What", "Who", "Whether", "Whoever"];
const SLASHES: [&str; 7] = ["///", "//!", "//", "/**", "/*", "*/", "*"];
/// With the quotes of documentation in Python.
const HASHES: [&str; 2] = ["#", QUOTES];
const QUOTES: &str = "\"\"\"";

/// The marks of comments in a language, by its file extension; `None` if it has none.
pub(super) fn marks(ending: &str) -> Option<&'static [&'static str]> {
    match ending {
        "rs" | "c" | "h" | "hpp" | "cpp" | "ts" | "tsx" | "mts" | "cts" | "js" | "mjs" | "cjs" | "swift" | "go"
        | "kt" | "kts" | "java" => Some(&SLASHES),
        "py" | "pyi" | "rb" | "rbs" | "toml" | "yml" | "yaml" | "sh" => Some(&HASHES),
        _ => None,
    }
}

/// The line numbers of comments without a subject.
pub(super) fn unnamed(text: &str, marks: &[&str]) -> Vec<usize> {
    let mut is_inside = false;
    let is_unnamed = |line: &str| {
        let line = line.trim_start();
        let comment = marks.iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim);
        let begins = !is_inside || line.starts_with("/*") || line.starts_with(QUOTES);
        // The text of a block may begin on its second line. Later paragraphs may refer to it.
        is_inside = comment.is_some_and(|text| !(begins && text.is_empty()));
        let word = comment
            .filter(|_| begins)
            .unwrap_or_default()
            .split(|char: char| !char.is_alphabetic())
            .next()
            .unwrap_or_default();
        PRONOUNS.contains(&word)
    };
    text.lines().map(is_unnamed).enumerate().filter_map(|(index, is)| is.then_some(index + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_begin_with_their_subject() {
        let [slashes, hashes] = ["rs", "py"].map(|ending| marks(ending).unwrap());
        let code =
            "// It waits.\nlet a = 1;\n/// The end.\n///\n/// It waits.\n/**\n * What waits.\n */\n/* Whether. */\n";
        assert_eq!(unnamed(code, slashes), [1, 7, 9]);
        assert_eq!(unnamed("# Item\n#\n# It\n\n# That one\n\"\"\"Who waits.\"\"\"\n", hashes), [5, 6]);
    }
}
