//! Generates the tables of the documentation from the surface: the options page, and parts of the
//! bridge page.

use anyhow::{Context, Result};
use serde_json::Value;

use super::surface::{Field, Model, Presence, Shape, Surface, Type, Unit};
use super::text::{WIDTH, wrapped};
use super::{File, MARK, typescript};
use crate::workspace::Workspace;

const BRIDGE: &str = "docs/bridge.md";
const ERRORS: &str = "docs/errors.md";

pub(crate) fn render(workspace: &Workspace, surface: &Surface) -> Result<Vec<File>> {
    let text = |page: &str| std::fs::read_to_string(workspace.path(page)).with_context(|| page.to_owned());
    let errors = with_part(&text(ERRORS)?, "kinds", &kinds(surface)).context(ERRORS)?;
    let errors = with_part(&errors, "codes", &codes(surface)).context(ERRORS)?;
    let page = text(BRIDGE)?;
    let page = with_part(&page, "facts", &facts(surface))?;
    let page = with_part(&page, "shapes", &shapes(surface))?;
    let page = with_part(&page, "events", &events(surface))?;
    let page = with_part(&page, "messages", &messages(surface, |direction| !["toHost", "reply"].contains(&direction)))?;
    let page = with_part(&page, "replies", &messages(surface, |direction| direction == "reply"))?;
    Ok(vec![("docs/options.md".to_owned(), options(surface)), (ERRORS.to_owned(), errors), (BRIDGE.to_owned(), page)])
}

/// Replaces the text between the markers of a part of a page.
pub(super) fn with_part(page: &str, part: &str, text: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- generated: {part} -->\n"), format!("<!-- end of generated: {part} -->"));
    let start = page.find(&begin).with_context(|| format!("the page has no line {begin:?}"))? + begin.len();
    let length = page[start..].find(&end).with_context(|| format!("the page has no line {end:?}"))?;
    Ok(format!("{}\n{text}\n{}", &page[..start], &page[start + length..]))
}

fn options(surface: &Surface) -> String {
    let mut page = format!(
        "<!-- {MARK} -->\n\n# Options\n\n\
         One table per object of options. Rust, Python and Ruby spell an option in snake case, JSON,\n\
         Node, Kotlin, Java and Swift in camel case, Go with a capital letter and initialisms. A time is\n\
         a `Duration` in Rust, Go, Kotlin, Java and Swift, seconds in Python and Ruby, milliseconds in\n\
         Node, and in JSON and C milliseconds with `Ms` at the end of its name. In C an option is a\n\
         function behind `trunkline_` and the object's name, such as\n\
         `trunkline_server_options_set_debug`, or a limit for `trunkline_server_options_set_limit`;\n\
         without either it is an argument of a function, or a member of its JSON. In Kotlin and Java,\n\
         `cacheScope` is `scope`. Python, Node, Kotlin and Java have no `listen`: a callback such as\n\
         `onToolsChanged` takes its place. The defaults are those of the core and the same in every\n\
         language.\n"
    );
    for record in &surface.options {
        page += &format!("\n## {}\n\n{}\n\n", record.name, wrapped(&record.doc, WIDTH).join("\n"));
        if let Some(names) = &record.in_rust {
            page += &format!("In Rust these are members of {names}.\n\n");
        }
        page += &format!(
            "| Rust, Python, Ruby | JSON | Node, Kotlin, Java, Swift | C | type | default | meaning |\n{}|\n",
            "| --- ".repeat(7)
        );
        for field in &record.fields {
            page += &format!(
                "| `{}` | `{}` | `{}` | {} | {} | {} | {} |\n",
                field.name,
                field.json,
                typescript::user_name(field),
                super::c::option(&record.name, field).map_or_else(String::new, |function| format!("`{function}`")),
                typed(field),
                default(field),
                cell(&field.doc)
            );
        }
    }
    page
}

