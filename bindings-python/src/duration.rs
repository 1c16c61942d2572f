//! Converts ISO 8601 durations, without years and months, whose length in seconds varies.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

const MICROS: i128 = 1_000_000;

/// The units in order, each with its microseconds; `T` separates dates from times.
const UNITS: [(char, bool, i128); 5] = [
    ('W', false, 7 * 86_400 * MICROS),
    ('D', false, 86_400 * MICROS),
    ('H', true, 3600 * MICROS),
    ('M', true, 60 * MICROS),
    ('S', true, MICROS),
];

/// Parses a duration such as `PT1H30M` to microseconds.
///
/// # Errors
/// `ValueError` for any other string.
#[pyfunction]
pub(crate) fn read_duration(text: &str) -> PyResult<i128> {
    let wrong = || PyValueError::new_err(format!("{text:?} is not a duration such as PT1H30M (ISO 8601)"));
    micros(text).ok_or_else(wrong)
}

fn micros(text: &str) -> Option<i128> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut rest = rest.strip_prefix('P').filter(|rest| !rest.is_empty())?;
    let mut units = UNITS.iter();
    let (mut total, mut is_time) = (0_i128, false);
    while !rest.is_empty() {
        if !is_time && let Some(time) = rest.strip_prefix('T') {
            (rest, is_time) = (time, true);
        }
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, unit) = (rest.get(..end)?, rest.get(end..)?.chars().next()?);
        let (_, _, size) = units.find(|(name, of_time, _)| *name == unit && *of_time == is_time)?;
        total = total.checked_add(in_micros(number, unit == 'S', *size)?)?;
        rest = rest.get(end + 1..)?;
    }
    Some(sign * total)
}

/// A number of units; only seconds can have fractions.
fn in_micros(number: &str, has_fraction: bool, size: i128) -> Option<i128> {
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) if has_fraction && !fraction.is_empty() => (whole, fraction),
        Some(_) => return None,
        None => (number, ""),
    };
    let micros: String = fraction.chars().chain(std::iter::repeat('0')).take(6).collect();
    whole.parse::<i128>().ok()?.checked_mul(size)?.checked_add(micros.parse().ok()?)
}

/// Formats a number of microseconds.
#[pyfunction]
pub(crate) fn write_duration(micros: i128) -> String {
    let (mut date, mut time) = (String::new(), String::new());
    let mut left = micros.unsigned_abs();
    for (name, of_time, size) in UNITS.into_iter().skip(1) {
        let count = left / size.unsigned_abs();
        left %= size.unsigned_abs();
        let fraction = if name == 'S' && left > 0 { format!(".{left:06}") } else { String::new() };
        if count > 0 || !fraction.is_empty() {
            let part = format!("{count}{}{name}", fraction.trim_end_matches('0'));
            if of_time { &mut time } else { &mut date }.push_str(&part);
        }
    }
    if date.is_empty() && time.is_empty() {
        time.push_str("0S");
    }
    let sign = if micros < 0 { "-" } else { "" };
    format!("{sign}P{date}{}{time}", if time.is_empty() { "" } else { "T" })
}
