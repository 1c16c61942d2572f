//! Strongly connected components of a graph with a few hundred nodes.

/// The strongly connected components of the graph in which node `n` has edges to `edges[n]`.
pub(super) fn components(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let reached: Vec<Vec<bool>> = (0..edges.len()).map(|start| reached_from(start, edges)).collect();
    let mut components: Vec<Vec<usize>> = Vec::new();
    for (node, from_node) in reached.iter().enumerate() {
        let is_of = |component: &&mut Vec<usize>| from_node[component[0]] && reached[component[0]][node];
        match components.iter_mut().find(is_of) {
            Some(component) => component.push(node),
            None => components.push(vec![node]),
        }
    }
    components
}

fn reached_from(start: usize, edges: &[Vec<usize>]) -> Vec<bool> {
    let (mut reached, mut open) = (vec![false; edges.len()], vec![start]);
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut reached[node], true) {
            open.extend(&edges[node]);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_found_however_they_are_entered() {
        let edges = [vec![1], vec![2, 3], vec![0], vec![4], vec![3], vec![5, 0], vec![]];
        assert_eq!(components(&edges), [vec![0, 1, 2], vec![3, 4], vec![5], vec![6]]);
    }
}
