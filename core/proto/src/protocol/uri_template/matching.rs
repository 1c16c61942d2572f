//! Template matching, the inverse of expansion, with one regular expression and a linear-time
//! engine.

use super::{Expression, Modifier, Operator, Part, UriTemplateError, UriValue, UriVariables, Variable};
use percent_encoding::percent_decode_str;
use regex::{Regex, RegexBuilder};
use std::collections::btree_map::{BTreeMap, Entry};
use std::fmt::Write;

/// Maximum length of a URI in bytes; longer ones never match.
const MAX_URI: usize = 64 * 1024;
/// Maximum size of the compiled expression, in bytes.
const MAX_COMPILED: usize = 4 << 20;

#[derive(Debug, Clone)]
pub(super) struct Matcher {
    regex: Regex,
    /// The variable of each group of the expression.
    groups: Vec<VariableGroup>,
}

#[derive(Debug, Clone)]
enum VariableGroup {
    One(Variable),
    /// The values of one variable, with their separator.
    List(String, char),
    /// `name=value` pairs of several variables, in any order.
    Pairs(Vec<Variable>, char),
}

impl Matcher {
    pub(super) fn new(parts: &[Part]) -> Result<Self, UriTemplateError> {
        let mut builder = Builder { pattern: r"(?s)\A".to_owned(), groups: Vec::new() };
        let mut rest = parts;
        while let [part, after @ ..] = rest {
            rest = after;
            match part {
                Part::Literal(literal) => builder.literal(literal),
                Part::Expression(expression) if expression.operator.is_named() => {
                    let mut variables = expression.variables.clone();
                    // `{?a}{&b}` is a single query.
                    while let [Part::Expression(more), after @ ..] = rest
                        && more.operator == Operator::QueryContinuation
                        && expression.operator != Operator::PathParameters
                    {
                        variables.extend_from_slice(&more.variables);
                        rest = after;
                    }
                    builder.pairs(expression.operator, variables);
                }
                Part::Expression(expression) => {
                    let lazy =
                        matches!(rest.first(), Some(Part::Expression(next)) if !next.operator.first().is_empty());
                    builder.values(expression, lazy);
                }
            }
        }
        builder.pattern.push_str(r"\z");
        let regex = RegexBuilder::new(&builder.pattern).size_limit(MAX_COMPILED).build();
        let regex = regex.map_err(|_| UriTemplateError { position: 0, problem: "too much to match".to_owned() })?;
        Ok(Self { regex, groups: builder.groups })
    }

    pub(super) fn matches(&self, uri: &str) -> Option<UriVariables> {
        if uri.len() > MAX_URI {
            return None;
        }
        let captures = self.regex.captures(uri)?;
        let mut found = FoundVariables::default();
        for (group, capture) in self.groups.iter().zip(captures.iter().skip(1)) {
            let Some(raw) = capture.map(|capture| capture.as_str()) else { continue };
            match group {
                VariableGroup::One(variable) => found.text(variable, raw)?,
                VariableGroup::List(name, separator) => found.list(name, raw, *separator)?,
                VariableGroup::Pairs(variables, separator) => found.pairs(variables, raw, *separator)?,
            }
        }
        Some(found.0.into_iter().map(|(name, (value, _))| (name, value)).collect())
    }
}

struct Builder {
    pattern: String,
    groups: Vec<VariableGroup>,
}

impl Builder {
    /// A character that expansion would encode matches encoded and unencoded.
    fn literal(&mut self, literal: &str) {
        for character in literal.chars() {
            let mut buffer = [0; 4];
            let text = &*character.encode_utf8(&mut buffer);
            if character.is_ascii() {
                self.pattern.push_str(&regex::escape(text));
            } else {
                let _ = write!(self.pattern, "(?:{text}|(?i:");
                for byte in text.bytes() {
                    let _ = write!(self.pattern, "%{byte:02x}");
                }
                self.pattern.push_str("))");
            }
        }
    }

