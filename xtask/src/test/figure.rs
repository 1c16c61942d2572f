//! Figures in the prose of pages.

/// A figure: a time in milliseconds, or a number of bytes or things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    Milliseconds(u64),
    Number(u64),
}

impl Figure {
    /// Parses a number and the word after it, which may be its unit.
    pub(super) fn read(number: &str, unit: &str) -> Option<Self> {
        let number: u64 = number.replace(',', "").parse().ok()?;
        Some(match unit {
            "KiB" => Self::Number(number << 10),
            "MiB" => Self::Number(number << 20),
            "ms" => Self::Milliseconds(number),
            "s" => Self::Milliseconds(number * 1000),
            "min" | "minutes" => Self::Milliseconds(number * 60_000),
            "h" => Self::Milliseconds(number * 3_600_000),
            _ => Self::Number(number),
        })
    }
}

/// The words that begin with a digit, each with the word after it.
pub(super) fn figures_in(text: &str) -> impl Iterator<Item = Figure> {
    let words: Vec<&str> = text.split_whitespace().map(|word| word.trim_end_matches([',', ';'])).collect();
    let next = words.clone().into_iter().skip(1).chain([""]);
    let figures: Vec<_> = words.into_iter().zip(next).filter_map(|(word, unit)| Figure::read(word, unit)).collect();
    figures.into_iter()
}
