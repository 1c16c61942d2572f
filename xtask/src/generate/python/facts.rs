//! Classes of properties: the facts about a call, a connection and a token.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{docstring, given, has_class};
use crate::generate::surface::{Field, Presence, Record, Surface, Type};

pub(super) fn render(surface: &Surface) -> String {
    let mut text = String::from("from collections.abc import Mapping\nfrom typing import Any\n\n");
    let fields = surface.facts.iter().flat_map(|facts| &facts.fields);
    let models: BTreeSet<_> = fields.filter_map(model_of).filter(|name| has_class(name)).collect();
    let models: Vec<_> = models.into_iter().collect();
    let _ = writeln!(text, "from .models import {}", models.join(", "));
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
        let (ty, value) = read(field);
        let _ = write!(
            text,
            "\n    @property\n    def {}(self) -> {ty}:\n{}        {value}\n",
            field.name,
            docstring("        ", &field.doc)
        );
    }
    text
}

fn model_of(field: &Field) -> Option<&str> {
    match &field.ty {
        Type::Model(name) => Some(name),
        _ => None,
    }
}

/// The type of a fact, and the statements that give it.
fn read(field: &Field) -> (String, String) {
    let fact = format!("self._fact(\"{}\")", field.json);
    let optional = if field.presence == Presence::Optional { " | None" } else { "" };
    match &field.ty {
        Type::Json => ("Any".into(), format!("return {fact}")),
        Type::Boolean => ("bool".into(), format!("return bool({fact})")),
        Type::Object => ("Mapping[str, Any]".into(), format!("return {fact} or {{}}")),
        Type::Model(name) if has_class(name) => {
            let given = match field.presence {
                Presence::Optional => format!("return found and {name}.from_json(found)"),
                _ => format!("return {name}.from_json(found or {{}})"),
            };
            (format!("{name}{optional}"), format!("found = {fact}\n        {given}"))
        }
        Type::Model(_) => (format!("Mapping[str, Any]{optional}"), format!("return {fact}")),
        other => (format!("{}{optional}", given(other)), format!("return {fact}")),
    }
}
