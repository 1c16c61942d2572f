//! Explains in one sentence why a value does not match its schema.

use super::SchemaError;
use super::bounds::{Search, ValidationCost};
use super::validation_failure::{Invalid, SchemaFailure, brief};
use indexmap::IndexSet;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ReferencingError, ValidationError};
use serde_json::Value;
use std::collections::BTreeSet;

/// Maximum number of reported failures: enough to correct a call, few enough to read.
const MAX_FAILURES: usize = 3;
/// Maximum number of characters per failure.
const MAX_TEXT: usize = 300;
/// Maximum number of listed names or types.
const MAX_LISTED: usize = 8;
/// Maximum number of forms of a union that are explained.
const MAX_FORMS: usize = MAX_LISTED + 1;
/// Maximum number of characters of a pattern; longer ones do not help a reader.
const MAX_PATTERN: usize = 60;

/// The location and description of an error. `schema` is the whole schema, if it has patterns.
fn failure_of(error: &ValidationError<'_>, schema: Option<&Value>) -> SchemaFailure {
    let error = innermost(error);
    let forms = forms_of(error, schema).map_or(String::new(), |forms| format!(": {forms}"));
    let text = shortened(describe(error, schema) + &forms, MAX_TEXT);
    SchemaFailure { path: error.instance_path().to_string(), text }
}

impl SchemaError {
    pub(super) fn from_build(error: ValidationError<'_>) -> Self {
        match error.kind() {
            Kind::Referencing(cause) => match cause {
                ReferencingError::UnknownSpecification { specification } => Self::UnknownDialect(specification.clone()),
                ReferencingError::Unretrievable { uri, .. } => Self::UnresolvedReference(uri.clone()),
                ReferencingError::PointerToNowhere { pointer } => Self::UnresolvedReference(format!("#{pointer}")),
                ReferencingError::NoSuchAnchor { anchor } => Self::UnresolvedReference(format!("#{anchor}")),
                other => Self::Invalid(SchemaFailure { path: String::new(), text: other.to_string() }),
            },
            _ => Self::Invalid(failure_of(&error, None)),
        }
    }
}

/// Finds the first failures of an invalid value.
pub(super) fn explain(
    validator: &jsonschema::Validator,
    schema: Option<&Value>,
    bounds: &ValidationCost,
    value: &Value,
) -> Invalid {
    let failure = |error: &ValidationError<'_>| failure_of(error, schema);
    let mut failures: Vec<_> = match bounds.search(value) {
        Search::All => validator.iter_errors(value).take(MAX_FAILURES + 1).map(|error| failure(&error)).collect(),
        Search::First => validator.validate(value).err().iter().map(failure).collect(),
        Search::Nothing => Vec::new(),
    };
    if failures.is_empty() {
        return Invalid::one("the value does not match its schema, and is too large to say where");
    }
    let more = failures.len() > MAX_FAILURES;
    failures.truncate(MAX_FAILURES);
    Invalid { failures, more }
}

/// The error to report. For a union, it comes from the branch that was probably intended or that
/// matched most of the value.
fn innermost<'a>(error: &'a ValidationError<'a>) -> &'a ValidationError<'a> {
    let (Kind::AnyOf { context } | Kind::OneOfNotValid { context }) = error.kind() else { return error };
    let depth = |error: &ValidationError<'_>| error.instance_path().segments().count();
    let here = depth(error);
    let is_member = |error: &&ValidationError<'static>| depth(error) == here + 1;
    let rank = |branch: &Vec<ValidationError<'static>>| Rank {
        // A wrong constant, and to a lesser degree a wrong choice, indicates that another branch
        // was intended.
        constants: !branch.iter().filter(is_member).any(|error| matches!(error.kind(), Kind::Constant { .. })),
        choices: !branch.iter().filter(is_member).any(|error| matches!(error.kind(), Kind::Enum { .. })),
        depth: branch.iter().map(depth).max().unwrap_or(0),
    };
    let ranked = || context.iter().map(|branch| (rank(branch), branch));
    // A value that is not `null` was meant for the only other branch.
    let is_null = |error: &ValidationError<'_>| {
        depth(error) == here && matches!(error.kind(), Kind::Type { kind: TypeKind::Single(JsonType::Null) })
    };
    let mut others = context.iter().filter(|branch| !matches!(branch.as_slice(), [only] if is_null(only)));
    if context.len() == 2
        && let (Some(other), None) = (others.next(), others.next())
        && types_of(error, context).is_none()
        && let Some(inner) = other.iter().rev().max_by_key(|error| depth(error))
    {
        return innermost(inner);
    }
    // Ties go to the first.
    let Some((best, meant)) = ranked().rev().max_by_key(|(rank, _)| *rank) else { return error };
    let is_meant = ranked()
        .any(|(other, _)| (best.constants && !other.constants) || (best.constants && best.choices && !other.choices));
    let first = meant.iter().rev().max_by_key(|error| depth(error));
    match first {
        Some(inner) if is_meant || (best.constants && best.depth > here) => innermost(inner),
        _ => error,
    }
}

