//! The facts about a call, a connection and a token: an interface of what the core gives, and
//! getters.

use std::fmt::Write as _;

use super::{comment, model_of};
use crate::generate::surface::{Field, Presence, Record, Surface, Type};
use crate::generate::text::camel;

/// The record of that name.
pub(super) fn facts<'a>(records: &'a [Record], name: &str) -> Option<&'a Record> {
    records.iter().find(|record| record.name == name)
}

/// The interface of the facts as the core gives them.
pub(super) fn interface(facts: &Record) -> String {
    let mut text = comment("", &format!("{} As the core gives it.", facts.doc));
    _ = writeln!(text, "export interface {} {{", facts.name);
    for field in &facts.fields {
        let mark = if field.presence == Presence::Optional { "?" } else { "" };
        _ = writeln!(text, "  {}{mark}: {};", field.json, type_of(field));
    }
    text + "}\n"
}

/// A getter for each fact, of a class whose `described` gives them.
pub(super) fn getters(facts: &Record) -> String {
    let mut text = format!("\n  /** @internal */\n  protected abstract get described(): {};\n", facts.name);
    for field in &facts.fields {
        let missing = match (field.presence, &field.ty) {
            (Presence::Optional, ty) if *ty != Type::Json => " | undefined",
            _ => "",
        };
        text.push('\n');
        text.push_str(&comment("  ", &field.doc));
        let (name, ty, json) = (camel(&field.name), type_of(field), &field.json);
        _ = writeln!(text, "  get {name}(): {ty}{missing} {{\n    return this.described.{json};\n  }}");
    }
    text
}

/// The facts about a token to verify.
pub(super) fn of_token(surface: &Surface) -> String {
    let Some(token) = facts(&surface.facts, "VerificationDescription") else { return String::new() };
    let class = format!("/** {} */\nexport abstract class TokenFacts {{{}}}\n", token.doc, getters(token));
    format!("{class}\n{}", interface(token))
}

/// The models that the facts name.
pub(super) fn models(facts: &Record) -> impl Iterator<Item = &str> {
    facts.fields.iter().filter_map(|field| model_of(&field.ty))
}

fn type_of(field: &Field) -> String {
    match &field.ty {
        Type::Object if field.name == "input_responses" => "Readonly<Record<string, JsonObject>>".into(),
        ty => super::type_of(ty),
    }
}
