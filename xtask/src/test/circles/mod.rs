//! Proves that the modules of our crates form no import circle, but for named clusters.

mod graph;
mod modules;

use std::path::Path;

use anyhow::Result;

use crate::language::Language;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;
use modules::Tree;

/// The crates whose modules are checked, by the folders of their sources.
fn crates() -> impl Iterator<Item = &'static str> {
    Language::ALL.into_iter().flat_map(|language| language.crates).copied()
}

/// A circle that is allowed, because its modules are one thing.
struct Cluster {
    crate_folder: &'static str,
    /// The modules of the circle, as paths in their crate.
    modules: &'static [&'static str],
    reason: &'static str,
}

const CLUSTERS: &[Cluster] = &[
    Cluster {
        crate_folder: "core/src",
        modules: &["server::session::connection", "server::session::observed"],
        reason: "a conversation, and the telemetry of its requests, which needs its transport and revision",
    },
    Cluster {
        crate_folder: "core/src",
        modules: &["server::registry::mount", "server::registry::snapshot"],
        reason: "a mount is a registry within a registry",
    },
    Cluster {
        crate_folder: "core/proto/src",
        modules: &["protocol::envelope", "protocol::envelope::reading"],
        reason: "the messages and the parser that makes them",
    },
    Cluster {
        crate_folder: "core/proto/src",
        modules: &[
            "protocol::input",
            "protocol::input::answer",
            "protocol::input::form",
            "protocol::input::messages",
            "protocol::input::received",
        ],
        reason: "the requests for input and the checks of their parts, which fail with one error type",
    },
    Cluster {
        crate_folder: "core/proto/src",
        modules: &[
            "protocol::model",
            "protocol::model::capabilities",
            "protocol::model::completion",
            "protocol::model::content",
            "protocol::model::elicitation",
            "protocol::model::form",
            "protocol::model::logging",
            "protocol::model::notification",
            "protocol::model::prompt",
            "protocol::model::resource",
            "protocol::model::root",
            "protocol::model::sampling",
            "protocol::model::skill",
            "protocol::model::subscription",
            "protocol::model::task",
            "protocol::model::tool",
        ],
        reason: "the model types: the macro that declares them stands in their parent, and a value of any type refers to the others",
    },
    Cluster {
        crate_folder: "core/proto/src",
        modules: &[
            "protocol::project",
            "protocol::project::completion",
            "protocol::project::elicitation",
            "protocol::project::prompt",
            "protocol::project::resource",
            "protocol::project::sampling",
            "protocol::project::tool",
        ],
        reason: "the projection: one entry point by method, and one function for each kind of value",
    },
    Cluster {
        crate_folder: "core/proto/src",
        modules: &[
            "protocol::schema",
            "protocol::schema::alternatives",
            "protocol::schema::bounds",
            "protocol::schema::explain",
            "protocol::schema::patterns",
            "protocol::schema::texts",
            "protocol::schema::unchecked",
        ],
        reason: "a schema, the checks of its parts, and its stand-in without validation",
    },
    Cluster {
        crate_folder: "core/proto/src",
        modules: &[
            "protocol::uri_template",
            "protocol::uri_template::expand",
            "protocol::uri_template::matching",
            "protocol::uri_template::parse",
            "protocol::uri_template::paths",
        ],
        reason: "a template and the operations on its parts",
    },
    Cluster {
        crate_folder: "core/src",
        modules: &[
            "server::request::context",
            "server::request::mapper",
            "server::request::tasks::record",
            "server::request::tasks::recording",
            "server::request::tasks::restart",
            "server::request::tasks::stored",
            "server::request::tasks::table",
            "server::request::tasks::task",
        ],
        reason: "a request in flight: its outcome may lead to a next step, and it may become a task, which a store may \
                 keep, and which answers the requests that wait for its result",
    },
    Cluster {
        crate_folder: "core/src",
        modules: &[
            "transport::http_client::authorized",
            "transport::http_client::http_sse",
            "transport::http_client::link",
            "transport::http_client::renewal",
        ],
        reason: "a link, the credentials of its requests, its stream of HTTP+SSE and the renewal of its session",
    },
    Cluster {
        crate_folder: "core/src",
        modules: &["transport::http_server::history", "transport::http_server::stream"],
        reason: "a stream and the history that replays it",
    },
    Cluster {
        crate_folder: "bindings-c/src",
        modules: &["edge::failure", "edge::text"],
        reason: "a failure and the text in which it is said",
    },
];

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut count = Count::default();
    let mut modules = 0;
    for folder in crates() {
        let tree = Tree::read(&workspace.path(folder))?;
        modules += tree.len();
        count.add(faults(folder, &circles(&tree)));
    }
    count.note = format!("{modules} modules in {} crates", crates().count());
    Ok(count)
}