fn kinds(surface: &Surface) -> String {
    let mut table = format!("| kind | Rust | Python, Node.js | C | meaning | what to do |\n{}|\n", "| --- ".repeat(6));
    for error in &surface.errors {
        let rust = error.rust.as_ref().map_or("none".to_owned(), |name| format!("`ErrorKind::{name}`"));
        let class = if error.public { format!("`{}`", error.class) } else { "none".to_owned() };
        let c = format!("`{}` ({})", super::c::result_name(&error.kind), error.c_code);
        let (doc, remedy) = (cell(&error.doc), cell(&error.remedy));
        table += &format!("| `{}` | {rust} | {class} | {c} | {doc} | {remedy} |\n", error.kind);
    }
    table
}

/// The JSON-RPC codes.
fn codes(surface: &Surface) -> String {
    let mut table = "| code | Rust | meaning | what to do |\n| --- | --- | --- | --- |\n".to_owned();
    for code in &surface.error_codes {
        let doc = cell(&code.doc).replace("[`", "`").replace("`]", "`");
        table += &format!("| {} | `code::{}` | {doc} | {} |\n", code.number, code.name, cell(&code.remedy));
    }
    table
}

/// The members of errors' `data`.
fn facts(surface: &Surface) -> String {
    let mut table = "| member | type | meaning |\n| --- | --- | --- |\n".to_owned();
    for field in surface.errors.iter().filter(|error| error.kind == "transport").flat_map(|error| &error.facts) {
        table += &format!("| `{}` | {} | {} |\n", field.json, typed(field), cell(&field.doc));
    }
    table
}

fn events(surface: &Surface) -> String {
    let mut table = "| event | fields | meaning |\n| --- | --- | --- |\n".to_owned();
    for event in surface.messages.iter().filter(|message| message.direction.as_deref() == Some("toHost")) {
        let fields: Vec<_> = event.fields.iter().map(|field| format!("`{}`", field.json)).collect();
        table += &format!("| `{}` | {} | {} |\n", event.name, fields.join(", "), cell(&event.doc));
    }
    table
}

fn shapes(surface: &Surface) -> String {
    let mut table = "| shape | number | bytes, and what they become |\n| --- | --- | --- |\n".to_owned();
    for Shape { name, number, doc } in &surface.shapes {
        table += &format!("| `{}` | {number} | {} |\n", name.to_lowercase(), cell(doc));
    }
    table
}

/// A table for each message with one of these directions.
fn messages(surface: &Surface, wanted: impl Fn(&str) -> bool) -> String {
    let (mut text, mut explained) = (String::new(), Vec::new());
    for message in surface.messages.iter().filter(|message| message.direction.as_deref().is_some_and(&wanted)) {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &format!(
            "**{}.** {}\n\n| member | type | presence | meaning |\n| --- | --- | --- | --- |\n",
            message.name, message.doc
        );
        for field in &message.fields {
            let presence = match field.presence {
                Presence::Required => "required",
                _ => "",
            };
            let meaning = cell(&format!("{}{}", field.doc, values(surface, field, &mut explained)));
            text += &format!("| `{}` | {} | {presence} | {meaning} |\n", field.json, typed(field));
        }
    }
    text
}

/// The values of a member with their meanings, where the type is first used.
fn values<'a>(surface: &Surface, field: &'a Field, explained: &mut Vec<&'a str>) -> String {
    let Type::Model(name) = &field.ty else { return String::new() };
    if explained.contains(&name.as_str()) {
        return String::new();
    }
    explained.push(name);
    let found = surface.models.iter().find_map(|model| match model {
        Model::Values(values) if values.name == *name => Some(values),
        _ => None,
    });
    let described = found.into_iter().flat_map(|found| {
        found.values.iter().map(|value| {
            let doc = found.value_docs.get(value).and_then(Value::as_str).unwrap_or_default();
            format!(" `{value}`: {doc}")
        })
    });
    described.collect()
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
        (None | Some(Value::Null), _) => String::new(),
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

/// Formats text for a table cell.
fn cell(text: &str) -> String {
    text.replace("\n\n", " ").replace('|', "\\|")
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
