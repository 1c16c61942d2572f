//! The rules, as a table.

use Severity::{Error, Warning};
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    Warning,
    Error,
}

/// A rule: what it finds, why that matters, and what to do.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "LintRule"))]
pub(crate) struct Rule {
    pub(super) id: &'static str,
    /// If no host loses a tool by it.
    severity: Severity,
    title: &'static str,
    why: &'static str,
    advice: &'static str,
    source: &'static str,
}

const NAMES: &str = "https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-names";
const TOOLS: &str = "https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool";
const SCHEMAS: &str = "https://modelcontextprotocol.io/specification/2026-07-28/basic#json-schema-usage";
const POISON: &str = "https://lbeurerkellner.github.io/jekyll/update/2025/04/01/mcp-tool-poisoning.html";

const fn rule(id: &'static str, severity: Severity, texts: [&'static str; 3], source: &'static str) -> Rule {
    let [title, why, advice] = texts;
    Rule { id, severity, title, why, advice, source }
}

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule("hidden-characters", Error, [
        "Hidden characters",
        "The model reads characters that people don't see: zero-width, bidirectional, control and tag characters.",
        "Remove them.",
    ], POISON),
    rule("instructions-in-text", Warning, [
        "Instructions to the model",
        "A description that gives orders can make the model act against its user; hosts may flag the server as poisoned.",
        "Describe what the tool does, and leave the decision to the model.",
    ], POISON),
    rule("name-missing", Error, [
        "No name",
        "Clients can neither show nor use it.",
        "Give it a name or URI, which must be a nonempty string.",
    ], TOOLS),
    rule("name-duplicate", Error, [
        "The same name twice",
        "A call can reach only one of them.",
        "Rename one.",
    ], NAMES),
    rule("name-characters", Warning, [
        "Characters in a name",
        "APIs of models allow few characters in names of tools.",
        "Use ASCII letters, digits and underscores only.",
    ], NAMES),
    rule("name-length", Warning, [
        "A name that is too long",
        "APIs of models limit names, and many hosts put the name of the server in front.",
        "Shorten the name.",
    ], NAMES),
    rule("name-collision", Warning, [
        "Names that become equal",
        "After cutting and replacing, the host cannot tell the tools apart.",
        "Let the names differ in their first 25 characters.",
    ], NAMES),
    rule("tool-count", Warning, [
        "Too many tools",
        "Hosts limit the tools of all servers together, and models choose worse among many.",
        "Offer fewer tools, or let the user choose groups of them.",
    ], "https://github.com/microsoft/vscode-copilot-release/issues/11653"),
    rule("description-missing", Warning, [
        "No description",
        "The model only has the name to decide when to call the tool.",
        "Describe what the tool does and what it returns.",
    ], TOOLS),
    rule("description-length", Warning, [
        "A description that is too long",
        "The model gets the beginning only, or nothing.",
        "Put the essential part into the first 1,000 characters, and the rest into a resource or prompt.",
    ], TOOLS),
    rule("instructions-length", Warning, [
        "Server instructions that are too long",
        "The model gets the beginning only.",
        "Put the essential part first.",
    ], "https://github.com/anthropics/claude-code/issues/39106"),
    rule("schema-type", Error, [
        "An input schema that is no object",
        "Arguments are an object, so that clients refuse any other schema.",
        "Set \"type\": \"object\" at the root.",
    ], TOOLS),
    rule("schema-invalid", Error, [
        "An invalid schema",
        "Clients cannot validate with it; some drop the tool or the whole list.",
        "Correct the schema. Without \"$schema\", its dialect is 2020-12.",
    ], SCHEMAS),
    rule("output-schema", Error, [
        "An invalid output schema",
        "Clients must validate structured results, and refuse all results of this tool.",
        "Correct the schema, or leave it out.",
    ], SCHEMAS),
    rule("schema-remote", Error, [
        "A reference to another document",
        "Clients don't fetch schemas, as any URL could be in them.",
        "Put the schema into \"$defs\" of this one.",
    ], SCHEMAS),
    rule("schema-reference", Warning, [
        "References in a schema",
        "They are valid, but some hosts don't resolve them.",
        "Repeat the referenced schema in place.",
    ], SCHEMAS),
    rule("schema-root", Warning, [
        "Alternatives at the root of a schema",
        "They are valid, but APIs of models refuse them at the root.",
        "Make one object of all properties, and check the combination in the tool.",
    ], SCHEMAS),
    rule("array-items", Warning, [
        "An array without items",
        "It is valid, but APIs of models want to know the items.",
        "Add \"items\"; {} allows anything.",
    ], SCHEMAS),
    rule("string-format", Warning, [
        "A format",
        "It is valid, but an API of models only knows some formats.",
        "Name the format in the description instead.",
    ], SCHEMAS),
    rule("property-name", Warning, [
        "The name of a property",
        "APIs of models limit the names of arguments.",
        "Use at most 64 ASCII letters, digits, underscores, dots and hyphens.",
    ], SCHEMAS),
    rule("header-parameter", Error, [
        "A wrong x-mcp-header",
        "Clients of 2026-07-28 must leave out the tool over HTTP.",
        "Correct the annotation.",
    ], "https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header"),
    rule("template-invalid", Error, [
        "An invalid URI template",
        "Clients cannot expand it (RFC 6570).",
        "Correct the template.",
    ], "https://www.rfc-editor.org/rfc/rfc6570"),
    rule("argument-duplicate", Error, [
        "An argument twice",
        "A prompt takes each argument once.",
        "Rename one.",
    ], "https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#prompt"),
    rule("list-order", Warning, [
        "The order changes",
        "Two reads of the list had another order; clients cannot cache it, and each change costs the prompt cache of the model.",
        "Sort the list.",
    ], "https://modelcontextprotocol.io/specification/2026-07-28/server/tools#capabilities"),
    rule("deprecated", Warning, [
        "A deprecated feature",
        "2026-07-28 deprecates it, and a later revision may remove it.",
        "Log to stderr, or use OpenTelemetry.",
    ], "https://modelcontextprotocol.io/specification/2026-07-28/deprecated"),
];

pub(super) fn position(id: &str) -> usize {
    RULES.iter().position(|rule| rule.id == id).unwrap_or(RULES.len())
}

pub(super) fn severity(id: &str) -> Severity {
    RULES.get(position(id)).map_or(Warning, |rule| rule.severity)
}