/// How well a value matches a branch of a union.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// The constants among its members match.
    constants: bool,
    /// The choices among its members match.
    choices: bool,
    /// How many levels of the value matched.
    depth: usize,
}

fn describe(error: &ValidationError<'_>, schema: Option<&Value>) -> String {
    let found = brief(error.instance());
    match error.kind() {
        Kind::Required { property } => format!("property {property} is missing"),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names = listed(unexpected.iter().map(|name| Value::from(name.as_str()).to_string()), ", ");
            if unexpected.len() == 1 {
                format!("property {names} is not allowed")
            } else {
                format!("properties {names} are not allowed")
            }
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => match types_of(error, context) {
            Some(types) => format!("{found} is not of type {}", listed(types, " or ")),
            None => format!("{found} matches none of the {} forms that are allowed", context.len()),
        },
        // Our only custom keyword; its message is the pattern.
        Kind::Custom { message: pattern, .. } if schema.is_some() => {
            match schema.and_then(|schema| format_beside(schema, &error.schema_path().to_string())) {
                Some(format) => format!("{found} is not a {format}"),
                None => {
                    let pattern = Value::from(shortened(pattern.clone(), MAX_PATTERN));
                    format!("{found} does not match {pattern}")
                }
            }
        }
        Kind::Enum { options } => format!("{found} is not one of {}", choices(options)),
        Kind::BacktrackLimitExceeded { .. } => {
            format!("the names in {found} take too long to match with the patterns of \"patternProperties\"")
        }
        Kind::FalseSchema => format!("{found} is not allowed here"),
        _ => error.masked_with(found).to_string(),
    }
}

/// The values of an enum, as a sentence lists them.
fn choices(options: &Value) -> String {
    let texts: Vec<_> = options.as_array().into_iter().flatten().map(brief).collect();
    match texts.split_last() {
        Some((last, others)) if !others.is_empty() && texts.len() <= MAX_LISTED => {
            format!("{} or {last}", others.join(", "))
        }
        _ => listed(texts, ", "),
    }
}

/// For a value that matches no form of a union: what each form lacks.
fn forms_of(error: &ValidationError<'_>, schema: Option<&Value>) -> Option<String> {
    let (Kind::AnyOf { context } | Kind::OneOfNotValid { context }) = error.kind() else { return None };
    if types_of(error, context).is_some() {
        return None;
    }
    let (here, found) = (error.instance_path().to_string(), format!("{} ", brief(error.instance())));
    let reason = |branch: &Vec<ValidationError<'static>>| {
        let constant = branch.iter().find(|error| matches!(error.kind(), Kind::Constant { .. }));
        let deepest = || branch.iter().rev().max_by_key(|error| error.instance_path().segments().count());
        let error = innermost(constant.or_else(deepest)?);
        let (path, text) = (error.instance_path().to_string(), describe(error, schema));
        Some(match path.strip_prefix(&*here).unwrap_or(&path) {
            "" => text.strip_prefix(&*found).map_or_else(|| text.clone(), |rest| format!("it {rest}")),
            member => format!("{member}: {text}"),
        })
    };
    let mut reasons = IndexSet::new();
    reasons.extend(context.iter().take(MAX_FORMS).filter_map(reason));
    (!reasons.is_empty()).then(|| listed(reasons, "; "))
}

/// The format next to the keyword at a location in a schema.
fn format_beside<'a>(root: &'a Value, pointer: &str) -> Option<&'a str> {
    let (parent, _) = pointer.rsplit_once('/')?;
    let mut schema = root;
    for step in parent.split('/').skip(1) {
        schema = match (step, schema.get("$ref").and_then(Value::as_str)) {
            ("$ref", Some(reference)) => root.pointer(reference.strip_prefix('#')?)?,
            _ => schema.pointer(&format!("/{step}"))?,
        };
    }
    schema.get("format")?.as_str()
}

/// The types that the branches of a union require, if each of them only failed with a wrong type.
fn types_of(error: &ValidationError<'_>, branches: &[Vec<ValidationError<'static>>]) -> Option<BTreeSet<String>> {
    let mut types = BTreeSet::new();
    for branch in branches {
        let [only] = branch.as_slice() else { return None };
        let Kind::Type { kind } = only.kind() else { return None };
        if only.instance_path() != error.instance_path() {
            return None;
        }
        match kind {
            TypeKind::Single(one) => drop(types.insert(format!("\"{one}\""))),
            TypeKind::Multiple(many) => types.extend(many.iter().map(|one| format!("\"{one}\""))),
        }
    }
    (!types.is_empty()).then_some(types)
}

fn listed(items: impl IntoIterator<Item = String>, separator: &str) -> String {
    let mut items: Vec<_> = items.into_iter().take(MAX_LISTED + 1).collect();
    let more = if items.len() > MAX_LISTED { " and more" } else { "" };
    items.truncate(MAX_LISTED);
    items.join(separator) + more
}

fn shortened(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push('…');
    }
    text
}
