//! Generates the tables of the documentation from the surface: the options page, and parts of the
//! bridge page and of the page about errors. The templates next to this file contain their text.

use anyhow::{Context, Result};
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde_json::Value as Json;

use super::surface::{Field, Type, Unit};
use super::{File, MARK, c, templates, typescript};
use crate::workspace::Workspace;

/// The pages with generated parts, which have a template each.
const PAGES: [(&str, &[&str]); 2] = [
    ("docs/bridge.md", &["facts", "shapes", "events", "messages", "replies"]),
    ("docs/errors.md", &["kinds", "codes"]),
];

pub(crate) fn render(workspace: &Workspace, printed: &Value) -> Result<Vec<File>> {
    let mut environment = templates::environment(&workspace.path("xtask/src/generate/docs"))?;
    environment.add_filter("typed", |Serde(field): Serde<Field>| typed(&field));
    environment.add_filter("user_name", |Serde(field): Serde<Field>| typescript::user_name(&field).to_owned());
    environment.add_filter("in_c", |Serde(field): Serde<Field>, record: String| c::option(&record, &field));
    environment.add_filter("result_name", |kind: String| c::result_name(&kind));
    let context = context! { mark => MARK, ..printed.clone() };
    let mut files = templates::render(&environment, "docs", &context)?;
    for (page, parts) in PAGES {
        let filled = parts.iter().try_fold(workspace.text(page)?, |text, part| {
            with_part(&text, part, &environment.get_template(&format!("{part}.j2"))?.render(&context)?)
        });
        files.push((page.to_owned(), filled.context(page)?));
    }
    Ok(files)
}

/// Replaces the text between the markers of a part of a page.
pub(super) fn with_part(page: &str, part: &str, text: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- generated: {part} -->\n"), format!("<!-- end of generated: {part} -->"));
    let start = page.find(&begin).with_context(|| format!("the page has no line {begin:?}"))? + begin.len();
    let length = page[start..].find(&end).with_context(|| format!("the page has no line {end:?}"))?;
    Ok(format!("{}\n{text}\n{}", &page[..start], &page[start + length..]))
}

fn typed(field: &Field) -> String {
    match field.unit {
        Some(Unit::Ms) => "time".to_owned(),
        Some(Unit::Bytes) => "bytes".to_owned(),
        None => named(&field.ty),
    }
}

fn named(ty: &Type) -> String {
    match ty {
        Type::String => "string".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::Integer => "integer".to_owned(),
        Type::Number => "number".to_owned(),
        Type::Json => "JSON".to_owned(),
        Type::Object => "object".to_owned(),
        Type::Duration => "time".to_owned(),
        Type::OrFalse(inner) => format!("{} or `false`", named(inner)),
        Type::OneOrList(inner) => format!("{} or a list", named(inner)),
        Type::List(inner) => format!("list of {}", named(inner)),
        Type::Map(inner) => format!("object of {}", named(inner)),
        Type::Model(name) => name.clone(),
        Type::Values(values) => values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", "),
    }
}

/// A default in human-readable form: times and sizes have a unit.
pub(super) fn default(field: &Field) -> String {
    match (&field.default, field.unit) {
        (None | Some(Json::Null), _) => String::new(),
        (Some(value), Some(unit)) => value.as_u64().map(|number| in_unit(number, unit)).unwrap_or_default(),
        (Some(value), None) => format!("`{value}`"),
    }
}

pub(super) fn in_unit(number: u64, unit: Unit) -> String {
    let units: &[(u64, &str)] = match unit {
        Unit::Ms => &[(3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms")],
        Unit::Bytes => &[(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes")],
    };
    match units.iter().find(|(size, _)| number >= *size && number.is_multiple_of(*size)) {
        Some((size, name)) => format!("{} {name}", number / size),
        None => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_have_the_largest_unit_that_fits() {
        assert_eq!(in_unit(1_800_000, Unit::Ms), "30 min");
        assert_eq!(in_unit(500, Unit::Ms), "500 ms");
        assert_eq!(in_unit(64 << 20, Unit::Bytes), "64 MiB");
        assert_eq!(in_unit(0, Unit::Ms), "0");
    }

    #[test]
    fn only_the_text_between_the_marks_changes() {
        let page = "a\n<!-- generated: x -->\nold\n<!-- end of generated: x -->\nb\n";
        let made = with_part(page, "x", "new\n").unwrap();
        assert_eq!(made, "a\n<!-- generated: x -->\n\nnew\n\n<!-- end of generated: x -->\nb\n");
        assert_eq!(with_part(&made, "x", "new\n").unwrap(), made);
        assert!(with_part(page, "y", "").is_err());
    }
}
