//! Floors: the children of a module from the bottom to the top, where imports lead downwards.

use std::collections::BTreeMap;

use super::modules::Tree;

/// A module whose children stand on floors.
pub(super) struct House {
    /// The directory of its crate.
    pub(super) folder: &'static str,
    /// The path of the module in its crate.
    pub(super) module: &'static str,
    /// The names of its children, from the bottom to the top.
    pub(super) floors: &'static [&'static str],
    /// Maximum number of pairs of children of which the lower one imports from the higher one.
    pub(super) max_upward: usize,
}

/// The imports between pairs of children, from module to module.
type Arrows = BTreeMap<(String, String), Vec<String>>;

impl House {
    /// The faults, and the number of pairs that import upwards as a note.
    pub(super) fn check(&self, tree: &Tree) -> (Vec<String>, String) {
        let mut faults = self.misplaced(tree);
        let arrows = self.arrows(tree);
        let upward = self.upward(&arrows);
        let note = format!("{} of {} arrows in {} upwards", upward.len(), arrows.len(), self.module);
        if upward.len() > self.max_upward {
            let imports: Vec<_> = upward.into_iter().flatten().map(String::as_str).collect();
            faults.push(format!(
                "{}: {note}, at most {} may be: move a type down, or use a trait\n    {}",
                self.folder,
                self.max_upward,
                imports.join("\n    ")
            ));
        }
        (faults, note)
    }

    /// The children without a floor, and the floors without a child.
    fn misplaced(&self, tree: &Tree) -> Vec<String> {
        let Self { folder, module, floors, .. } = self;
        let children = tree.children(module);
        let new = children.iter().filter(|child| !floors.contains(&child.as_str()));
        let gone = floors.iter().filter(|floor| !children.iter().any(|child| child == *floor));
        let of_new = |child| {
            let place = "add it to xtask/src/test/circles/mod.rs, above all that it imports";
            format!("{folder}: {module}::{child} is on no floor: {place}")
        };
        let of_gone =
            |floor| format!("{folder}: {module}::{floor} is gone: remove it from xtask/src/test/circles/mod.rs");
        new.map(of_new).chain(gone.map(of_gone)).collect()
    }

    fn arrows(&self, tree: &Tree) -> Arrows {
        let child = |path: &str| {
            let inner = path.strip_prefix(self.module)?.strip_prefix("::")?;
            inner.split("::").next().map(str::to_owned)
        };
        let mut arrows = Arrows::new();
        for (from, targets) in tree.edges().iter().enumerate() {
            for to in targets {
                let (from, to) = (tree.name(from), tree.name(*to));
                let pair = child(&from).zip(child(&to)).filter(|(from, to)| from != to);
                if let Some(pair) = pair {
                    arrows.entry(pair).or_default().push(format!("{from} -> {to}"));
                }
            }
        }
        arrows
    }

    fn upward<'a>(&self, arrows: &'a Arrows) -> Vec<&'a Vec<String>> {
        let floor = |child: &str| self.floors.iter().position(|floor| *floor == child);
        let leads_up = |from, to| floor(from).zip(floor(to)).is_some_and(|(from, to)| from < to);
        arrows.iter().filter(|((from, to), _)| leads_up(from, to)).map(|(_, imports)| imports).collect()
    }
}
