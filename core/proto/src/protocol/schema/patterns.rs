//! The patterns of a schema, for its validator.

use super::{
    Invalid, SchemaAuthor, SchemaError,
    bounds::{Limits, NeverFetch, parts},
    pattern::{Budget, MAX_BACKTRACKS, MAX_TEXT, PATTERNS_TOO_LARGE, Pattern, TOO_LONG},
};
use jsonschema::{Keyword, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value};
use std::{collections::HashMap, sync::Arc};

/// Number of steps that take a few milliseconds.
const MAX_CHEAP_STEPS: u64 = 1_000_000;

/// The patterns of a schema.
pub(super) struct Patterns {
    /// The schema, if it has patterns.
    schema: Option<Value>,
    author: SchemaAuthor,
    compiled: Arc<HashMap<String, Arc<Pattern>>>,
    /// The size left for more patterns.
    room: usize,
    /// Their total number of steps per byte, at most.
    weight: u64,
    /// The part of it for names of members.
    of_names: u64,
    /// Maximum number of steps of all patterns per value.
    steps: u64,
    /// A pattern for names that backtracks.
    backtracking: Option<Arc<Pattern>>,
}

impl Patterns {
    /// Compiles the patterns of a schema.
    ///
    /// # Errors
    /// If they are too large.
    pub(super) fn of(limits: &Limits, author: SchemaAuthor, schema: &Value) -> Result<Self, SchemaError> {
        let (steps, room) = (limits.steps, limits.patterns);
        let mut found = Self {
            schema: None,
            author,
            compiled: Arc::default(),
            room,
            weight: 0,
            of_names: 0,
            steps,
            backtracking: None,
        };
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
                if let Some(pattern) = self.add(pattern)? {
                    self.of_names = self.of_names.saturating_add(pattern.weight());
                    self.backtracking =
                        pattern.backtracking().map(|_| Arc::clone(&pattern)).or(self.backtracking.take());
                }
            }
        }
        parts(part).try_for_each(|inner| self.collect(inner))
    }

    fn add(&mut self, pattern: &String) -> Result<Option<Arc<Pattern>>, SchemaError> {
        if !self.compiled.contains_key(pattern) {
            match Pattern::compile(pattern, self.author, &mut self.room) {
                Ok(new) => drop(Arc::make_mut(&mut self.compiled).insert(pattern.clone(), Arc::new(new))),
                Err(problem) if problem == PATTERNS_TOO_LARGE => {
                    return Err(SchemaError::TooComplex(PATTERNS_TOO_LARGE));
                }
                Err(_) => return Ok(None),
            }
        }
        let known = Arc::clone(&self.compiled[pattern]);
        self.weight = self.weight.saturating_add(known.weight());
        Ok(Some(known))
    }

    /// The schema, if it has patterns.
    pub(super) fn schema(&self) -> Option<&Value> {
        self.schema.as_ref()
    }

    /// The patterns that are not checked.
    pub(super) fn unchecked(&self) -> impl Iterator<Item = &str> {
        self.compiled.iter().filter(|(_, pattern)| pattern.is_unchecked()).map(|(text, _)| text.as_str())
    }

    /// Returns whether a value of this size may take longer than a few milliseconds.
    pub(super) fn are_costly(&self, bytes: usize) -> bool {
        self.weight.saturating_mul(bytes as u64) > MAX_CHEAP_STEPS
    }

    /// Allows the steps for one check of a value.
    pub(super) fn renew_budget(&self) {
        Budget::renew(self.steps);
    }

    /// Refuses names that would take too long to match.
    pub(super) fn check_names(&self, value: &Value) -> Result<(), Invalid> {
        if self.of_names == 0 {
            return Ok(());
        }
        let (mut size, mut longest) = (0, "");
        measure_names(value, &mut size, &mut longest);
        match &self.backtracking {
            Some(pattern) if longest.len() > MAX_TEXT => Err(Invalid::one(&pattern.too_long_for(longest))),
            _ if self.of_names.saturating_mul(size) > self.steps => Err(Invalid::one(TOO_LONG)),
            _ => Ok(()),
        }
    }

    /// Returns whether a value is valid, whatever the patterns that are not checked would match.
    pub(super) fn is_valid(&self, validator: &Validator, value: &Value) -> bool {
        validator.is_valid(value)
            || self.unchecked().next().is_some() && Budget::without_unchecked(|| validator.is_valid(value))
    }

    /// Builds the validator of the schema.
    pub(super) fn build(&self, schema: &Value) -> Result<Validator, SchemaError> {
        // Another crate may enable fetching through cargo's feature unification, so it is disabled
        // here as well.
        let mut options =
            jsonschema::options().with_retriever(NeverFetch).with_pattern_options(PatternOptions::regex());
        if self.backtracking.is_some() {
            options = options.with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(2 * MAX_BACKTRACKS));
        }
        if !self.compiled.is_empty() {
            let (compiled, author) = (Arc::clone(&self.compiled), self.author);
            options = options.with_keyword("pattern", move |_, given, _| {
                let text = given.as_str().unwrap_or_default();
                match compiled.get(text).map_or_else(
                    || Pattern::compile(text, author, &mut { usize::MAX }).map(Arc::new),
                    |known| Ok(Arc::clone(known)),
                ) {
                    Ok(pattern) => Ok(Box::new(PatternKeyword(pattern))),
                    Err(problem) => Err(ValidationError::schema(format!("the pattern {given}: {problem}"))),
                }
            });
        }
        let is_linear = self.backtracking.is_none() && self.unchecked().next().is_none();
        let built = if is_linear { options.build(schema) } else { options.build(&self.renamed(schema)) };
        built.map_err(SchemaError::from_build)
    }

    /// The schema with patterns for names that the validator can match.
    fn renamed(&self, part: &Value) -> Value {
        match part {
            Value::Array(items) => items.iter().map(|item| self.renamed(item)).collect(),
            Value::Object(members) => {
                let rename = |(keyword, member): (&String, &Value)| match member {
                    Value::Object(named) if keyword == "patternProperties" => (keyword.clone(), self.names(named)),
                    _ => (keyword.clone(), self.renamed(member)),
                };
                members.iter().map(rename).collect()
            }
            other => other.clone(),
        }
    }

    fn names(&self, named: &Map<String, Value>) -> Value {
        let mut names = Map::new();
        for (pattern, schema) in named {
            let known = self.compiled.get(pattern);
            if known.is_some_and(|known| known.is_unchecked()) {
                // May match any name.
                names.insert("(?:)".to_owned(), Value::Bool(true));
                continue;
            }
            let mut name = pattern.clone();
            if let Some(translated) = known.and_then(|known| known.backtracking()) {
                // The empty look-ahead keeps the validator from translating the pattern again, and
                // different patterns from becoming one.
                name = format!("(?=){translated}");
                while names.contains_key(&name) {
                    name.insert_str(0, "(?=)");
                }
            }
            names.insert(name, self.renamed(schema));
        }
        names.into()
    }
}

