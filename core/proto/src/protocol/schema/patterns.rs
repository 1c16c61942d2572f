//! The patterns of a schema, for its validator.

use super::{
    Invalid, SchemaError,
    bounds::{Limits, NeverFetch, parts},
    pattern::{Budget, NO_ROOM, Pattern},
};
use jsonschema::{Keyword, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// Number of steps that take a few milliseconds.
const MAX_CHEAP_STEPS: u64 = 1_000_000;
/// Maximum number of member names per value that a pattern unsupported by the linear engine may
/// match.
const MAX_NAMES: usize = 1_000;

/// The failure of a value that exceeds the budget.
pub(super) const TOO_LONG: &str = "the patterns of the schema would take too long to match: shorten the strings";

/// The patterns of a schema.
pub(super) struct Patterns {
    /// The schema, if it has patterns.
    schema: Option<Value>,
    compiled: Arc<HashMap<String, Arc<Pattern>>>,
    /// The size left for more patterns.
    room: usize,
    /// Their total number of steps per byte, at most, or `None` if unknown.
    weight: Option<u64>,
    /// The part of it for names of members.
    of_names: u64,
    /// Maximum number of steps of all patterns per value.
    steps: u64,
    /// Patterns for names that the linear engine does not support; the validator has no other
    /// engine.
    beyond: Vec<String>,
}

impl Patterns {
    /// Compiles the patterns of a schema.
    ///
    /// # Errors
    /// If they are too large.
    pub(super) fn of(limits: &Limits, schema: &Value) -> Result<Self, SchemaError> {
        let (compiled, beyond) = (Arc::default(), Vec::new());
        let (steps, room) = (limits.steps, limits.patterns);
        let mut found = Self { schema: None, compiled, room, weight: Some(0), of_names: 0, steps, beyond };
        found.collect(schema)?;
        found.schema = (!found.compiled.is_empty()).then(|| schema.clone());
        Ok(found)
    }

    /// Finds all possible patterns. One that does not compile is left to the validator to report,
    /// because it may be a value that only looks like a schema.
    fn collect(&mut self, part: &Value) -> Result<(), SchemaError> {
        if let Some(Value::String(pattern)) = part.get("pattern") {
            self.add(pattern)?;
        }
        if let Some(Value::Object(named)) = part.get("patternProperties") {
            for pattern in named.keys() {
                match self.add(pattern)? {
                    Some((weight, true)) => self.of_names = self.of_names.saturating_add(weight),
                    Some((_, false)) => self.beyond.push(pattern.clone()),
                    None => {}
                }
            }
        }
        parts(part).try_for_each(|inner| self.collect(inner))
    }

    /// Adds a pattern: its weight, and whether the linear engine supports it.
    fn add(&mut self, pattern: &String) -> Result<Option<(u64, bool)>, SchemaError> {
        if !self.compiled.contains_key(pattern) {
            match Pattern::compile(pattern, &mut self.room) {
                Ok(new) => drop(Arc::make_mut(&mut self.compiled).insert(pattern.clone(), Arc::new(new))),
                Err(problem) if problem == NO_ROOM => return Err(SchemaError::TooComplex(NO_ROOM)),
                Err(_) => return Ok(None),
            }
        }
        let weight = self.compiled[pattern].weight();
        self.weight = self.weight.zip(weight).map(|(all, weight)| all.saturating_add(weight));
        Ok(Some((weight.unwrap_or(u64::MAX), self.compiled[pattern].is_linear())))
    }

    /// The schema, if it has patterns.
    pub(super) fn schema(&self) -> Option<&Value> {
        self.schema.as_ref()
    }

    /// Returns whether a value of this size may take longer than a few milliseconds.
    pub(super) fn are_costly(&self, bytes: usize) -> bool {
        self.schema.is_some() && self.weight.is_none_or(|weight| weight.saturating_mul(bytes as u64) > MAX_CHEAP_STEPS)
    }

    /// Returns whether the last value on this thread exceeded the budget.
    pub(super) fn are_given_up(&self) -> bool {
        self.schema.is_some() && Budget::is_exhausted()
    }

    /// Builds the validator of the schema. In it, patterns for names that the linear engine does
    /// not support match nothing.
    pub(super) fn build(&self, schema: &Value) -> Result<Validator, SchemaError> {
        if self.beyond.is_empty() {
            return self.build_as_it_is(schema);
        }
        let nothing = self.beyond.iter().map(|pattern| (&**pattern, r"[^\s\S]".to_owned())).collect();
        self.build_as_it_is(&renamed(schema, &nothing, &mut 0))
    }

    fn build_as_it_is(&self, schema: &Value) -> Result<Validator, SchemaError> {
        // Another crate may enable fetching through cargo's feature unification, so it is disabled
        // here as well.
        let mut options =
            jsonschema::options().with_retriever(NeverFetch).with_pattern_options(PatternOptions::regex());
        if !self.compiled.is_empty() {
            let compiled = Arc::clone(&self.compiled);
            options = options.with_keyword("pattern", move |_, given, _| {
                let text = given.as_str().unwrap_or_default();
                match compiled.get(text).map_or_else(
                    || Pattern::compile(text, &mut { usize::MAX }).map(Arc::new),
                    |known| Ok(Arc::clone(known)),
                ) {
                    Ok(pattern) => Ok(Box::new(PatternKeyword { text: text.to_owned(), pattern })),
                    Err(problem) => Err(ValidationError::schema(format!("the pattern {given}: {problem}"))),
                }
            });
        }
        options.build(schema).map_err(SchemaError::from_build)
    }

    /// Starts a value. Returns a validator for it, if one is needed that knows which of its names
    /// match patterns unsupported by the linear engine.
    pub(super) fn for_names_of(&self, value: &Value) -> Result<Option<Validator>, Invalid> {
        let Some(schema) = &self.schema else { return Ok(None) };
        Budget::renew(self.steps);
        if self.of_names == 0 && self.beyond.is_empty() {
            return Ok(None);
        }
        let mut names = BTreeSet::new();
        let bytes = names_of(value, &mut names);
        if self.of_names.saturating_mul(bytes) > self.steps {
            return Err(Invalid::one(TOO_LONG));
        }
        let mut matching = HashMap::new();
        for pattern in &self.beyond {
            let matches = |name: &&&str| self.compiled[pattern].is_match(name);
            let found: Vec<_> = names.iter().filter(matches).map(|name| regex::escape(name)).collect();
            if found.len() > MAX_NAMES {
                return Err(Invalid::one(TOO_LONG));
            }
            if !found.is_empty() {
                matching.insert(&**pattern, format!("^(?:{})$", found.join("|")));
            }
        }
        if matching.is_empty() {
            return Ok(None);
        }
        self.build(&renamed(schema, &matching, &mut 0)).map(Some).map_err(|error| Invalid::one(&error.to_string()))
    }
}

/// Replaces the patterns for names in a schema, and keeps them distinct.
fn renamed(part: &Value, names: &HashMap<&str, String>, number: &mut usize) -> Value {
    match part {
        Value::Array(items) => items.iter().map(|item| renamed(item, names, number)).collect(),
        Value::Object(members) => {
            let rename = |(keyword, member): (&String, &Value)| match member {
                Value::Object(named) if keyword == "patternProperties" => {
                    let mut patterns = Map::new();
                    for (pattern, schema) in named {
                        *number += 1;
                        let other = names.get(&**pattern).map(|other| format!("{other}(?:){{{number}}}"));
                        patterns.insert(other.unwrap_or_else(|| pattern.clone()), renamed(schema, names, number));
                    }
                    (keyword.clone(), patterns.into())
                }
                _ => (keyword.clone(), renamed(member, names, number)),
            };
            members.iter().map(rename).collect()
        }
        other => other.clone(),
    }
}

/// Collects the names of members; returns their total size, counting repetitions.
fn names_of<'a>(value: &'a Value, names: &mut BTreeSet<&'a str>) -> u64 {
    let mut size = 0;
    for name in value.as_object().into_iter().flat_map(|members| members.keys()) {
        names.insert(name);
        size += name.len() as u64;
    }
    size + parts(value).map(|part| names_of(part, names)).sum::<u64>()
}

/// The keyword `pattern`.
struct PatternKeyword {
    text: String,
    pattern: Arc<Pattern>,
}

impl<'i> Keyword<'i> for PatternKeyword {
    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(value) { Ok(()) } else { Err(ValidationError::custom(self.text.clone())) }
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        value.as_str().is_none_or(|text| self.pattern.is_match(text))
    }
}
