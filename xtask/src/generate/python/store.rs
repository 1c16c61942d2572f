//! Stores of a program's own: the protocol class, and the names of its functions on the waist.

use std::fmt::Write as _;

use super::{docstring, given};
use crate::generate::surface::{Field, Presence, Surface};

const DOC: &str = "A store of a program's own, which keeps texts by key, and logs: any object with these methods is the option \
    `store` of a server. The methods are `async`, or ordinary functions, which run on threads of the pool. Several calls \
    run at a time, and several processes may use the store; `put_if` and `append` are atomic among all of them. No key \
    names both a text and a log. A method that raises says that the store is away: `StoreError` says more. \
    `check_store` checks a store. Times are in seconds.";

pub(super) fn render(surface: &Surface) -> String {
    let mut text = String::from(
        "from collections.abc import Awaitable, Mapping, Sequence\nfrom typing import Protocol, \
         runtime_checkable\n\nfrom .models import StoredEntry\n\n\n@runtime_checkable\nclass Store(Protocol):\n",
    );
    text += &docstring("    ", DOC);
    let mut table = String::new();
    for row in &surface.store {
        let params: String = row.params.iter().map(|field| format!(", {}: {}", name(field), type_of(field))).collect();
        let result = row.result.first().map_or_else(|| "None".to_owned(), type_of);
        let doc = docstring("        ", &row.doc.replace("`maxEntries`", "`max_entries`"));
        _ = write!(
            text,
            "\n    def {}(self{params}) -> Awaitable[{result}] | {result}:\n{doc}        ...\n",
            row.method()
        );
        let params: String = row.params.iter().map(|field| format!("\"{}\", ", field.json)).collect();
        let result = row.result.first().map_or_else(|| "None".to_owned(), |field| format!("\"{}\"", field.json));
        _ = writeln!(table, "    \"{}\": (\"{}\", ({}), {result}),", row.name, row.method(), params.trim_end());
    }
    text + "\n\n# The functions of the core: each with its method, its parameters and its result.\nFUNCTIONS: \
            Mapping[str, tuple[str, tuple[str, ...], str | None]] = {\n"
        + &table
        + "}\n"
}

/// Times are seconds here.
fn name(field: &Field) -> &str {
    field.name.strip_suffix("_ms").unwrap_or(&field.name)
}

fn type_of(field: &Field) -> String {
    let ty = if field.name.ends_with("_ms") { "float".to_owned() } else { given(&field.ty) };
    if field.presence == Presence::Optional { ty + " | None" } else { ty }
}
