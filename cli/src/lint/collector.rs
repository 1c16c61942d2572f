//! Collects findings, within bounds.

use super::{
    hosts::{self, Affected, Effect, Limit},
    report::{Finding, List, Report, Seen},
    rules::{self, RULES, Severity},
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use trunkline::printable;

/// Findings that are kept for each rule.
const MAX_OF_RULE: usize = 100;
/// Characters of a string of the server in a finding.
const MAX_TEXT: usize = 120;
/// Characters of the name of an item, which links to it.
const MAX_NAME: usize = 1_000;

/// An item of a list.
pub(super) struct Place<'a> {
    pub(super) list: List,
    pub(super) index: Option<usize>,
    pub(super) name: Option<&'a str>,
}

impl<'a> Place<'a> {
    pub(super) const SERVER: Self = Self { list: List::Server, index: None, name: None };

    pub(super) fn of(list: List, index: usize, item: &'a Value) -> Self {
        Self { list, index: Some(index), name: item[list.key()].as_str() }
    }

    pub(super) fn whole(list: List) -> Self {
        Self { list, index: None, name: None }
    }
}

impl List {
    /// The member that identifies an item.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Resources => "uri",
            Self::ResourceTemplates => "uriTemplate",
            Self::Server | Self::Tools | Self::Prompts => "name",
        }
    }
}

#[derive(Default)]
pub(super) struct Collector {
    findings: Vec<Finding>,
    counts: BTreeMap<&'static str, usize>,
    omitted: usize,
    /// The tools that each host leaves out.
    dropped: BTreeMap<&'static str, BTreeSet<usize>>,
    refusing: BTreeSet<&'static str>,
}

impl Collector {
    /// Adds a finding about a rule that is broken for every host.
    pub(super) fn add(&mut self, rule: &'static str, place: &Place<'_>, pointer: &str, what: String) {
        self.add_with(rule, place, (pointer, what), Vec::new());
    }

    /// Adds a finding if a host has a limit that is exceeded.
    pub(super) fn add_if(
        &mut self,
        rule: &'static str,
        place: &Place<'_>,
        (pointer, what): (&str, impl FnOnce() -> String),
        exceeds: impl Fn(&Limit) -> bool,
    ) {
        let hosts = hosts::affected(rule, exceeds);
        if !hosts.is_empty() {
            self.add_with(rule, place, (pointer, what()), hosts);
        }
    }

    pub(super) fn add_with(
        &mut self,
        rule: &'static str,
        place: &Place<'_>,
        (pointer, what): (&str, String),
        hosts: Vec<Affected>,
    ) {
        for affected in &hosts {
            if affected.effect == Effect::Refuses {
                self.refusing.insert(affected.host);
            }
            if let (true, Some(index)) = (affected.effect == Effect::Drops, place.index) {
                self.dropped.entry(affected.host).or_default().insert(index);
            }
        }
        let count = self.counts.entry(rule).or_default();
        *count += 1;
        if *count > MAX_OF_RULE {
            self.omitted += 1;
            return;
        }
        let loses = hosts.iter().any(|affected| affected.effect.loses());
        let severity = if loses { Severity::Error } else { rules::severity(rule) };
        let item = place.name.map(|name| name.chars().take(MAX_NAME).collect());
        let pointer = shown_up_to(pointer, 4 * MAX_TEXT);
        self.findings.push(Finding {
            rule,
            severity,
            list: place.list,
            index: place.index,
            item,
            pointer,
            what,
            hosts,
        });
    }

    pub(super) fn is_refusing(&self, host: &str) -> bool {
        self.refusing.contains(host)
    }

    pub(super) fn drops(&self, host: &str, index: usize) -> bool {
        self.dropped.get(host).is_some_and(|dropped| dropped.contains(&index))
    }

    /// The findings in the order of the rules, errors first.
    pub(super) fn report(mut self, hosts: Vec<Seen>) -> Report {
        self.findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), rules::position(finding.rule)));
        Report { rules: RULES, findings: self.findings, omitted: self.omitted, hosts }
    }
}

/// A string of the server that can be printed, and is short.
pub(super) fn shown(text: &str) -> String {
    shown_up_to(text, MAX_TEXT)
}

fn shown_up_to(text: &str, max: usize) -> String {
    let short: String = text.chars().take(max).collect();
    let end = if short.len() < text.len() { "…" } else { "" };
    printable(&short).replace(['\n', '\t'], " ") + end
}
