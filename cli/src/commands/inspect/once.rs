//! The contents of the page as one JSON object.

use super::{
    inspector::Inspector,
    state::{Connection, ConnectionState, Era, ListName, ListProgress, Target},
};
use crate::{exit::Exit, failure::Failure, lint, output::Output};
use serde::Serialize;
use std::sync::Arc;
use trunkline::protocol::RawJson;

#[derive(Serialize)]
struct Report {
    version: &'static str,
    target: Target,
    connections: Vec<Reported>,
}

#[derive(Serialize)]
struct Reported {
    #[serde(flatten)]
    connection: Connection,
    items: Items,
    /// Absent without a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    lint: Option<lint::Report>,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Items {
    tools: Option<RawJson>,
    resources: Option<RawJson>,
    resource_templates: Option<RawJson>,
    prompts: Option<RawJson>,
    skills: Option<RawJson>,
}

pub(super) async fn run(inspector: &Arc<Inspector>, eras: &[Era], output: &Output) -> Result<Exit, Failure> {
    for opening in eras.iter().map(|era| inspector.open(*era)).collect::<Vec<_>>() {
        // Its outcome is part of the state.
        let _ = opening.await;
    }
    let is_loaded = |connection: &mut Connection| {
        ListName::ALL.into_iter().all(|list| connection.lists.of(list).state != ListProgress::Loading)
    };
    inspector
        .hub
        .until(|state| {
            let mut open = state.connections.iter_mut().filter(|shown| shown.state == ConnectionState::Open);
            open.all(is_loaded)
        })
        .await;
    let mut reports = Vec::new();
    for era in eras {
        reports.push(lint(inspector, *era).await);
    }
    let reported = |(era, lint): (&Era, Option<lint::Report>)| {
        let connection = inspector.hub.state().connection(*era).clone();
        let mut links = inspector.links();
        let mut items = |list: ListName| links[era.index()].lists[list.index()].items.take();
        let items = Items {
            tools: items(ListName::Tools),
            resources: items(ListName::Resources),
            resource_templates: items(ListName::ResourceTemplates),
            prompts: items(ListName::Prompts),
            skills: items(ListName::Skills),
        };
        Reported { connection, items, lint }
    };
    let connections: Vec<_> = eras.iter().zip(reports).rev().map(reported).collect();
    let is_open = connections.iter().any(|reported| reported.connection.state == ConnectionState::Open);
    let exit = connections.iter().find_map(|reported| reported.connection.problem.as_ref()).map(|problem| problem.exit);
    let target = inspector.hub.state().target.clone();
    let report = Report { version: env!("CARGO_PKG_VERSION"), target, connections };
    let text = serde_json::to_string(&report).map(|text| RawJson::trusted(text.into()));
    output.raw(&text.map_err(|error| Failure::unreachable(error.to_string()))?);
    let ended = Failure::unreachable("The program has ended");
    for era in eras {
        inspector.close(*era, &ended).await;
    }
    Ok(if is_open { Exit::Done } else { exit.unwrap_or(Exit::Unreachable) })
}

/// Checks an open server, and reads its lists once more to compare their order.
async fn lint(inspector: &Arc<Inspector>, era: Era) -> Option<lint::Report> {
    inspector.connection(era).ok()?;
    for list in ListName::ALL {
        let is_ready = inspector.hub.state().connection(era).lists.of(list).state == ListProgress::Ready;
        if is_ready {
            // A failure is part of the state.
            let _ = inspector.fetch(era, list).await;
        }
    }
    inspector.lint(era).await.ok()
}
