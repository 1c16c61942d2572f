//! Names that are not known, and those that were meant.

/// The error for an option that is not one of those known.
pub(super) fn unknown_name(name: &str, known: &[&'static str]) -> String {
    if let Some(meant) = nearest(name, known.iter().copied()) {
        return format!("unknown option `{name}`: did you mean `{meant}`?");
    }
    let known: Vec<_> = known.iter().map(|known| format!("`{known}`")).collect();
    match known.len() {
        0 => format!("unknown option `{name}`: no options are accepted here"),
        _ => format!("unknown option `{name}`: valid options are {}", known.join(", ")),
    }
}

/// The name that was meant, where one is misspelt.
#[doc(hidden)]
pub fn nearest(name: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let most_slips = if name.len() < SHORT { 1 } else { 2 };
    let closest = known.map(|known| (distance(known, name), known)).min();
    closest.filter(|(distance, _)| *distance <= most_slips).map(|(_, known)| known)
}

/// Bytes of a name that many others resemble.
const SHORT: usize = 5;

/// The letters that make one name of the other by being put in, left out or changed (Levenshtein);
/// capitals are those letters.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<_> = other.chars().map(|c| c.to_ascii_lowercase()).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, c) in one.chars().map(|c| c.to_ascii_lowercase()).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, d) in other.iter().enumerate() {
            let changed = diagonal + usize::from(c != *d);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}
