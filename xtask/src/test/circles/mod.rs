//! Checks that the modules of our crates have no import cycles, except for named clusters, and that
//! imports lead downwards where modules stand on floors. cargo-modules also finds cycles, but has
//! to compile rust-analyzer first.

mod floors;
mod graph;
mod modules;

use anyhow::Result;

use crate::language::Language;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;
use floors::House;
use modules::Tree;

/// The crates whose modules are checked, by their source directories.
fn crates() -> impl Iterator<Item = &'static str> {
    Language::ALL.into_iter().flat_map(|language| language.crates).copied()
}

/// Allowed cycles, whose modules belong together: the directory of their crate, their paths in it,
/// with `::*` for a module and its children, and the reason.
type Cluster = (&'static str, &'static [&'static str], &'static str);

const CLUSTERS: &[Cluster] = &[
    (
        CORE,
        &["server::session::connection", "server::session::conversation_observers"],
        "a conversation and its observers",
    ),
    (
        CORE,
        &["auth::client::token_endpoint", "auth::client::tokens"],
        "a response of the endpoint and the tokens in it",
    ),
    (CORE, &["server::registry::mount", "server::registry::snapshot"], "a mount is a registry within a registry"),
    (
        CORE,
        &[
            "server::request::active_request",
            "server::request::mapper",
            "server::request::resumptions",
            "server::request::rounds",
        ],
        "the outcome of a request may lead to a next step",
    ),
    (
        CORE,
        &[
            "transport::http_client::authorized",
            "transport::http_client::http_link",
            "transport::http_client::http_sse",
            "transport::http_client::session_renewal",
        ],
        "a link, the credentials of its requests, its stream of HTTP+SSE and the renewal of its session",
    ),
    (
        CORE,
        &["transport::http_server::history", "transport::http_server::response_stream"],
        "a stream and the history that replays it",
    ),
    (PROTO, &["protocol::envelope::*"], "the messages and the parser that makes them"),
    (PROTO, &["protocol::input::*"], "the requests for input and the checks of their parts, with one error type"),
    (PROTO, &["protocol::model::*"], "the macro that declares models, and values of any type that refer to others"),
    (PROTO, &["protocol::project::*"], "the projection: one entry point, and one function for each kind of value"),
    (PROTO, &["protocol::schema::*"], "a schema, the checks of its parts, and its stand-in without validation"),
    (PROTO, &["protocol::uri_template::*"], "a template and the operations on its parts"),
    ("bindings-c/src", &["edge::failure", "edge::text"], "a failure and its message"),
    ("bindings-uniffi/native", &["crate", "value", "whole_bytes"], "the macros of uniffi put their tag into the root"),
];

/// Modules of which the children stand on floors. Calls of inherent methods are not seen, as in the
/// rest of this check.
const HOUSES: &[House] = &[House {
    folder: CORE,
    module: "client",
    floors: &[
        "negotiation_cache",
        "link_failure",
        "link",
        "input_required",
        "error_kinds",
        "client_error",
        "events",
        "reading",
        "client_handlers",
        "terminal",
        "config",
        "client_options",
        "telemetry",
        "state",
        "inner",
        "client",
        "client_builder",
        "group_target",
        "observed_client",
        "server_requests",
        "calls",
        "subscription",
        "tasks",
        "continuing",
        "inbox",
        "opening",
    ],
    max_upward: 0,
}];

const CORE: &str = "core/spine/src";
const PROTO: &str = "core/proto/src";

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut count = Count::default();
    let mut modules = 0;
    let mut notes = Vec::new();
    for folder in crates() {
        let tree = Tree::read(&workspace.path(folder))?;
        modules += tree.len();
        count.add(faults(folder, &circles(&tree)));
        for house in HOUSES.iter().filter(|house| house.folder == folder) {
            let (faults, note) = house.check(&tree);
            count.add(faults);
            notes.push(note);
        }
    }
    count.note = format!("{modules} modules in {} crates, {}", crates().count(), notes.join(", "));
    Ok(count)
}