/// Measures the names of members: their total size, counting repetitions, and the longest.
fn measure_names<'a>(value: &'a Value, size: &mut u64, longest: &mut &'a str) {
    for name in value.as_object().into_iter().flat_map(|members| members.keys()) {
        *size += name.len() as u64;
        if name.len() > longest.len() {
            *longest = name;
        }
    }
    parts(value).for_each(|part| measure_names(part, size, longest));
}

/// The keyword `pattern`.
struct PatternKeyword(Arc<Pattern>);

impl<'i> Keyword<'i> for PatternKeyword {
    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(value) { Ok(()) } else { Err(ValidationError::custom(self.0.text())) }
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        value.as_str().is_none_or(|text| self.0.is_match(text))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Schema;
    use super::*;
    use serde_json::json;

    fn failure(schema: &Schema, value: &Value) -> String {
        schema.validate(value).map_or_else(|invalid| invalid.to_string(), |()| String::new())
    }

    #[test]
    fn names_may_be_matched_by_backtracking() {
        let schema = json!({
            "patternProperties": {
                r"^(?!x-)\d": {"type": "integer"},
                "^(?!x-)[0-9]": {"minimum": 1},
                r"^(a|b)\1$": {"maximum": 9},
                "^[a-z]{3}$": {"multipleOf": 2},
            },
            "additionalProperties": false,
        });
        let schema = Schema::compile(&schema).unwrap();
        for (value, problem) in [
            (json!({"1": 1, "aa": 9, "abc": 4}), ""),
            // Both patterns become the same one.
            (json!({"1": "1"}), "/1: \"1\" is not of type \"integer\""),
            (json!({"1": 0}), "/1: 0 is less than the minimum of 1"),
            (json!({"bb": 10}), "/bb: 10 is greater than the maximum of 9"),
            (json!({"abc": 3}), "/abc: 3 is not a multiple of 2"),
            (json!({"ab": 1}), "property \"ab\" is not allowed"),
            (json!({"x-1": 1}), "property \"x-1\" is not allowed"),
            (json!({"\u{663}": 1}), "property \"\u{663}\" is not allowed"),
        ] {
            assert_eq!(failure(&schema, &value), problem, "{value}");
        }
        let long = failure(&schema, &json!([{"a".repeat(3_000): 1}]));
        assert!(long.contains("has 3000 bytes") && long.contains("up to 2048 bytes: shorten"), "{long}");
    }

    #[test]
    fn sch_10_names_that_take_too_long_are_refused() {
        let schema = Schema::compile(&json!({"patternProperties": {r"^(a|a)*\1b": false}})).unwrap();
        let error = failure(&schema, &json!({"a".repeat(40): 1}));
        assert!(error.contains("names in an object take too long") && error.contains("patternProperties"), "{error}");
        assert_eq!(failure(&schema, &json!({"c": 1})), "");
    }

    #[test]
    fn what_patterns_of_a_peer_would_match_is_not_decided() {
        let look = "^(?!a)";
        for schema in [
            json!({"properties": {"x": {"pattern": look}}}),
            json!({"properties": {"x": {"not": {"pattern": look}}}}),
            json!({"properties": {"x": {"oneOf": [{"pattern": look}, {"pattern": "^[ab]"}]}}}),
            json!({"properties": {"x": {"if": {"pattern": look}, "then": {"maxLength": 0}}}}),
            json!({"patternProperties": {look: {"type": "integer"}, "^x": {}}, "additionalProperties": false}),
        ] {
            let mut schema = schema;
            schema["properties"]["n"] = json!({"type": "integer"});
            let compiled = Schema::compile_of_peer(&schema).unwrap();
            assert_eq!(compiled.unchecked_patterns(), [look], "{schema}");
            for x in ["a", "b"] {
                assert_eq!(failure(&compiled, &json!({"x": x, "n": 1})), "", "{schema}");
                let wrong = failure(&compiled, &json!({"x": x, "n": "1"}));
                assert!(wrong.contains("/n: \"1\" is not of type"), "{schema}: {wrong}");
            }
        }
        let linear = Schema::compile_of_peer(&json!({"pattern": "^[ab]$"})).unwrap();
        assert!(linear.unchecked_patterns().is_empty());
        assert_eq!(failure(&linear, &json!("c")), "\"c\" does not match \"^[ab]$\"");
    }
}
