//! The lists of scenarios of the runners.

/// The server scenarios in what `list --server` prints, first those that count, then those that are
/// only reported (`list --server --requirements REVISION` knows that difference).
pub(super) fn read(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut counted, mut reported) = (Vec::new(), Vec::new());
    let mut part = Part::Other;
    for line in text.lines() {
        match (line.strip_prefix("  - "), line.strip_prefix("    - ")) {
            (Some(name), _) if part == Part::Servers => counted.extend(first_word(name)),
            (_, Some(name)) if part == Part::Reported && name.ends_with(" [server]") => {
                reported.extend(first_word(name))
            }
            _ if line.starts_with("Server scenarios") => part = Part::Servers,
            _ if line.starts_with("Run and reported") => part = Part::Reported,
            _ if line.starts_with(' ') || line.is_empty() => {}
            _ => part = Part::Other,
        }
    }
    (counted, reported)
}

#[derive(PartialEq, Eq)]
enum Part {
    Servers,
    Reported,
    Other,
}

fn first_word(text: &str) -> Option<String> {
    text.split_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_plain_list_counts_everything() {
        let (counted, reported) = read("Server scenarios (test):\n  - ping [2025-11-25]\n  - caching [2026-07-28]\n");
        assert_eq!((counted, reported), (vec!["ping".to_owned(), "caching".to_owned()], vec![]));
    }

    #[test]
    fn a_requirement_set_tells_what_counts() {
        let text = "Required for X:\n\nServer scenarios (test):\n  - ping\n\nClient scenarios (test):\n  - auth\n\n\
            Run and reported, but never scored:\n  extension (2):\n    - tasks [server]\n    - dpop [client]\n";
        assert_eq!(read(text), (vec!["ping".to_owned()], vec!["tasks".to_owned()]));
    }
}