    fn values(&mut self, expression: &Expression, lazy: bool) {
        let operator = expression.operator;
        let first = regex::escape(operator.first());
        let separator = regex::escape(operator.separator());
        let divided = expression.variables.len() > 1;
        let mut ends = String::new();
        if !operator.first().is_empty() {
            self.pattern.push_str("(?:");
            ends.push_str(")?");
        }
        self.pattern.push_str(&first);
        for (index, variable) in expression.variables.iter().enumerate() {
            if index > 0 {
                let _ = write!(self.pattern, "(?:{separator}");
                ends.push_str(")?");
            }
            let exploded = variable.modifier == Modifier::Explode;
            let characters = characters(operator, divided || exploded);
            let few = if lazy { "?" } else { "" };
            if exploded {
                let _ = write!(self.pattern, "({characters}+{few}(?:{separator}{characters}+{few})*{few})");
                let separator = operator.separator().chars().next().unwrap_or(',');
                self.groups.push(VariableGroup::List(variable.name.clone(), separator));
            } else {
                let _ = write!(self.pattern, "({characters}+{few})");
                self.groups.push(VariableGroup::One(variable.clone()));
            }
        }
        self.pattern.push_str(&ends);
    }

    fn pairs(&mut self, operator: Operator, variables: Vec<Variable>) {
        self.pattern.push_str(match operator {
            Operator::PathParameters => "((?:;[^;/?#]+)*)",
            Operator::Query => r"(?:\?([^#]*))?",
            _ => "((?:&[^#]*)?)",
        });
        let separator = if operator == Operator::PathParameters { ';' } else { '&' };
        self.groups.push(VariableGroup::Pairs(variables, separator));
    }
}

/// The characters of a value: those that neither end it nor belong to the next part, and
/// percent-encoded ones. The bytes of one encoded character are not split between values.
fn characters(operator: Operator, divided: bool) -> String {
    let ends = match (operator, divided) {
        (Operator::Label, _) => "./?#",
        (Operator::Reserved | Operator::Fragment, false) => "",
        (Operator::Reserved | Operator::Fragment, true) => ",",
        (Operator::Simple, true) => "/?#,",
        _ => "/?#",
    };
    format!("(?:%[0-7][0-9A-Fa-f]|%[C-Fc-f][0-9A-Fa-f](?:%[89ABab][0-9A-Fa-f])*|[^%{ends}])")
}

/// The values found so far, each with whether it is only a prefix of its variable.
#[derive(Default)]
struct FoundVariables(BTreeMap<String, (UriValue, bool)>);

impl FoundVariables {
    fn text(&mut self, variable: &Variable, raw: &str) -> Option<()> {
        let text = decode(raw)?;
        let is_prefix = match variable.modifier {
            Modifier::Prefix(length) if text.chars().nth(length).is_some() => return None,
            // A shorter string is the complete value.
            Modifier::Prefix(length) => text.chars().count() == length,
            Modifier::None | Modifier::Explode => false,
        };
        match self.0.entry(variable.name.clone()) {
            Entry::Vacant(vacant) => drop(vacant.insert((UriValue::Text(text), is_prefix))),
            Entry::Occupied(mut occupied) => {
                let (UriValue::Text(earlier), earlier_is_prefix) = occupied.get() else { return None };
                if *earlier_is_prefix && text.starts_with(earlier.as_str()) {
                    occupied.insert((UriValue::Text(text), is_prefix));
                } else if !(*earlier == text || is_prefix && earlier.starts_with(text.as_str())) {
                    return None;
                }
            }
        }
        Some(())
    }

    fn list(&mut self, name: &str, raw: &str, separator: char) -> Option<()> {
        let list = raw.split(separator).map(decode).collect::<Option<Vec<_>>>()?;
        self.whole_list(name, list)
    }

    fn pairs(&mut self, variables: &[Variable], raw: &str, separator: char) -> Option<()> {
        let mut lists: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut seen = Vec::new();
        for pair in raw.split(separator).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name)?;
            let known = |variable: &&Variable| decode(&variable.name).as_deref() == Some(&*name);
            let variable = variables.iter().find(known)?;
            if variable.modifier == Modifier::Explode {
                lists.entry(&variable.name).or_default().push(decode(value)?);
            } else if seen.contains(&&variable.name) {
                return None;
            } else {
                seen.push(&variable.name);
                self.text(variable, value)?;
            }
        }
        lists.into_iter().try_for_each(|(name, list)| self.whole_list(name, list))
    }

    fn whole_list(&mut self, name: &str, list: Vec<String>) -> Option<()> {
        let value = (UriValue::List(list), false);
        match self.0.entry(name.to_owned()) {
            Entry::Vacant(vacant) => drop(vacant.insert(value)),
            Entry::Occupied(occupied) if *occupied.get() != value => return None,
            Entry::Occupied(_) => {}
        }
        Some(())
    }
}

fn decode(raw: &str) -> Option<String> {
    percent_decode_str(raw).decode_utf8().ok().map(Into::into)
}

#[cfg(test)]
mod tests;
