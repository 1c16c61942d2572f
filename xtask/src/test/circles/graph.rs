//! Strongly connected components (Tarjan's algorithm).

/// The components of the graph in which the node `n` has edges to `edges[n]`.
pub(super) fn components(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut search = Search {
        edges,
        order: vec![None; edges.len()],
        low: vec![0; edges.len()],
        on_stack: vec![false; edges.len()],
        stack: Vec::new(),
        next: 0,
        found: Vec::new(),
    };
    for node in 0..edges.len() {
        if search.order[node].is_none() {
            search.visit(node);
        }
    }
    search.found
}

struct Search<'a> {
    edges: &'a [Vec<usize>],
    /// The order in which nodes were reached.
    order: Vec<Option<usize>>,
    /// The earliest node that can be reached from each.
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    next: usize,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn visit(&mut self, node: usize) {
        let order = self.next;
        self.next += 1;
        self.order[node] = Some(order);
        self.low[node] = order;
        self.stack.push(node);
        self.on_stack[node] = true;
        for &to in &self.edges[node] {
            match self.order[to] {
                None => {
                    self.visit(to);
                    self.low[node] = self.low[node].min(self.low[to]);
                }
                Some(reached) if self.on_stack[to] => self.low[node] = self.low[node].min(reached),
                Some(_) => {}
            }
        }
        if self.low[node] == order {
            let start = self.stack.iter().rposition(|other| *other == node).unwrap_or_default();
            let component = self.stack.split_off(start);
            component.iter().for_each(|member| self.on_stack[*member] = false);
            self.found.push(component);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_found_however_they_are_entered() {
        let edges = [vec![1], vec![2, 3], vec![0], vec![4], vec![3], vec![5, 0], vec![]];
        let mut found: Vec<_> = components(&edges)
            .into_iter()
            .map(|mut component| {
                component.sort_unstable();
                component
            })
            .collect();
        found.sort();
        assert_eq!(found, [vec![0, 1, 2], vec![3, 4], vec![5], vec![6]]);
    }
}
