//! A server as each host sees it.

use super::{
    collector::{Collector, shown},
    hosts::{Effect, Host},
    offers::Offers,
    report::{List, Seen, ShownName},
};
use serde_json::Value;

/// Names of tools in the view of a host.
const MAX_NAMES: usize = 100;

pub(super) fn by(host: &'static Host, offers: &Offers, found: &Collector) -> Seen {
    let tools = offers.lists.iter().find(|offered| offered.list == List::Tools);
    let items = tools.map(|tools| tools.items.as_slice()).unwrap_or_default();
    let most = host.limits.get("tool-count").filter(|limit| limit.effect == Effect::Drops).and_then(|one| one.most);
    let is_lost = |index: usize| found.drops(&host.name, index) || most.is_some_and(|most| index >= most);
    let shown_name = |(index, item): (usize, &Value)| {
        let tool = item["name"].as_str().unwrap_or_default();
        ShownName { tool: shown(tool), shown: shown(&host.shown(&offers.server, tool)), lost: is_lost(index) }
    };
    let ignores = host.ignores.as_ref();
    let ignored = ignores.into_iter().flat_map(|ignores| ignores.capabilities.iter().map(String::as_str));
    Seen {
        host: &host.name,
        title: &host.title,
        source: host.names.as_ref().map(|names| names.source.as_str()),
        tools: items.len(),
        refuses: found.is_refusing(&host.name),
        dropped: (0..items.len()).filter(|index| is_lost(*index)).count(),
        names: items.iter().enumerate().take(MAX_NAMES).map(shown_name).collect(),
        ignores: ignored.filter(|capability| declares(offers, capability)).collect(),
        ignores_source: ignores.map(|ignores| ignores.source.as_str()),
    }
}

fn declares(offers: &Offers, capability: &str) -> bool {
    match capability {
        "instructions" => !offers.instructions.is_empty(),
        "listChanged" => {
            let mut declared = offers.capabilities.as_object().into_iter().flat_map(|members| members.values());
            declared.any(|members| members["listChanged"] == true)
        }
        name => offers.capabilities.get(name).is_some(),
    }
}