/// The cycles of a crate: the sorted paths of their modules.
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

/// Modules that import each other, directly or indirectly.
struct Circle {
    modules: Vec<String>,
    /// The imports between them.
    imports: Vec<String>,
}

/// The cycles that no cluster names, and the clusters that are no longer cycles.
fn faults(folder: &str, circles: &[Circle]) -> Vec<String> {
    let clusters = || CLUSTERS.iter().filter(|(of, ..)| *of == folder);
    let unnamed = circles.iter().filter(|circle| !clusters().any(|(_, modules, _)| is_of(modules, circle)));
    let superfluous = clusters().filter(|(_, modules, _)| !circles.iter().any(|circle| is_of(modules, circle)));
    let of_circle = |circle: &Circle| {
        let (modules, imports) = (circle.modules.join(", "), circle.imports.join("\n    "));
        format!("{folder}: {} modules import each other: {modules}\n    {imports}", circle.modules.len())
    };
    let of_cluster = |(_, modules, reason): &Cluster| {
        let modules = modules.join(", ");
        format!(
            "{folder}: {modules} ({reason}) are not a circle any more: remove them from xtask/src/test/circles/mod.rs"
        )
    };
    unnamed.map(of_circle).chain(superfluous.map(of_cluster)).collect()
}

/// Returns whether a cycle belongs to the cluster, which may have more modules.
fn is_of(modules: &[&str], circle: &Circle) -> bool {
    let is_in = |module: &str, of: &str| match of.strip_suffix("::*") {
        Some(parent) => module.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with("::")),
        None => module == of,
    };
    circle.modules.iter().all(|module| modules.iter().any(|of| is_in(module, of)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_can_be_read() {
        let workspace = Workspace::find().unwrap();
        for folder in crates() {
            assert!(Tree::read(&workspace.path(folder)).unwrap().len() >= 3, "{folder}");
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
        let circle = |modules: &[&str]| Circle {
            modules: modules.iter().map(|module| (*module).to_owned()).collect(),
            imports: Vec::new(),
        };
        assert!(is_of(&["c", "b", "a"], &circle(&["a", "b", "c"])));
        assert!(is_of(&["c", "b", "a"], &circle(&["a", "b"])), "it may become smaller");
        assert!(!is_of(&["c", "b", "a"], &circle(&["a", "d"])));
        assert!(is_of(&["a::*"], &circle(&["a", "a::b"])) && !is_of(&["a::*"], &circle(&["a", "ab"])));
    }

    fn core() -> Tree {
        Tree::read(&Workspace::find().unwrap().path(CORE)).unwrap()
    }

    #[test]
    fn imports_of_a_higher_floor_are_faults() {
        let upside_down: Vec<_> = HOUSES[0].floors.iter().rev().copied().collect();
        let (faults, _) = House { floors: upside_down.leak(), ..HOUSES[0] }.check(&core());
        assert!(
            faults.len() == 1 && faults[0].contains("client::tasks::calling -> client::calls::sending"),
            "{faults:?}"
        );
        assert!(faults[0].contains("at most 0 may be"), "{faults:?}");
    }

    #[test]
    fn each_module_has_a_floor() {
        let (faults, _) = House { floors: &["calls", "attic"], ..HOUSES[0] }.check(&core());
        assert!(faults.iter().any(|fault| fault.contains("client::tasks is on no floor")), "{faults:?}");
        assert!(faults.iter().any(|fault| fault.contains("client::attic is gone")), "{faults:?}");
    }

    #[test]
    fn a_cluster_without_a_circle_is_a_fault() {
        let folder = CLUSTERS[0].0;
        let here = CLUSTERS.iter().filter(|cluster| cluster.0 == folder).count();
        assert_eq!(faults(folder, &[]).len(), here);
    }
}
