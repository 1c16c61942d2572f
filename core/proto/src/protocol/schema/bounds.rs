//! Limits that keep a hostile schema from exhausting the process (SCH-10).
//!
//! References multiply: forty small definitions that each use the next one twice mean 10^12 checks.
//! So the references are followed once before compiling, to count the checks of one value.

use super::keywords::{Scope, subschemas};
use super::{Invalid, SchemaError};
use jsonschema::{Draft, Registry, Retrieve, Uri};
use serde_json::Value;
use std::collections::HashMap;

/// Maximum nesting of the schema's JSON.
const MAX_NESTING: usize = 128;
/// Maximum number of JSON values in the schema.
const MAX_VALUES: usize = 200_000;
/// Maximum number of schemas applied to one value and its parts, counted each time they are
/// reached.
const MAX_REACHED: u64 = 100_000;
/// Maximum total size of the patterns, in states of their automata.
const MAX_PATTERNS: usize = 50_000;
/// Maximum number of pattern steps per value, which are states times bytes: about a second.
const MAX_STEPS: u64 = 200_000_000;
/// Maximum number of JSON values in a form.
const FORM_VALUES: usize = 5_000;
/// Maximum size of its patterns.
const FORM_PATTERNS: usize = 2_000;
/// Maximum number of their steps per value: a few milliseconds.
const FORM_STEPS: u64 = 1_000_000;
/// Number of checks that take a few milliseconds.
const MAX_CHEAP_CHECKS: u64 = 4_000_000;
/// Maximum number of checks per value: the schemas that may apply to each part, times the parts.
const MAX_CHECKS: u64 = 2_000_000_000;
/// Number of JSON values of a schema that compiles in about a millisecond.
const MAX_CHEAP_VALUES: usize = 1_000;
/// Maximum nesting of schemas, through references.
const MAX_CHAIN: usize = 128;
/// Maximum number of references whose target is only known during validation.
const MAX_DYNAMIC: usize = 16;
/// Maximum nesting of schemas when a value is validated with a recursive schema, limited by the
/// stack.
const MAX_STACK: usize = 512;
/// Approximate maximum number of steps to find all failures.
const MAX_SEARCH: u64 = 20_000;

/// Limits of a schema and of the work of its patterns.
pub(super) struct Limits {
    values: usize,
    too_many_values: &'static str,
    reached: u64,
    too_many_reached: &'static str,
    pub(super) patterns: usize,
    pub(super) steps: u64,
}

impl Limits {
    pub(super) const DEFAULT: Self = Self {
        values: MAX_VALUES,
        too_many_values: "it has more than 200,000 JSON values",
        reached: MAX_REACHED,
        too_many_reached: "its references multiply to more than 100,000 checks",
        patterns: MAX_PATTERNS,
        steps: MAX_STEPS,
    };
    pub(super) const PROMPT: Self = Self {
        values: FORM_VALUES,
        too_many_values: "it has more than 5,000 JSON values",
        reached: 5_000,
        too_many_reached: "its references multiply to more than 5,000 checks",
        patterns: FORM_PATTERNS,
        steps: FORM_STEPS,
    };
}

/// The cost of validation with a schema.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ValidationCost {
    /// Schemas that may apply to each part of a value, such as those of items.
    repeated: u64,
    /// Recursive references, which apply the same schema at every depth of a value.
    recursive: u64,
    /// The longest chain of schemas that apply to the same value.
    chain: usize,
    /// True if any schema has alternatives.
    alternatives: bool,
}

/// How many failures of a value to search for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Search {
    /// All of them.
    All,
    /// The first one.
    First,
    /// None: the search could take minutes.
    Nothing,
}

impl ValidationCost {
    /// Measures a schema and rejects it if it exceeds the limits.
    pub(super) fn check(limits: &Limits, schema: &Value) -> Result<Self, SchemaError> {
        let mut values = 0;
        if !measure(schema, MAX_NESTING, limits.values, &mut values) {
            return Err(SchemaError::TooComplex(if values > limits.values {
                limits.too_many_values
            } else {
                "it nests more than 128 levels deep"
            }));
        }
        follow(limits, schema)
    }

    /// Returns whether checking a value of this size may take longer than a few milliseconds.
    pub(super) fn is_costly(&self, bytes: usize) -> bool {
        // A part takes at least two bytes.
        self.repeated.saturating_mul(bytes as u64 / 2) > MAX_CHEAP_CHECKS
    }

