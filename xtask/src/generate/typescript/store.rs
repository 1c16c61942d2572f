//! Stores of a program's own: the interface, and the functions for the core.

use std::fmt::Write as _;

use super::{comment, type_of};
use crate::generate::{
    surface::{Field, Presence, Surface},
    text::camel,
};

const DOC: &str = "A store of a program's own, which keeps texts by key, and logs: any object with these methods is the option \
    `store` of a server. Several calls run at a time, and several processes may use the store; `putIf` and `append` are \
    atomic among all of them. No key names both a text and a log. A method that throws says that the store is away: `StoreError` \
    says more. `checkStore` checks a store. Times are in milliseconds.";

pub(super) fn render(surface: &Surface) -> String {
    let mut text = String::from("import type { StoredEntry } from \"./model.js\";\n\n");
    text += &comment("", DOC);
    text += "export interface Store {\n";
    let (mut calls, mut members) = (String::new(), String::new());
    for row in &surface.store {
        let method = camel(row.method());
        let params: Vec<_> = row.params.iter().map(|field| format!("{}: {}", name(field), typed(field))).collect();
        let result = row.result.first().map_or_else(
            || "void".to_owned(),
            |field| match field.presence {
                Presence::Optional => format!("{} | null | undefined", type_of(&field.ty)),
                _ => type_of(&field.ty).replace("StoredEntry[]", "readonly StoredEntry[]"),
            },
        );
        text += &comment("  ", &row.doc);
        _ = writeln!(text, "  {method}({}): {result} | Promise<{result}>;", params.join(", "));
        let arguments: Vec<_> = row.params.iter().map(|field| format!("given.{}", field.json)).collect();
        let call = format!("await store.{method}({})", arguments.join(", "));
        _ = match row.result.first() {
            Some(field) => writeln!(calls, "    {}: async (given) => ({{ {}: {call} }}),", row.name, field.json),
            None => {
                writeln!(calls, "    {}: async (given) => {{\n      {call};\n      return {{}};\n    }},", row.name)
            }
        };
        for field in &row.params {
            let mark = if field.presence == Presence::Optional { "?" } else { "" };
            let member = format!("  {}{mark}: {};\n", field.json, typed(field));
            if !members.contains(&member) {
                members += &member;
            }
        }
    }
    let names: Vec<_> = surface.store.iter().map(|row| format!("\"{}\"", camel(row.method()))).collect();
    _ = write!(
        text,
        "}}\n\n/** The names of the methods of a store. */\nexport const storeMethods = [{}] as const;\n\n/** The members \
         of the calls of a store, of which each call has some. */\nexport interface StoreCall \
         {{\n{members}}}\n\nexport type StoreFunction = (given: StoreCall) => Promise<object>;\n\n/** The functions of a store, by the names of their calls. */\nexport function \
         storeFunctions(store: Store): Record<string, StoreFunction> {{\n  return {{\n{calls}  }};\n}}\n",
        names.join(", ")
    );
    text
}

fn name(field: &Field) -> &str {
    field.json.strip_suffix("Ms").unwrap_or(&field.json)
}

fn typed(field: &Field) -> String {
    let ty = type_of(&field.ty);
    if field.presence == Presence::Optional { ty + " | undefined" } else { ty }
}
