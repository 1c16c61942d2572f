//! Regular expressions of schemas, matched within limits (SCH-10).
//!
//! Patterns without look-around and back-references use an engine that takes linear time. The
//! others backtrack, and no established crate limits that work: `fancy-regex` limits the backtracks
//! but not the steps between them, so the strings are limited too. Nested look-arounds multiply the
//! steps even so, which is why only patterns of this program backtrack, and not those of a peer
//! (`docs/decisions/patterns-that-backtrack.md`).

use super::SchemaAuthor;
use regex::Regex;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::Value;
use std::{
    cell::{Cell, RefCell},
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Maximum size of a string that is matched by backtracking.
pub(super) const MAX_TEXT: usize = 2 << 10;
/// Maximum number of backtracks per string.
pub(super) const MAX_BACKTRACKS: usize = 2_500;
/// Cost of backtracking per byte of a string: two or three microseconds, as this many steps of
/// the linear engine.
const BACKTRACKING_WEIGHT: u64 = 500;
/// The size that a pattern which backtracks is assumed to have.
const BACKTRACKING_SIZE: usize = 1_000;
/// Character ranges that count as one state.
const RANGES_PER_STATE: usize = 16;

/// The error for a pattern that is too large together with the others.
pub(super) const PATTERNS_TOO_LARGE: &str = "its patterns are too large";
/// The failure of a value that exceeds the budget.
pub(super) const TOO_LONG: &str = "the patterns of the schema would take too long to match: shorten the strings";
const WHAT_TO_DO: &str = "shorten the string, or write the pattern without look-around and back-references";

thread_local! {
    /// The steps left for the patterns of one value, on the thread that checks it.
    static STEPS: Cell<u64> = const { Cell::new(0) };
    /// Why a match of this value was abandoned.
    static PROBLEM: RefCell<Option<String>> = const { RefCell::new(None) };
    /// The result of patterns that are not checked.
    static UNCHECKED: Cell<bool> = const { Cell::new(true) };
}

/// The work of patterns for one value.
pub(super) struct Budget;

impl Budget {
    /// Starts the next value with this number of steps.
    pub(super) fn renew(steps: u64) {
        STEPS.set(steps);
        PROBLEM.take();
    }

    /// Takes the steps for a string; `false` if too few are left.
    fn spend(weight: u64, text: &str) -> bool {
        let left = STEPS.get().checked_sub(weight.saturating_mul(text.len() as u64));
        STEPS.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Abandons the value. Its other matches end at once.
    fn abandon(problem: String) {
        STEPS.set(0);
        PROBLEM.with_borrow_mut(|first| {
            first.get_or_insert(problem);
        });
    }

    /// Why a match was abandoned, if one was.
    pub(super) fn problem() -> Option<String> {
        PROBLEM.with_borrow(Clone::clone)
    }

    /// Runs a check for which unchecked patterns match nothing; otherwise they match everything.
    pub(super) fn without_unchecked<T>(check: impl FnOnce() -> T) -> T {
        UNCHECKED.set(false);
        let result = check();
        UNCHECKED.set(true);
        result
    }
}

/// A compiled pattern.
pub(super) struct Pattern {
    /// As in the schema.
    text: String,
    engine: Engine,
    /// Maximum number of steps per byte of a string.
    weight: u64,
}

enum Engine {
    Linear(Regex),
    Backtracking(Box<fancy_regex::Regex>),
    /// A peer's pattern that would backtrack.
    Unchecked,
}

impl Pattern {
    /// Compiles a pattern and subtracts its size from `room`.
    ///
    /// # Errors
    /// If the pattern is malformed, or exceeds `room`; the error says which.
    pub(super) fn compile(text: &str, author: SchemaAuthor, room: &mut usize) -> Result<Self, &'static str> {
        let mut take = |size| room.checked_sub(size).map(|left| *room = left).ok_or(PATTERNS_TOO_LARGE);
        take(text.len())?;
        let text = text.to_owned();
        if let Ok(translated) = jsonschema_regex::to_rust_regex(&text)
            && let Ok(parsed) = regex_syntax::parse(&translated)
        {
            let size = size_of(&parsed);
            take(size)?;
            if let Ok(regex) = Regex::new(&translated) {
                return Ok(Self { text, engine: Engine::Linear(regex), weight: size as u64 });
            }
        }
        if !jsonschema_regex::is_valid_ecma_regex(&text) {
            return Err("not a regular expression of ECMA-262");
        }
        if author == SchemaAuthor::Peer {
            return Ok(Self { text, engine: Engine::Unchecked, weight: 0 });
        }
        take(BACKTRACKING_SIZE)?;
        let translated = translated(&text).ok_or("not supported")?;
        let regex = fancy_regex::RegexBuilder::new(&translated).backtrack_limit(MAX_BACKTRACKS).build();
        let regex = regex.map_err(|_| "not supported")?;
        Ok(Self { text, engine: Engine::Backtracking(Box::new(regex)), weight: BACKTRACKING_WEIGHT })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Maximum number of steps per byte of a string.
    pub(super) fn weight(&self) -> u64 {
        self.weight
    }

    pub(super) fn is_unchecked(&self) -> bool {
        matches!(self.engine, Engine::Unchecked)
    }

    /// The pattern in the syntax of the backtracking engine, if it needs that.
    pub(super) fn backtracking(&self) -> Option<&str> {
        match &self.engine {
            Engine::Backtracking(regex) => Some(regex.as_str()),
            _ => None,
        }
    }

    /// Returns whether the pattern matches anywhere in the string; `false` if that would exceed a
    /// limit, which abandons the value.
    pub(super) fn is_match(&self, text: &str) -> bool {
        let matches = match &self.engine {
            Engine::Unchecked => return UNCHECKED.get(),
            Engine::Backtracking(_) if text.len() > MAX_TEXT => Err(self.too_long_for(text)),
            _ if !Budget::spend(self.weight, text) => Err(TOO_LONG.to_owned()),
            // `regex-automata` panics on some patterns:
            // https://github.com/rust-lang/regex/issues/1344
            Engine::Linear(regex) => {
                catch_unwind(AssertUnwindSafe(|| regex.is_match(text))).map_err(|_| self.too_hard_for(text))
            }
            Engine::Backtracking(regex) => match catch_unwind(AssertUnwindSafe(|| regex.is_match(text))) {
                Ok(Ok(matches)) => Ok(matches),
                _ => Err(self.too_hard_for(text)),
            },
        };
        matches.unwrap_or_else(|problem| {
            Budget::abandon(problem);
            false
        })
    }

    /// The failure of a string that is too long for this pattern.
    pub(super) fn too_long_for(&self, text: &str) -> String {
        let (found, pattern, bytes) = (brief(text), brief(&self.text), text.len());
        format!(
            "{found} has {bytes} bytes, but the pattern {pattern} can only check strings of up to {MAX_TEXT} bytes: {WHAT_TO_DO}"
        )
    }

    fn too_hard_for(&self, text: &str) -> String {
        let (found, pattern) = (brief(text), brief(&self.text));
        format!("{found} takes too long to match with the pattern {pattern}: {WHAT_TO_DO}")
    }
}

fn brief(text: &str) -> String {
    super::validation_failure::brief(&Value::from(text))
}

/// The number of states of a pattern, approximately.
fn size_of(pattern: &Hir) -> usize {
    let sum = |parts: &[Hir]| parts.iter().fold(0_usize, |sum, part| sum.saturating_add(size_of(part)));
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Unicode(class)) => 1 + class.ranges().len() / RANGES_PER_STATE,
        HirKind::Class(Class::Bytes(class)) => 1 + class.ranges().len() / RANGES_PER_STATE,
        HirKind::Repetition(repeated) => {
            let most = repeated.max.unwrap_or(repeated.min.saturating_add(1));
            let splits = (most - repeated.min) as usize;
            size_of(&repeated.sub).saturating_mul(most as usize).saturating_add(splits)
        }
        HirKind::Capture(group) => size_of(&group.sub),
        HirKind::Concat(parts) => sum(parts),
        HirKind::Alternation(parts) => sum(parts).saturating_add(2 * parts.len()),
    }
}