    /// Rejects a value whose validation would overflow the stack or take minutes.
    pub(super) fn check_value(&self, value: &Value) -> Result<(), Invalid> {
        if self.recursive > 0 && depth_within(value, MAX_STACK / self.chain.max(1)).is_none() {
            return Err(Invalid::one("the value nests deeper than its recursive schema can be checked"));
        }
        let most = (MAX_CHECKS / self.repeated.max(1)) as usize;
        // With fewer, no value that fits into a message is that large.
        if self.repeated > 100 && !measure(value, usize::MAX, most, &mut 0) {
            return Err(Invalid::one("the value is too large for the many checks of its schema"));
        }
        Ok(())
    }

    /// How many failures of a value to search for. Its validity is always determined, because that
    /// result is cached for every schema and part of the value, but failures are collected again on
    /// every path that leads to them.
    pub(super) fn search(&self, value: &Value) -> Search {
        let mut steps = 0;
        let small = measure(value, usize::MAX, MAX_SEARCH as usize - 1, &mut steps);
        let ways = match depth_within(value, MAX_STACK) {
            _ if self.recursive < 2 => 1,
            Some(depth) => self.recursive.saturating_pow(depth as u32),
            None => u64::MAX,
        };
        if small && ways.saturating_mul(steps as u64) <= MAX_SEARCH {
            Search::All
        } else if self.alternatives {
            Search::Nothing
        } else {
            Search::First
        }
    }
}

/// The work caused by applying one schema to one value.
#[derive(Debug, Clone, Copy)]
struct AppliedWork {
    /// Schemas applied to the value and its parts.
    count: u64,
    /// Schemas that may apply to more than one part.
    repeated: u64,
    /// The longest chain of schemas that apply to the value itself.
    chain: usize,
}

impl AppliedWork {
    const ONE: Self = Self { count: 1, repeated: 0, chain: 1 };

    fn add(&mut self, inner: AppliedWork, scope: Scope) {
        self.count = self.count.saturating_add(inner.count);
        let repeated = if scope == Scope::Parts { inner.count } else { inner.repeated };
        self.repeated = self.repeated.saturating_add(repeated);
        if scope == Scope::Same {
            self.chain = self.chain.max(1 + inner.chain);
        }
    }
}

/// Follows a schema into its subschemas and what they refer to.
struct SchemaWalk<'a> {
    limits: &'a Limits,
    cost: ValidationCost,
    /// Number of references whose target is only known during validation.
    dynamic: usize,
    /// By address: a schema in the document counts once, however many references lead to it. `None`
    /// while it is being followed.
    seen: HashMap<*const Value, Option<AppliedWork>>,
}

/// The direct subschemas of a schema, each with the resolver of its references.
type InnerSchemas<'s, R> = Result<Vec<(Scope, &'s Value, R)>, SchemaError>;

fn follow(limits: &Limits, schema: &Value) -> Result<ValidationCost, SchemaError> {
    let draft = dialect(schema)?;
    let mut walk = SchemaWalk { limits, cost: ValidationCost::default(), dynamic: 0, seen: HashMap::new() };
    // A schema that cannot be registered cannot be compiled either, and compiling reports the
    // reason.
    let Ok(builder) = Registry::new().draft(draft).retriever(NeverFetch).add(ROOT_URI, schema) else {
        return Ok(walk.cost);
    };
    let Ok(registry) = builder.prepare() else { return Ok(walk.cost) };
    let Ok(root) = jsonschema::uri::from_str(ROOT_URI) else { return Ok(walk.cost) };

    walk.reach(schema, registry.resolver(root), MAX_CHAIN, &|walk, schema, resolver| {
        let resolver = resolver.in_subresource(draft.create_resource_ref(schema)).unwrap_or(resolver);
        let mut inner = Vec::new();
        for found in subschemas(schema) {
            walk.cost.alternatives |= matches!(found.keyword, "anyOf" | "oneOf");
            if found.scope != Scope::Definition {
                inner.push((found.scope, found.schema, resolver.clone()));
            }
        }
        for reference in walk.references(schema)? {
            // An unresolvable reference fails to compile with an error that names it.
            if let Ok(target) = resolver.lookup(reference) {
                let (target, resolver, _) = target.into_inner();
                inner.push((Scope::Same, target, resolver));
            }
        }
        Ok(inner)
    })?;
    Ok(walk.cost)
}

