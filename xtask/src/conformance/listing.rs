//! The runners' lists of scenarios.

use super::role::Role;

/// Parses the scenarios of a role from the output of `list --server` or `list --client`: first
/// those that count, then those that are only reported (`--requirements REVISION` makes that
/// distinction).
pub(super) fn read(text: &str, role: Role) -> (Vec<String>, Vec<String>) {
    let (mut counted, mut reported) = (Vec::new(), Vec::new());
    let (mark, heading) = (format!(" [{}]", role.word()), format!("{} scenarios", role.word()));
    let mut part = Part::Other;
    for line in text.lines() {
        match (line.strip_prefix("  - "), line.strip_prefix("    - ")) {
            (Some(name), _) if part == Part::OfRole => counted.extend(first_word(name)),
            (_, Some(name)) if part == Part::Reported && name.ends_with(&mark) => reported.extend(first_word(name)),
            _ if line.to_lowercase().starts_with(&heading) => part = Part::OfRole,
            _ if line.starts_with("Run and reported") => part = Part::Reported,
            _ if line.starts_with(' ') || line.is_empty() => {}
            _ => part = Part::Other,
        }
    }
    (counted, reported)
}

#[derive(PartialEq, Eq)]
enum Part {
    OfRole,
    Reported,
    Other,
}

fn first_word(text: &str) -> Option<String> {
    text.split_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{Role, read};

    #[test]
    fn a_plain_list_counts_everything() {
        let text = "Server scenarios (test):\n  - ping [2025-11-25]\n  - caching [2026-07-28]\n";
        let (counted, reported) = read(text, Role::Server);
        assert_eq!((counted, reported), (vec!["ping".to_owned(), "caching".to_owned()], vec![]));
    }

    #[test]
    fn a_requirement_set_tells_what_counts() {
        let text = "Required for X:\n\nServer scenarios (test):\n  - ping\n\nClient scenarios (test):\n  - auth\n\n\
            Run and reported, but never scored:\n  extension (2):\n    - tasks [server]\n    - dpop [client]\n";
        assert_eq!(read(text, Role::Server), (vec!["ping".to_owned()], vec!["tasks".to_owned()]));
        assert_eq!(read(text, Role::Client), (vec!["auth".to_owned()], vec!["dpop".to_owned()]));
    }
}
