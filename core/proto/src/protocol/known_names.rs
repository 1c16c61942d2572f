//! Suggests known names for unknown ones.

/// The error for an unknown option.
pub(super) fn unknown_name(name: &str, known: &[&str]) -> String {
    if let Some(meant) = nearest(name, known.iter().copied()) {
        return format!("unknown option `{name}`: did you mean `{meant}`?");
    }
    let known: Vec<_> = known.iter().map(|known| format!("`{known}`")).collect();
    match known.len() {
        0 => format!("unknown option `{name}`: no options are accepted here"),
        _ => format!("unknown option `{name}`: valid options are {}", known.join(", ")),
    }
}

/// The known name closest to a misspelt one, if any.
#[doc(hidden)]
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Short names resemble too many others.
    let most_slips = |known: &str| match known.len().min(name.len()) {
        0..=2 => 0,
        3..=4 => 1,
        _ => 2,
    };
    let name = without_unit(name).to_ascii_lowercase();
    let distance = |known: &str| strsim::levenshtein(&without_unit(known).to_ascii_lowercase(), &name);
    let closest = known.map(|known| (distance(known), known)).min();
    closest.filter(|(distance, known)| *distance <= most_slips(without_unit(known))).map(|(_, known)| known)
}

/// The name of an option as most languages write it: without the unit of a duration.
fn without_unit(name: &str) -> &str {
    name.strip_suffix("Ms").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_of_a_duration_counts_for_nothing() {
        let meant = |name| nearest(name, ["drainDeadlineMs", "pingIntervalMs", "store"].into_iter());
        for (name, known) in [
            ("drainDeadlin", Some("drainDeadlineMs")),
            ("pingIntervlMs", Some("pingIntervalMs")),
            ("stores", Some("store")),
            ("somethingMs", None),
        ] {
            assert_eq!(meant(name), known, "{name}");
        }
    }
}
