//! The schemas of tools.

use super::{
    collector::{Collector, Place, shown},
    hosts,
};
use serde_json::Value;
use std::collections::HashMap;
use trunkline::protocol::schema::{Schema, SchemaPart, check_input_root, header_parameters, visit_parts};

const MAX_POINTER: usize = 500;

/// Why schemas do not compile, by their text: many tools have the same.
#[derive(Default)]
pub(super) struct Compiled(HashMap<String, Option<String>>);

impl Compiled {
    fn error_of(&mut self, schema: &Value) -> Option<String> {
        let compile = || Schema::compile_of_peer(schema).err().map(|error| shown(&error.to_string()));
        self.0.entry(schema.to_string()).or_insert_with(compile).clone()
    }
}

pub(super) fn check(found: &mut Collector, place: &Place<'_>, tool: &Value, is_modern: bool, compiled: &mut Compiled) {
    let mut is_remote = false;
    for member in ["inputSchema", "outputSchema"] {
        is_remote |= references(found, place, tool, member);
    }
    let input = &tool["inputSchema"];
    if let Err(error) = check_input_root(input) {
        found.add("schema-type", place, "/inputSchema", shown(&error.to_string()));
    } else if let Some(error) = compiled.error_of(input).filter(|_| !is_remote) {
        found.add("schema-invalid", place, "/inputSchema", error);
    }
    let output = tool.get("outputSchema").filter(|_| !is_remote);
    if let Some(error) = output.and_then(|schema| compiled.error_of(schema)) {
        found.add("output-schema", place, "/outputSchema", error);
    }
    if let Some(error) = header_parameters(input).err().filter(|_| is_modern) {
        found.add("header-parameter", place, &format!("/inputSchema{}", error.path), shown(&error.reason));
    }
    root(found, place, input);
    visit_parts(input, &mut |part| self::part(found, place, part));
}

/// A pointer into a tool, cut: a name may have a megabyte, and many schemas under it.
fn pointer(member: &str, path: &str) -> String {
    let end = path.char_indices().nth(MAX_POINTER).map_or(path.len(), |(end, _)| end);
    format!("/{member}{}", &path[..end])
}

/// Reports references: each remote one, and the first local one. Returns whether one is remote.
fn references(found: &mut Collector, place: &Place<'_>, tool: &Value, member: &str) -> bool {
    let (mut remote, mut local) = (Vec::new(), None);
    visit_parts(&tool[member], &mut |part| match part.reference() {
        Some(target) if target.starts_with('#') => {
            local.get_or_insert_with(|| (pointer(member, part.path), shown(target)));
        }
        Some(target) => remote.push((pointer(member, part.path), shown(target))),
        None => {}
    });
    if let Some((path, target)) = local.filter(|_| member == "inputSchema") {
        let what = || format!("refers to \"{target}\"");
        found.add_if("schema-reference", place, (&path, what), |_| true);
    }
    for (path, target) in &remote {
        found.add("schema-remote", place, path, format!("refers to \"{target}\""));
    }
    !remote.is_empty()
}

fn root(found: &mut Collector, place: &Place<'_>, input: &Value) {
    let has = |keyword: &String| input.get(keyword).is_some();
    let affected = hosts::affected("schema-root", |limit| limit.keywords.iter().any(has));
    if !affected.is_empty() {
        let known = hosts::all().iter().filter_map(|host| host.limits.get("schema-root"));
        let mut keywords: Vec<&str> = Vec::new();
        for keyword in known.flat_map(|limit| &limit.keywords).filter(|keyword| has(keyword)) {
            if !keywords.contains(&keyword.as_str()) {
                keywords.push(keyword);
            }
        }
        found.add_with(
            "schema-root",
            place,
            ("/inputSchema", format!("the root has {}", keywords.join(", "))),
            affected,
        );
    }
}

fn part(found: &mut Collector, place: &Place<'_>, part: SchemaPart<'_>) {
    let path = || pointer("inputSchema", part.path);
    let is = |kind: &str| {
        part.schema["type"] == kind
            || part.schema["type"].as_array().is_some_and(|all| all.iter().any(|one| one == kind))
    };
    if is("array") && part.schema.get("items").is_none() {
        found.add_if("array-items", place, (&path(), || "an array of unknown items".to_owned()), |_| true);
    }
    if let Some(format) = part.schema["format"].as_str().filter(|_| is("string")) {
        let is_known = |known: &String| known == format;
        let what = || format!("the format \"{}\"", shown(format));
        found.add_if("string-format", place, (&path(), what), |limit| !limit.keywords.iter().any(is_known));
    }
    // Only the arguments themselves are limited.
    if let Some(name) =
        part.property.filter(|_| part.path.strip_prefix("/properties/").is_some_and(|rest| !rest.contains('/')))
    {
        let length = name.chars().count();
        let what = || format!("the argument \"{}\" of {length} characters", shown(name));
        let exceeds = |limit: &hosts::Limit| {
            limit.is_exceeded_by(length) || name.chars().any(|character| !limit.allows(character))
        };
        found.add_if("property-name", place, (&path(), what), exceeds);
    }
}
