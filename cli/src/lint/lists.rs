//! Lists as wholes, and what the server declares.

use super::{
    collector::{Collector, Place, shown},
    hosts,
    offers::{Offered, Offers},
    report::List,
};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use trunkline::protocol::uri_template::UriTemplate;

pub(super) fn check(found: &mut Collector, Offered { list, items, is_reordered }: &Offered) {
    let (list, whole) = (*list, Place::whole(*list));
    if list == List::Tools {
        let what = || format!("{} tools", items.len());
        found.add_if("tool-count", &whole, ("", what), |limit| limit.is_exceeded_by(items.len()));
    }
    if *is_reordered {
        found.add("list-order", &whole, "", "two reads had another order".to_owned());
    }
    let pointer = format!("/{}", list.key());
    let mut firsts = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        let place = Place::of(list, index, item);
        let Some(name) = place.name.filter(|name| !name.is_empty()) else {
            found.add("name-missing", &place, &pointer, format!("item {index} has none"));
            continue;
        };
        if let Some(first) = firsts.insert(name, index) {
            found.add("name-duplicate", &place, &pointer, format!("item {first} has it, too"));
        }
        match list {
            List::ResourceTemplates => template(found, &place, name),
            List::Prompts => arguments(found, &place, item),
            _ => {}
        }
    }
}

fn template(found: &mut Collector, place: &Place<'_>, template: &str) {
    if let Err(error) = UriTemplate::parse(template) {
        found.add("template-invalid", place, "/uriTemplate", shown(&error.to_string()));
    }
}

fn arguments(found: &mut Collector, place: &Place<'_>, prompt: &Value) {
    let mut names = HashSet::new();
    for (index, argument) in prompt["arguments"].as_array().into_iter().flatten().enumerate() {
        let name = argument["name"].as_str().unwrap_or_default();
        if !names.insert(name) {
            let pointer = format!("/arguments/{index}/name");
            found.add("argument-duplicate", place, &pointer, format!("another argument is \"{}\"", shown(name)));
        }
    }
}

pub(super) fn check_server(found: &mut Collector, offers: &Offers) {
    if offers.is_modern && offers.capabilities.get("logging").is_some() {
        found.add("deprecated", &Place::SERVER, "/capabilities/logging", "the server declares logging".to_owned());
    }
    let tools = offers.lists.iter().filter(|offered| offered.list == List::Tools);
    for Offered { list, items, .. } in tools {
        for host in hosts::all() {
            let mut firsts: HashMap<String, &str> = HashMap::new();
            for (index, tool) in items.iter().enumerate() {
                let Some(name) = tool["name"].as_str() else { continue };
                let other = firsts.insert(host.shown(&offers.server, name), name);
                if let Some(other) = other.filter(|other| *other != name) {
                    let affected = hosts::affected_by("name-collision", |one, _| one.name == host.name);
                    if !affected.is_empty() {
                        let what = format!(
                            "as for \"{}\", the model gets \"{}\"",
                            shown(other),
                            shown(&host.shown(&offers.server, name))
                        );
                        found.add_with("name-collision", &Place::of(*list, index, tool), ("/name", what), affected);
                    }
                }
            }
        }
    }
}