impl SchemaWalk<'_> {
    /// The references of a schema.
    fn references<'s>(&mut self, schema: &'s Value) -> Result<Vec<&'s str>, SchemaError> {
        let reference = |keyword| schema.get(keyword).and_then(Value::as_str);
        let dynamic: Vec<_> = ["$dynamicRef", "$recursiveRef"].into_iter().filter_map(reference).collect();
        self.cost.recursive += dynamic.len() as u64;
        self.dynamic += dynamic.len();
        if self.dynamic > MAX_DYNAMIC {
            return Err(SchemaError::TooComplex("it has more than 16 dynamic references"));
        }
        Ok(reference("$ref").into_iter().chain(dynamic).collect())
    }

    /// Follows a schema, which may nest up to `levels` deep. `inner` returns its direct subschemas.
    fn reach<'s, R>(
        &mut self,
        schema: &'s Value,
        resolver: R,
        levels: usize,
        inner: &impl Fn(&mut Self, &'s Value, R) -> InnerSchemas<'s, R>,
    ) -> Result<AppliedWork, SchemaError> {
        let Some(levels) = levels.checked_sub(1) else {
            return Err(SchemaError::TooComplex("its subschemas nest more than 128 levels deep"));
        };
        dialect(schema)?;
        let schemas = inner(self, schema, resolver)?;
        self.seen.insert(std::ptr::from_ref(schema), None);
        let mut reach = AppliedWork::ONE;
        for (scope, schema, resolver) in schemas.into_iter().rev() {
            let work = match self.seen.get(&std::ptr::from_ref(schema)).copied() {
                Some(Some(known)) => known,
                // A cycle: the validator caches what it has checked there, so it costs one step.
                Some(None) => {
                    self.cost.recursive += 1;
                    AppliedWork::ONE
                }
                None => self.reach(schema, resolver, levels, inner)?,
            };
            reach.add(work, scope);
        }
        if reach.count > self.limits.reached {
            return Err(SchemaError::TooComplex(self.limits.too_many_reached));
        }
        self.cost.chain = self.cost.chain.max(reach.chain);
        // The last one is the whole schema. If it refers to itself, it may apply to every part.
        self.cost.repeated = if self.cost.recursive > 0 { reach.count } else { reach.repeated };
        self.seen.insert(std::ptr::from_ref(schema), Some(reach));
        Ok(reach)
    }
}

const ROOT_URI: &str = "json-schema:///";

/// Refuses to fetch references.
pub(super) struct NeverFetch;

impl Retrieve for NeverFetch {
    fn retrieve(&self, _: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err("references are never fetched".into())
    }
}

fn dialect(schema: &Value) -> Result<Draft, SchemaError> {
    match schema.get("$schema").and_then(Value::as_str) {
        Some(name) => match Draft::from_schema_uri(name) {
            Draft::Unknown => Err(SchemaError::UnknownDialect(name.to_owned())),
            draft => Ok(draft),
        },
        None => Ok(Draft::default()),
    }
}

/// Counts the JSON values, and returns whether number and nesting are within the limits.
fn measure(value: &Value, nesting: usize, most: usize, values: &mut usize) -> bool {
    *values += 1;
    nesting > 0 && *values <= most && parts(value).all(|part| measure(part, nesting - 1, most, values))
}

/// The elements of an array or the values of an object; other values have no parts.
pub(super) fn parts(value: &Value) -> impl Iterator<Item = &Value> {
    let fields = value.as_object().into_iter().flat_map(|fields| fields.values());
    value.as_array().into_iter().flatten().chain(fields)
}

/// Returns whether the schema has patterns or many values.
pub(super) fn is_costly_to_compile(schema: &Value) -> bool {
    fn has_patterns(part: &Value) -> bool {
        ["pattern", "patternProperties"].iter().any(|keyword| part.get(keyword).is_some())
            || parts(part).any(has_patterns)
    }
    !measure(schema, MAX_NESTING, MAX_CHEAP_VALUES, &mut 0) || has_patterns(schema)
}

/// The nesting of a value, if it is at most `limit`.
fn depth_within(value: &Value, limit: usize) -> Option<usize> {
    if !value.is_array() && !value.is_object() {
        return Some(0);
    }
    let limit = limit.checked_sub(1)?;
    parts(value).try_fold(1, |depth, part| Some(depth.max(1 + depth_within(part, limit)?)))
}

#[cfg(test)]
mod tests {
    use super::super::{Schema, SchemaAuthor};
    use super::*;
    use crate::tests::processor_time::ProcessorTime;
    use serde_json::json;
    use std::time::Duration;

