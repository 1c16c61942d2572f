//! Proves that the modules of our crates form no import circle, but for named clusters.

mod graph;
mod modules;

use std::path::Path;

use anyhow::Result;

use crate::house::House;
use crate::test::{Choice, Count};
use modules::Tree;

/// The crates whose modules are checked, by the folders of their sources.
const CRATES: [&str; 2] = ["core/src", "bindings-c/src"];

/// A circle that is allowed, because its modules are one thing.
struct Cluster {
    crate_folder: &'static str,
    /// All modules of the circle, as paths in their crate.
    modules: &'static [&'static str],
    reason: &'static str,
}

const CLUSTERS: &[Cluster] = &[];

pub(crate) fn check(house: &House, _: &Choice) -> Result<Count> {
    let mut count = Count { passed: 0, failed: 0, said: String::new(), note: String::new() };
    let mut modules = 0;
    for folder in CRATES {
        let tree = Tree::read(&house.path(folder))?;
        modules += tree.len();
        let circles = circles(&tree);
        let faults = faults(folder, &circles);
        count.passed += usize::from(faults.is_empty());
        count.failed += faults.len();
        count.said.push_str(&faults.concat());
    }
    count.note = format!("{modules} modules in {} crates", CRATES.len());
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

/// The circles that no cluster names, and the clusters that are no circle any more.
fn faults(folder: &str, circles: &[Circle]) -> Vec<String> {
    let clusters: Vec<_> = CLUSTERS.iter().filter(|cluster| cluster.crate_folder == folder).collect();
    let is_named = |circle: &&Circle| clusters.iter().any(|cluster| same(cluster, circle));
    let mut faults: Vec<_> = circles
        .iter()
        .filter(|circle| !is_named(circle))
        .map(|circle| {
            let (modules, imports) = (circle.modules.join(", "), circle.imports.join("\n    "));
            format!("{folder}: {} modules import each other: {modules}\n    {imports}\n", circle.modules.len())
        })
        .collect();
    for cluster in clusters {
        if !circles.iter().any(|circle| same(cluster, circle)) {
            let (modules, reason) = (cluster.modules.join(", "), cluster.reason);
            faults.push(format!(
                "{folder}: the cluster {modules} ({reason}) is no circle any more: remove it from {}\n",
                Path::new(file!()).display()
            ));
        }
    }
    faults
}

fn same(cluster: &Cluster, circle: &Circle) -> bool {
    let mut named = cluster.modules.to_vec();
    named.sort_unstable();
    circle.modules == named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_without_a_name_is_a_fault() {
        let circle = Circle { modules: vec!["a".into(), "b".into()], imports: vec!["a -> b".into(), "b -> a".into()] };
        let faults = faults("some/src", &[circle]);
        assert_eq!(faults, ["some/src: 2 modules import each other: a, b\n    a -> b\n    b -> a\n"]);
    }

    #[test]
    fn a_cluster_matches_its_circle_as_a_whole_only() {
        let cluster = Cluster { crate_folder: "some/src", modules: &["b", "a"], reason: "one thing" };
        let circle = |modules: &[&str]| Circle {
            modules: modules.iter().map(|module| (*module).to_owned()).collect(),
            imports: Vec::new(),
        };
        assert!(same(&cluster, &circle(&["a", "b"])));
        assert!(!same(&cluster, &circle(&["a"])));
        assert!(!same(&cluster, &circle(&["a", "b", "c"])));
    }
}
#[cfg(test)]
mod temporary {
    #[test]
    fn show() {
        for folder in [
            "core/src",
            "bindings-c/src",
            "core/proto/src",
            "core/bridge/src",
            "bindings-python/src",
            "bindings-node/native",
            "xtask/src",
        ] {
            let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(folder);
            if !root.exists() {
                continue;
            }
            let Ok(tree) = super::Tree::read(&root) else {
                eprintln!("no {folder}");
                continue;
            };
            for c in super::circles(&tree) {
                eprintln!("{folder} {}: {:?}\n   {}", c.modules.len(), c.modules, c.imports.join("\n   "));
            }
        }
    }
}
