//! Classes of properties: the facts about a call and about a connection.

use std::fmt::Write as _;

use super::{docstring, given, has_class};
use crate::generate::surface::{Field, Presence, Record, Surface, Type};

/// The facts of which those that the server did not give are empty objects.
const CONNECTION: &str = "ConnectionDescription";

pub(super) fn render(surface: &Surface) -> String {
    let mut text =
        String::from("from collections.abc import Mapping\nfrom typing import Any\n\nfrom .models import Identity\n");
    text += &surface.facts.iter().map(class).collect::<String>();
    text
}

fn class(facts: &Record) -> String {
    let mut text = format!(
        "\n\nclass {}:\n{}\n    __slots__ = ()\n\n    def _fact(self, name: str) -> Any:\n        raise \
         NotImplementedError\n",
        facts.name,
        docstring("    ", &facts.doc)
    );
    for field in &facts.fields {
        let (ty, value) = read(field, facts.name == CONNECTION);
        let _ = write!(
            text,
            "\n    @property\n    def {}(self) -> {ty}:\n{}        {value}\n",
            field.name,
            docstring("        ", &field.doc)
        );
    }
    text
}

/// The type of a fact, and the statements that give it.
fn read(field: &Field, of_connection: bool) -> (String, String) {
    let fact = format!("self._fact(\"{}\")", field.json);
    let optional = if field.presence == Presence::Optional { " | None" } else { "" };
    match &field.ty {
        Type::Json => ("Any".into(), format!("return {fact}")),
        Type::Boolean => ("bool".into(), format!("return bool({fact})")),
        Type::Object => ("Mapping[str, Any]".into(), format!("return {fact} or {{}}")),
        Type::Model(name) if has_class(name) => {
            (format!("{name}{optional}"), format!("found = {fact}\n        return found and {name}.from_json(found)"))
        }
        Type::Model(_) if of_connection => ("Mapping[str, Any]".into(), format!("return {fact} or {{}}")),
        Type::Model(_) => (format!("Mapping[str, Any]{optional}"), format!("return {fact}")),
        other => (format!("{}{optional}", given(other)), format!("return {fact}")),
    }
}
