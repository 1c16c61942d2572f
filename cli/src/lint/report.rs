//! The findings about a server, as JSON.

use super::{
    hosts::Affected,
    rules::{Rule, Severity},
};
use serde::Serialize;

/// The part of a server that a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "LintedList"))]
#[serde(rename_all = "camelCase")]
pub(crate) enum List {
    Server,
    Tools,
    Resources,
    ResourceTemplates,
    Prompts,
}

/// A fault, and where it is.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Finding {
    pub(super) rule: &'static str,
    pub(super) severity: Severity,
    pub(super) list: List,
    /// The position in the list; `None` for the list, or the server.
    pub(super) index: Option<usize>,
    /// The name of the tool or prompt, or the URI of the resource, as the server sent it, but cut.
    pub(super) item: Option<String>,
    /// A JSON pointer into the item, printable.
    pub(super) pointer: String,
    /// The fault in words; the server's parts are printable.
    pub(super) what: String,
    pub(super) hosts: Vec<Affected>,
}

/// The server as one host sees it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "SeenByHost"))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Seen {
    pub(super) host: &'static str,
    pub(super) title: &'static str,
    /// Where the form of the names is from.
    pub(super) source: Option<&'static str>,
    pub(super) tools: usize,
    /// A tool makes it refuse its requests to the model.
    pub(super) refuses: bool,
    /// Tools that it leaves out.
    pub(super) dropped: usize,
    /// The first tools.
    pub(super) names: Vec<ShownName>,
    /// Declared capabilities that it is not known to use.
    pub(super) ignores: Vec<&'static str>,
    pub(super) ignores_source: Option<&'static str>,
}

/// The name of a tool, and what the model gets.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct ShownName {
    pub(super) tool: String,
    pub(super) shown: String,
    pub(super) lost: bool,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "LintReport"))]
pub(crate) struct Report {
    pub(super) rules: &'static [Rule],
    pub(super) findings: Vec<Finding>,
    /// Findings of rules that have more than 100.
    pub(super) omitted: usize,
    pub(super) hosts: Vec<Seen>,
}
