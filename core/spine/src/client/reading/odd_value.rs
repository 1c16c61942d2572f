//! Describes faults in the values of results.

use crate::protocol::describe::{Type, Union, Values};
use std::fmt;

/// Digits of a number that is written in full. Beyond them, a number is not an integer of use.
const MAX_DIGITS: usize = 1_000;

/// Longest number that is quoted.
const MAX_QUOTED: usize = 40;

/// Why a value cannot be used.
#[derive(Debug)]
pub(in crate::client) struct Fault {
    /// The wrong value within the one that cannot be used; empty for that one itself.
    path: String,
    /// `None` if the value is missing.
    problem: Option<String>,
}

impl Fault {
    pub(super) fn missing(member: &str) -> Self {
        Self { path: member.to_owned(), problem: None }
    }

    pub(super) fn mistyped(expected: Type, found: &str) -> Self {
        Self::of(format!("must be {}, not {}", expected_words(expected), found_words(found)))
    }

    pub(super) fn unknown(union: &Union) -> Self {
        Self::of(format!("must be {}", alternatives(union.variants.iter().map(|(tag, _)| *tag))))
    }

    /// A union whose variants differ by a member.
    pub(super) fn none_of(union: &Union) -> Self {
        let members: Vec<_> = union.variants.iter().map(|(member, _)| format!("`{member}`")).collect();
        Self::of(format!("needs {}", members.join(" or ")))
    }

    pub(super) fn unreadable(error: &serde_json::Error) -> Self {
        Self::of(error.to_string())
    }

    fn of(problem: String) -> Self {
        Self { path: String::new(), problem: Some(problem) }
    }

    /// The same fault, for the object that the value is a member of.
    pub(super) fn within(self, member: &str) -> Self {
        self.below(member.to_owned())
    }

    /// The same fault, for the array that the value is an item of.
    pub(super) fn at(self, index: usize) -> Self {
        self.below(format!("[{index}]"))
    }

    fn below(self, mut path: String) -> Self {
        if !self.path.is_empty() && !self.path.starts_with('[') {
            path.push('.');
        }
        path.push_str(&self.path);
        Self { path, ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.path, &self.problem) {
            (path, None) => write!(f, "`{path}` is missing"),
            ("", Some(problem)) => f.write_str(problem),
            (path, Some(problem)) => write!(f, "`{path}` {problem}"),
        }
    }
}

fn expected_words(ty: Type) -> String {
    match ty {
        Type::String | Type::OneOf(_) => "a string".to_owned(),
        Type::Boolean => "true or false".to_owned(),
        Type::Integer | Type::Duration => "a non-negative integer".to_owned(),
        Type::Number => "a number".to_owned(),
        Type::Json => "a value".to_owned(),
        Type::Object | Type::Map(_) | Type::Model(_) | Type::Union(_) => "an object".to_owned(),
        Type::List(_) => "an array".to_owned(),
        Type::Values(Values { open: true, .. }) => "a string".to_owned(),
        Type::Values(values) => alternatives(values.values.iter().map(|(name, _)| *name)),
        Type::OneOrList(of) => format!("{}, or an array", expected_words(*of)),
        Type::OrFalse(of) => format!("{}, or false", expected_words(*of)),
    }
}

fn alternatives<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.map(|name| format!("{name:?}")).collect();
    format!("one of {}", names.join(", "))
}

/// Texts of servers are not quoted.
fn found_words(json: &str) -> &str {
    match json.as_bytes().first() {
        Some(b'"') => "a string",
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        _ if json.len() > MAX_QUOTED => "such a number",
        _ => json,
    }
}

/// The digits of a non-negative integer that is written with a fraction or an exponent, such as
/// `5.0` and `1e3`: not all languages read it as an integer.
pub(super) fn number_in_digits(number: &str) -> Option<String> {
    let (number, is_negative) = number.strip_prefix('-').map_or((number, false), |number| (number, true));
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let mut digits = format!("{whole}{fraction}");
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if digits.bytes().all(|byte| byte == b'0') {
        return Some("0".to_owned());
    }
    let places = exponent.parse::<i64>().ok()?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let cut = usize::try_from(places.min(0).unsigned_abs()).ok()?;
    let kept = digits.len().checked_sub(cut)?;
    let added = usize::try_from(places.max(0)).ok()?;
    let is_whole = digits[kept..].bytes().all(|byte| byte == b'0');
    if is_negative || !is_whole || kept.saturating_add(added) > MAX_DIGITS {
        return None;
    }
    digits.truncate(kept);
    digits.extend(std::iter::repeat_n('0', added));
    Some(digits.trim_start_matches('0').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_may_be_written_in_other_ways() {
        for (written, digits) in [
            ("5.0", Some("5")),
            ("1e3", Some("1000")),
            ("1.5E+1", Some("15")),
            ("2500e-2", Some("25")),
            ("0.0e99999999999999999999", Some("0")),
            ("-0.0", Some("0")),
            ("18446744073709551616.0", Some("18446744073709551616")),
            ("0.5e1", Some("5")),
            ("5.5", None),
            ("25e-2", None),
            ("1e-9", None),
            ("-5", None),
            ("1e1001", None),
            ("1e99999999999999999999", None),
            ("true", None),
            ("\"5\"", None),
        ] {
            assert_eq!(number_in_digits(written).as_deref(), digits, "{written}");
        }
    }
}
