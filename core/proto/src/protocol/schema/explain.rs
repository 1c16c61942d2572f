//! Saying in one sentence why a value does not match its schema.

use super::bounds::{Search, ValidationCost};
use super::failure::{Invalid, SchemaFailure, brief};
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Failures told at once: enough to correct a call, few enough to read.
const MAX_FAILURES: usize = 3;
/// Characters of one failure.
const MAX_TEXT: usize = 300;

/// The place of an error, and the problem there.
pub(super) fn failure_of(error: &ValidationError<'_>) -> SchemaFailure {
    let error = innermost(error);
    SchemaFailure { path: error.instance_path().to_string(), text: shortened(describe(error)) }
}

/// Finds the first failures of a value that is not valid.
pub(super) fn explain(validator: &jsonschema::Validator, bounds: &ValidationCost, value: &Value) -> Invalid {
    let mut failures: Vec<_> = match bounds.search(value) {
        Search::All => validator.iter_errors(value).take(MAX_FAILURES + 1).map(|error| failure_of(&error)).collect(),
        Search::First => validator.validate(value).err().iter().map(failure_of).collect(),
        Search::Nothing => Vec::new(),
    };
    if failures.is_empty() {
        return Invalid::one("the value does not match its schema, and is too large to say where");
    }
    let more = failures.len() > MAX_FAILURES;
    failures.truncate(MAX_FAILURES);
    Invalid { failures, more }
}

/// The error to tell: of a union, the one in the branch that came furthest into the value.
fn innermost<'a>(error: &'a ValidationError<'a>) -> &'a ValidationError<'a> {
    let (Kind::AnyOf { context } | Kind::OneOfNotValid { context }) = error.kind() else { return error };
    let depth = |error: &ValidationError<'_>| error.instance_path().segments().count();
    // A wrong constant means that another branch was meant.
    let other_branch = |error: &ValidationError<'_>| matches!(error.kind(), Kind::Constant { .. } | Kind::Enum { .. });
    let meant = context
        .iter()
        .filter(|branch| !branch.iter().any(other_branch))
        .filter_map(|branch| branch.iter().max_by_key(|error| depth(error)))
        .max_by_key(|inner| depth(inner));
    match meant {
        Some(inner) if depth(inner) > depth(error) => innermost(inner),
        _ => error,
    }
}

fn describe(error: &ValidationError<'_>) -> String {
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
        Kind::FalseSchema => format!("{found} is not allowed here"),
        _ => error.masked_with(found).to_string(),
    }
}

/// The types that the branches of a union want, if a wrong type is all that each of them found.
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
    let mut text = String::new();
    for (index, item) in items.into_iter().enumerate() {
        match index {
            0 => text.push_str(&item),
            1..8 => drop(write!(text, "{separator}{item}")),
            _ => {
                text.push_str(" and more");
                break;
            }
        }
    }
    text
}

fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_TEXT) {
        text.truncate(end);
        text.push('…');
    }
    text
}