/// The circles of a crate: the paths of their modules, sorted.
fn circles(tree: &Tree) -> Vec<Circle> {
    let edges = tree.edges();
    let mut circles: Vec<_> = graph::components(&edges)
        .into_iter()
        .filter(|component| component.len() > 1)
        .map(|component| {
            let name = |module: usize| tree.name(module);
            let mut modules: Vec<_> = component.iter().map(|module| name(*module)).collect();
            modules.sort();
            let mut imports: Vec<_> = component
                .iter()
                .flat_map(|from| edges[*from].iter().map(move |to| (*from, *to)))
                .filter(|(_, to)| component.contains(to))
                .map(|(from, to)| format!("{} -> {}", name(from), name(to)))
                .collect();
            imports.sort();
            Circle { modules, imports }
        })
        .collect();
    circles.sort_by(|one, other| one.modules.cmp(&other.modules));
    circles
}

/// Modules that import each other, directly or by way of others.
struct Circle {
    modules: Vec<String>,
    /// The imports among them.
    imports: Vec<String>,
}

/// The circles that no cluster names, and the clusters that are not a circle any more.
fn faults(folder: &str, circles: &[Circle]) -> Vec<String> {
    let clusters: Vec<_> = CLUSTERS.iter().filter(|cluster| cluster.crate_folder == folder).collect();
    let is_named = |circle: &&Circle| clusters.iter().any(|cluster| is_of(cluster, circle));
    let mut faults: Vec<_> = circles
        .iter()
        .filter(|circle| !is_named(circle))
        .map(|circle| {
            let (modules, imports) = (circle.modules.join(", "), circle.imports.join("\n    "));
            format!("{folder}: {} modules import each other: {modules}\n    {imports}", circle.modules.len())
        })
        .collect();
    for cluster in clusters {
        if !circles.iter().any(|circle| is_of(cluster, circle)) {
            let (modules, reason) = (cluster.modules.join(", "), cluster.reason);
            faults.push(format!(
                "{folder}: the cluster {modules} ({reason}) is not a circle any more: remove it from {}",
                Path::new(file!()).display()
            ));
        }
    }
    faults
}

/// Returns whether a circle is the cluster's: a cluster that has become smaller is still one.
fn is_of(cluster: &Cluster, circle: &Circle) -> bool {
    circle.modules.iter().all(|module| cluster.modules.contains(&module.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_can_be_read() {
        let workspace = Workspace::find().unwrap();
        for folder in crates() {
            assert!(Tree::read(&workspace.path(folder)).unwrap().len() > 3, "{folder}");
        }
    }

    #[test]
    fn a_circle_without_a_name_is_a_fault() {
        let circle = Circle { modules: vec!["a".into(), "b".into()], imports: vec!["a -> b".into(), "b -> a".into()] };
        let faults = faults("some/src", &[circle]);
        assert_eq!(faults, ["some/src: 2 modules import each other: a, b\n    a -> b\n    b -> a"]);
    }

    #[test]
    fn a_cluster_allows_no_circle_beyond_it() {
        let cluster = Cluster { crate_folder: "some/src", modules: &["c", "b", "a"], reason: "one thing" };
        let circle = |modules: &[&str]| Circle {
            modules: modules.iter().map(|module| (*module).to_owned()).collect(),
            imports: Vec::new(),
        };
        assert!(is_of(&cluster, &circle(&["a", "b", "c"])));
        assert!(is_of(&cluster, &circle(&["a", "b"])), "it may become smaller");
        assert!(!is_of(&cluster, &circle(&["a", "d"])));
    }

    #[test]
    fn a_cluster_without_a_circle_is_a_fault() {
        let folder = CLUSTERS[0].crate_folder;
        let here = CLUSTERS.iter().filter(|cluster| cluster.crate_folder == folder).count();
        assert_eq!(faults(folder, &[]).len(), here);
    }
}