/// A pattern of ECMA-262 in the syntax of the backtracking engine, in which some escapes and
/// classes have another meaning.
fn translated(pattern: &str) -> Option<String> {
    let (mut translated, mut rest) = (String::new(), pattern);
    while let Some(first) = rest.chars().next() {
        let escaped = rest[first.len_utf8()..].chars().next();
        let length = match (first, escaped) {
            ('[', _) => class_length(rest)?,
            ('\\', Some('1'..='9')) => 1 + rest[1..].chars().take_while(char::is_ascii_digit).count(),
            ('\\', Some('k')) => rest.find('>')? + 1,
            ('\\', Some('c')) => 3,
            ('\\', Some(escaped)) => 1 + escaped.len_utf8(),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at_checked(length)?;
        match (token, escaped) {
            ("[]", _) => translated.push_str("(?!)"),
            ("[^]", _) => translated.push_str(r"[\s\S]"),
            (r"\0", _) => translated.push_str(r"\x00"),
            // A group that did not participate matches the empty string.
            (_, Some('1'..='9')) if first == '\\' => translated += &format!("(?({}){token})", &token[1..]),
            (_, Some('k')) if first == '\\' => translated += &format!("(?({}){token})", &token[2..]),
            (_, Some('d' | 'D' | 'w' | 'W' | 's' | 'S' | 'c')) if first == '\\' => translated += &class(token)?,
            // Some escaped characters are assertions.
            (_, Some(escaped)) if first == '\\' && !escaped.is_alphanumeric() => {
                translated += &regex::escape(&token[1..]);
            }
            _ if first == '[' => translated += &class(token)?,
            _ => translated += token,
        }
        rest = after;
    }
    Some(translated)
}

/// The length of the class of characters at the start of a pattern.
fn class_length(pattern: &str) -> Option<usize> {
    let mut escaped = false;
    let end = pattern.find(|char: char| {
        let ends = char == ']' && !escaped;
        escaped = char == '\\' && !escaped;
        ends
    });
    end.map(|end| end + 1)
}

/// A class of characters as the linear engine understands it, as a list of ranges.
fn class(source: &str) -> Option<String> {
    let source = jsonschema_regex::to_rust_regex(source).ok()?;
    regex_syntax::parse(&source).ok().map(|parsed| parsed.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::processor_time::ProcessorTime;
    use std::time::Duration;

    const STEPS: u64 = 50_000_000;

    fn compiled(pattern: &str) -> Pattern {
        Pattern::compile(pattern, SchemaAuthor::Own, &mut 100_000).unwrap_or_else(|error| panic!("{pattern}: {error}"))
    }

    #[test]
    fn patterns_match_as_the_specification_of_the_language_says() {
        for (pattern, text, expected) in [
            ("^(?=.*[0-9])(?=.*[a-z])[a-z0-9]{8,40}$", "abcdefgh1", true),
            ("^(?=.*[0-9])(?=.*[a-z])[a-z0-9]{8,40}$", "abcdefghi", false),
            ("^(?:(?!foo).)*$", "a fo o", true),
            ("^(?:(?!foo).)*$", "a foo", false),
            ("(?<=a+)b", "caab", true),
            ("(?<!a)b", "ab", false),
            (r"(?<=(\d{2})-)x", "12-x", true),
            (r"^(a|b)\1$", "bb", true),
            (r"^(a|b)\1$", "ab", false),
            (r"^(?<c>.)\k<c>$", "zz", true),
            (r"^(?<c>.)\k<c>$", "zy", false),
            (r"(?=(a+))\1b", "aab", true),
            // A group that did not participate matches the empty string.
            (r"^(?:(a)|b)\1$", "b", true),
            (r"^(?:(a)|b)\1$", "ab", false),
            (r"^(?:(?<c>a)|b)\k<c>$", "b", true),
            (r"^(a*)*\1$", "aab", false),
            (r"^(a)(?:b\1){2}\1{2}$", "abababaa", false),
            (r"^(a)(?:b\1){2}\1{2}$", "ababaaa", true),
            (r"(?=.)\bword\b", "a word.", true),
            (r"(?=.)\Bord", "word", true),
            (r"(?!a)^[^]$", "\n", true),
            ("(?!a)^[]$", "", false),
            ("(?!a)^.$", "\n", false),
            ("(?!a)^(?s:.)$", "\n", true),
            ("^(?!a)(?i:straSSe)!$", "STRASSE!", true),
            (r"^(?!a)\p{Lu}\u00e9\x41\cJ\/$", "\u{c9}\u{e9}A\n/", true),
            ("^(?!b)a{2,}?b{1}$", "aaab", true),
            ("^(?!a)\u{1f600}$", "\u{1f600}", true),
            // Digits, word characters and white space are those of ECMA-262, not of Unicode.
            (r"^(?!a)\d$", "\u{663}", false),
            (r"^(?!a)[\d\s]$", "\u{663}", false),
            (r"^(?!a)[^\d]$", "\u{663}", true),
            (r"^(?!a)\w$", "\u{e9}", false),
            (r"^(?!a)[\W]$", "\u{e9}", true),
            (r"^(?!a)[\s-]\s$", "-\u{feff}", true),
            (r"^(?!a)\s$", "\u{85}", false),
            // The syntax of other engines is literal.
            (r"^(?!a)\<[[a&&b\]]\>$", "<&>", true),
            (r"^(?!a)\<[[a&&b\]]\>$", "<]>", true),
            (r"^(?!a)\0$", "\0", true),
        ] {
            Budget::renew(STEPS);
            let compiled = compiled(pattern);
            assert!(compiled.backtracking().is_some(), "{pattern}");
            assert_eq!(compiled.is_match(text), expected, "{pattern} {text}");
            assert_eq!(Budget::problem(), None, "{pattern} {text}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for pattern in
            ["(?=a", "(?=a))", r"(?=a)\2", "(?>a)", "(?=a)b++", r"(?=a)\K", r"(?:a\g<0>?b)", "(?~a)", r"(?=a)\Z", "("]
        {
            for author in [SchemaAuthor::Own, SchemaAuthor::Peer] {
                assert!(Pattern::compile(pattern, author, &mut 100_000).is_err(), "{pattern}");
            }
        }
        let nested = format!("{}a{}", "(?=".repeat(10_000), ")".repeat(10_000));
        assert!(Pattern::compile(&nested, SchemaAuthor::Own, &mut 100_000).is_err());
        assert_eq!(compiled("(?:){1000000000}").backtracking(), None);
    }

    #[test]
    fn sch_10_texts_that_take_too_long_are_given_up_with_the_reason() {
        let (started, mut given_up) = (ProcessorTime::start(), 0);
        for pattern in [
            r"(?=.*\d)[a-z]+\d",
            "^(?:(?=.*b)a)*$",
            "^(?:(a+)+)+(?<!a)b$",
            "(?<!b.*)(?<=c.*)a",
            r"(?=(a+))\1b",
            r"^(a*)*\1b",
            r"^(?:(a)|\1)+$",
            "(?:(?![^b]*b).)*c",
            r"(.*)(.*)(.*)(?=[^b]*b)\1",
        ] {
            let compiled = compiled(pattern);
            for bytes in [40, 200, MAX_TEXT] {
                Budget::renew(STEPS);
                let matches = compiled.is_match(&("a".repeat(bytes - 1) + "-"));
                assert!(!matches || pattern == r"^(?:(a)|\1)+$", "{pattern}");
                if let Some(problem) = Budget::problem() {
                    given_up += 1;
                    assert!(
                        problem.contains(" takes too long") && problem.contains("without look-around"),
                        "{problem}"
                    );
                    assert!(problem.contains(&brief(pattern)), "{problem}");
                }
            }
            Budget::renew(STEPS);
            assert!(!compiled.is_match(&"a".repeat(MAX_TEXT + 1)));
            let problem = Budget::problem().unwrap();
            assert!(problem.contains("has 2049 bytes") && problem.contains("up to 2048 bytes: shorten"), "{problem}");
            // Nothing else of this value is matched.
            assert!(!compiled.is_match(&"b".repeat(9)));
        }
        assert!(given_up > 3, "{given_up}");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }

    #[test]
    fn sch_10_large_patterns_of_long_texts_are_given_up() {
        let pattern = compiled("^[ab]{1,5000}$");
        Budget::renew(STEPS);
        assert!(pattern.backtracking().is_none() && pattern.is_match(&"a".repeat(4_000)));
        assert_eq!(Budget::problem(), None);
        assert!(!pattern.is_match(&"a".repeat(1 << 20)));
        assert_eq!(Budget::problem().as_deref(), Some(TOO_LONG));
    }

    #[test]
    fn patterns_of_a_peer_do_not_backtrack() {
        for (pattern, unchecked) in [("^(?!a)", true), (r"(a)\1", true), ("^[^]$", true), ("^[ab]$", false)] {
            let pattern = Pattern::compile(pattern, SchemaAuthor::Peer, &mut 100_000).unwrap();
            assert_eq!((pattern.is_unchecked(), pattern.backtracking()), (unchecked, None));
            Budget::renew(STEPS);
            assert_eq!(pattern.is_match("aa"), unchecked);
            assert!(!Budget::without_unchecked(|| pattern.is_match("aa")));
        }
    }
}
