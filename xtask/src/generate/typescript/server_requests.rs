//! The handlers of a client for what its server asks and reports.

use std::fmt::Write as _;

use super::{REPLACED, comment};
use crate::generate::surface::{HostOperation, Surface};
use crate::generate::text::{camel, pascal};

/// Notifications that reach a program in another way: with the call or the subscription that they
/// are about.
const ELSEWHERE: [&str; 2] = ["progress", "resource_updated"];

const CHANGED: &str =
    "On revision 2026-07-28 and later this subscribes to changes, which over HTTP keeps a stream open.";

pub(super) fn render(surface: &Surface) -> String {
    let notifications: Vec<_> =
        surface.notifications.iter().filter(|row| !ELSEWHERE.contains(&row.name.as_str())).collect();
    let mut body = String::from(
        "\n/** Handlers for authorization, and for requests of a server, whose capabilities are declared. */\nexport interface RequestHandlers {\n",
    );
    for row in &surface.host {
        let (request, result) = (&row.params, result_of(row));
        body += &comment("  ", &row.doc);
        _ = writeln!(
            body,
            "  {}?: ((request: {request}, context: ServerRequestContext) => {result} | Promise<{result}>) | undefined;",
            handler(&row.name)
        );
    }
    body += "}\n\n/** Handlers for the notifications of a server. */\nexport interface NotificationHandlers {\n";
    for row in &notifications {
        let changed = if row.name.ends_with("_changed") { format!(" {CHANGED}") } else { String::new() };
        body += &comment("  ", &format!("{}{changed}", row.doc));
        let params = row.params.as_deref().map(|params| format!("params: {}", params)).unwrap_or_default();
        _ = writeln!(body, "  {}?: (({params}) => void) | undefined;", handler(&row.name));
    }
    body += "}\n\n/** The operation of each handler, as the core names it. */\nexport const operations: Record<keyof RequestHandlers, string> = {\n";
    for row in &surface.host {
        _ = writeln!(body, "  {}: \"{}\",", handler(&row.name), row.name);
    }
    let silent = surface.host.iter().filter(|row| row.result.is_none());
    let silent: Vec<_> = silent.map(|row| format!("\"{}\"", handler(&row.name))).collect();
    body += &format!(
        "}};\n\n/** The handlers that return nothing. */\nexport const silent: readonly (keyof RequestHandlers)[] = [{}];\n",
        silent.join(", ")
    );
    let own = surface.host.iter().filter(|row| row.method.is_none());
    let own: Vec<_> = own.map(|row| format!("\"{}\"", handler(&row.name))).collect();
    body += &format!(
        "\n/** The functions of the program itself, which no server calls. */\nexport const own: readonly (keyof RequestHandlers)[] = [{}];\n",
        own.join(", ")
    );
    body += "\n/** The method of each notification that has a handler. */\nexport const notified: Record<keyof NotificationHandlers, string> = {\n";
    for row in &notifications {
        _ = writeln!(body, "  {}: \"{}\",", handler(&row.name), row.method);
    }
    body += "};\n\n/** The handlers of notifications that newer servers send only to clients that asked at first. */\nexport const asked: readonly (keyof NotificationHandlers)[] = [";
    let changed = notifications.iter().filter(|row| row.name.ends_with("_changed"));
    body += &changed.map(|row| format!("\"{}\"", handler(&row.name))).collect::<Vec<_>>().join(", ");
    body += "];\n";
    let mut used: Vec<&str> = surface
        .host
        .iter()
        .flat_map(|row| [Some(row.params.as_str()), row.result.as_deref()])
        .flatten()
        .chain(notifications.iter().filter_map(|row| row.params.as_deref()))
        .filter(|name| !REPLACED.contains(name))
        .collect();
    used.sort_unstable();
    used.dedup();
    format!(
        "import type {{ ElicitResult, ElicitUrlResult }} from \"../client-requests.js\";\nimport type {{ ServerRequestContext }} from \
         \"../requests.js\";\nimport type {{ {} }} from \"./model.js\";\n{body}",
        used.join(", ")
    )
}

fn handler(name: &str) -> String {
    camel(&format!("on_{name}"))
}

fn result_of(row: &HostOperation) -> String {
    match &row.result {
        Some(result) if REPLACED.contains(&result.as_str()) => format!("{}Result", pascal(&row.name)),
        Some(result) => result.clone(),
        None => "void".into(),
    }
}
