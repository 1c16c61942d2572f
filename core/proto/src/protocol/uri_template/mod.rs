//! URI templates (RFC 6570): parsing, matching and expansion.
//!
//! RFC 6570 only defines expansion. Matching is its inverse, with these choices where that is
//! ambiguous: a variable has at least one character; it takes as much as it can, or as little if an
//! optional expression follows; the parameters of `{?a,b}`, `{&a,b}` and `{;a,b}` may come in any
//! order and may be absent, but unknown parameters do not match. Characters that are unambiguous in
//! the template may be unencoded.

mod expand;
mod matching;
mod parse;
mod paths;

use matching::Matcher;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A parsed template. Parsing takes microseconds; do it once.
#[derive(Debug, Clone)]
pub struct UriTemplate {
    text: String,
    parts: Vec<Part>,
    matcher: Matcher,
}

/// The value of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum UriValue {
    /// A string.
    Text(String),
    /// The values of a variable with `*`, in order.
    List(Vec<String>),
}

/// Values by the name of their variable.
pub type UriVariables = BTreeMap<String, UriValue>;

/// Why a template is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at position {position} of the URI template")]
pub struct UriTemplateError {
    /// The position, in bytes from the start.
    pub position: usize,
    /// The problem there.
    pub problem: String,
}

impl UriTemplate {
    /// Parses a template.
    ///
    /// # Errors
    ///
    /// If it violates the grammar of RFC 6570, or is too large to be matched safely.
    pub fn parse(text: &str) -> Result<Self, UriTemplateError> {
        let parts = parse::parse(text)?;
        let matcher = Matcher::new(&parts)?;
        Ok(Self { text: text.to_owned(), parts, matcher })
    }

    /// The template as given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The names of the variables without duplicates, in order of first occurrence.
    pub fn variables(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for variable in expressions(&self.parts).flat_map(|expression| &expression.variables) {
            if !names.contains(&variable.name.as_str()) {
                names.push(variable.name.as_str());
            }
        }
        names
    }

    /// Returns whether a variable matches a list of values: `{name*}`.
    pub fn is_list(&self, name: &str) -> bool {
        let mut variables = expressions(&self.parts).flat_map(|expression| &expression.variables);
        variables.any(|variable| variable.name == name && variable.modifier == Modifier::Explode)
    }

    /// The percent-decoded variables of a URI, or `None` if it does not match. Omitted variables
    /// are absent.
    ///
    /// A decoded value can contain any character, including `/`; see [`Self::has_unsafe_path`]
    /// before you use a value as a path. Takes time linear in the length of the URI.
    pub fn matches(&self, uri: &str) -> Option<UriVariables> {
        self.matcher.matches(uri)
    }

    /// Returns whether a value leads out of the directory that it is appended to: it has a `..`
    /// segment (with either slash) or a NUL, or starts like an absolute path (`/`, `\\`, `C:`).
    /// Values of `{+name}` and `{#name}`, which may contain slashes, may start with one.
    pub fn has_unsafe_path(&self, values: &UriVariables) -> bool {
        paths::has_unsafe(&self.parts, values)
    }

    /// Expands the template with these values; variables without a value are omitted (RFC 6570,
    /// section 3).
    pub fn expand(&self, values: &UriVariables) -> String {
        expand::expand(&self.parts, values)
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<&str> for UriValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Expression(Expression),
}

fn expressions(parts: &[Part]) -> impl Iterator<Item = &Expression> {
    parts.iter().filter_map(|part| match part {
        Part::Expression(expression) => Some(expression),
        Part::Literal(_) => None,
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Expression {
    operator: Operator,
    variables: Vec<Variable>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Variable {
    name: String,
    modifier: Modifier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Modifier {
    None,
    /// `*`
    Explode,
    /// `:3`: only the first characters.
    Prefix(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    PathParameters,
    Query,
    QueryContinuation,
}

impl Operator {
    /// The text before the first value of an expression that has any values.
    fn first(self) -> &'static str {
        match self {
            Self::Simple | Self::Reserved => "",
            Self::Fragment => "#",
            Self::Label => ".",
            Self::Path => "/",
            Self::PathParameters => ";",
            Self::Query => "?",
            Self::QueryContinuation => "&",
        }
    }

    /// The separator between values.
    fn separator(self) -> &'static str {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => ",",
            Self::Query | Self::QueryContinuation => "&",
            Self::Label | Self::Path | Self::PathParameters => self.first(),
        }
    }

    /// Returns whether values are written as `name=value`.
    fn is_named(self) -> bool {
        matches!(self, Self::PathParameters | Self::Query | Self::QueryContinuation)
    }

    /// Returns whether reserved characters are left unencoded.
    fn keeps_reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }
}