    fn too_complex(schema: &Value) -> String {
        match Schema::compile(schema) {
            Err(error @ SchemaError::TooComplex(_)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    fn nested(levels: usize, innermost: Value, wrap: impl Fn(Value) -> Value) -> Value {
        (0..levels).fold(innermost, |inner, _| wrap(inner))
    }

    /// Uses the stack size of a worker thread, so that a test crashes where a server would.
    fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
        std::thread::Builder::new().stack_size(2 << 20).spawn(test).unwrap().join().unwrap();
    }

    #[test]
    fn sch_10_references_that_multiply_are_refused() {
        let mut definitions: serde_json::Map<_, _> = (0..40)
            .map(|n| (format!("d{n}"), json!({"allOf": [{"$ref": format!("#/$defs/d{}", n + 1)}, {"$ref": format!("#/$defs/d{}", n + 1)}]})))
            .collect();
        definitions.insert("d40".to_owned(), json!({"type": "integer"}));
        let schema = json!({"$defs": definitions, "type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}});
        assert!(too_complex(&schema).contains("multiply"));
    }

    #[test]
    fn sch_10_deep_and_long_schemas_are_refused() {
        let deep = nested(130, json!({}), |inner| json!({"not": inner}));
        assert!(too_complex(&deep).contains("levels deep"));
        let chained: serde_json::Map<_, _> =
            (0..5_000).map(|n| (format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)}))).collect();
        assert!(too_complex(&json!({"$defs": chained, "$ref": "#/$defs/d0"})).contains("levels deep"));
        assert!(too_complex(&json!({"enum": vec![0; MAX_VALUES]})).contains("200,000"));
        let dynamic = json!({"$dynamicAnchor": "a", "anyOf": vec![json!({"$dynamicRef": "#a"}); 17]});
        assert!(too_complex(&dynamic).contains("dynamic"));
    }

    #[test]
    fn sch_10_schemas_that_refer_to_themselves_end() {
        on_a_small_stack(|| {
            for schema in [
                json!({"$ref": "#"}),
                json!({"allOf": [{"$ref": "#"}, {"anyOf": [{"$ref": "#"}]}]}),
                json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
                json!({"not": {"$ref": "#"}}),
            ] {
                let _ = Schema::compile(&schema).unwrap().validate(&json!({"x": [1, {}]}));
            }
        });
    }

    #[test]
    fn sch_10_values_of_recursive_schemas_fit_the_stack_or_are_refused() {
        on_a_small_stack(|| {
            let list = json!({"properties": {"next": {"$ref": "#"}, "end": {"type": "integer"}}});
            let schema = Schema::compile(&list).unwrap();
            assert_eq!(schema.validate(&nested(127, json!({"end": 1}), |inner| json!({"next": inner}))), Ok(()));
            let error = schema.validate(&nested(127, json!({"end": "x"}), |inner| json!({"next": inner}))).unwrap_err();
            assert!(error.failures()[0].path.ends_with("/next/end"), "{error}");

            let full = nested(3, json!({"properties": {"next": {"$ref": "#"}}}), |inner| json!({"anyOf": [inner]}));
            let schema = Schema::compile(&full).unwrap();
            assert_eq!(schema.validate(&nested(127, json!(1), |inner| json!({"next": inner}))), Ok(()));
            let not = nested(127, json!({"type": "integer"}), |inner| json!({"properties": {"next": {"not": inner}}}));
            assert!(too_complex(&not).contains("levels deep"));

            let thick = nested(60, json!({"properties": {"next": {"$ref": "#"}}}), |inner| json!({"anyOf": [inner]}));
            let schema = Schema::compile(&thick).unwrap();
            assert_eq!(schema.validate(&nested(5, json!(1), |inner| json!({"next": inner}))), Ok(()));
            let error = schema.validate(&nested(127, json!(1), |inner| json!({"next": inner}))).unwrap_err();
            assert!(error.to_string().contains("nests deeper"), "{error}");
        });
    }

    #[test]
    fn sch_10_large_patterns_and_many_of_them_are_refused() {
        let large = (1..2_000).map(|n| (format!("p{n}"), json!({"pattern": format!("^\\p{{L}}{{{n}}}$")})));
        let large = large.collect::<serde_json::Map<_, _>>();
        assert!(too_complex(&json!({"properties": large})).contains("its patterns are too large"));
        let named = (0..4).map(|n| (format!("a{{{n}}}[bc]{{15000}}"), json!({}))).collect::<serde_json::Map<_, _>>();
        assert!(too_complex(&json!({"patternProperties": named})).contains("its patterns are too large"));
        let form = json!({"properties": {"x": {"pattern": "^[a-z]{2500}$"}}});
        assert!(Schema::compile_promptly(SchemaAuthor::Own, &form).is_err());
        assert!(Schema::compile(&form).is_ok());
    }

    #[test]
    fn sch_10_checks_of_each_part_of_a_large_value_are_costly_or_refused() {
        let many: Vec<_> = (0..2_000).map(|n| json!({"minimum": -n})).collect();
        let schema = Schema::compile(&json!({"items": {"allOf": many}})).unwrap();
        assert!(schema.is_costly(10_000) && !schema.is_costly(1_000));
        assert_eq!(schema.validate(&json!([0, 1])), Ok(()));
        let started = ProcessorTime::start();
        let error = schema.validate(&json!(vec![0; 2_000_000])).unwrap_err().to_string();
        assert!(error.contains("too large"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
        // Each member has one value.
        let wide: serde_json::Map<_, _> = (0..1_000).map(|n| (format!("m{n}"), json!({"type": "integer"}))).collect();
        assert!(!Schema::compile(&json!({"properties": wide})).unwrap().is_costly(1 << 20));
        let recursive = json!({"properties": {"next": {"$ref": "#"}, "a": {"items": {"type": "integer"}}}});
        let recursive = Schema::compile(&recursive).unwrap();
        assert!(recursive.is_costly(16 << 20) && !recursive.is_costly(1 << 20));
    }

    #[test]
    fn sch_10_a_pattern_that_backtracks_without_end_is_aborted() {
        // The look-behind makes it unsupported by the linear-time engine.
        let schema = Schema::compile(&json!({"items": {"pattern": "^(?:(a+)+)+(?<!a)b$"}})).unwrap();
        let started = ProcessorTime::start();
        assert!(schema.validate(&json!(vec!["a".repeat(40); 10])).is_err());
        assert!(schema.validate(&json!(["a".repeat(100_000)])).is_err());
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }

    #[test]
    fn sch_10_patterns_that_backtrack_in_every_item_are_bounded_together() {
        // An item that does not match is valid here, so all of them are checked.
        let evil = json!({"not": {"pattern": "^(?:(a+)+)+(?<!a)b$"}});
        let many = json!(vec!["a".repeat(40); 50_000]);
        let one = json!("a".repeat(40));
        let started = ProcessorTime::start();
        let error = Schema::compile(&json!({"items": evil})).unwrap().validate(&many).unwrap_err();
        assert!(error.to_string().contains("too long to match"), "{error}");
        assert_eq!(Schema::compile(&json!({"allOf": vec![evil; 2_000]})).unwrap().validate(&one), Ok(()));
        let named: serde_json::Map<_, _> = (0..5_000).map(|n| (format!("{}{n}", "a".repeat(40)), json!(n))).collect();
        let names = Schema::compile(&json!({"patternProperties": {"^(?:(a+)+)+(?<!a)b$": false}})).unwrap();
        assert_eq!(names.validate(&named.into()), Ok(()));
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    }

    #[test]
    fn patterns_that_look_around_match_in_arrays_too() {
        let schema = Schema::compile(&json!({"items": {"pattern": "^(?=.*[0-9])(?=.*[a-z])[a-z0-9]{8,40}$"}})).unwrap();
        let mut items = vec![json!("abcdefghijklmnopqrstuvwxyz0123456789"); 10_000];
        assert_eq!(schema.validate(&items.clone().into()), Ok(()));
        items.push(json!("abcdefghijklmnopqrstuvwxyz"));
        let error = schema.validate(&items.into()).unwrap_err().to_string();
        assert!(error.starts_with("/10000: ") && error.contains("does not match"), "{error}");
    }

    #[test]
    fn sch_10_ambiguous_recursion_is_decided_and_explained_in_time() {
        let branch = json!({"properties": {"x": {"$ref": "#/$defs/n"}}, "required": ["z"]});
        let schema = json!({"$defs": {"n": {"anyOf": [branch, branch, branch]}}, "$ref": "#/$defs/n"});
        let schema = Schema::compile(&schema).unwrap();
        let started = ProcessorTime::start();
        for innermost in [json!({}), json!({"z": 1})] {
            assert!(schema.validate(&nested(100, innermost, |inner| json!({"x": inner}))).is_err());
        }
        assert_eq!(schema.validate(&nested(100, json!({"z": 1}), |inner| json!({"x": inner, "z": 1}))), Ok(()));
        let last = nested(100, json!({"x": 1, "z": 1}), |inner| json!({"x": inner, "z": 1}));
        assert_eq!(schema.validate(&last), Ok(()));
        assert!(schema.validate(&nested(3, json!({}), |inner| json!({"x": inner}))).is_err());
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }
}
