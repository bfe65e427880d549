//! Puts a conversation with branches in order: answers that were asked for again, questions that were
//! edited.
//!
//! Every message names its parent. The branch that the archive says is current is the conversation; at
//! each fork the others stand before it, as they were said before it, and each of their messages is
//! marked with its branch.

use std::collections::HashMap;

/// One node: a message, or a place without one.
#[derive(Debug)]
pub(super) struct Node<'a> {
    /// Its id.
    pub id: &'a str,
    /// The id of what it answers.
    pub parent: Option<&'a str>,
    /// When it was said, as a number; newer is more.
    pub at: f64,
}

/// A node's place in the conversation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Placed {
    /// Which of the nodes.
    pub idx: usize,
    /// The node above it.
    pub parent: Option<usize>,
    /// The first node of its branch, where it is not on the current one.
    pub branch: Option<usize>,
}

/// The order of `nodes`; `current` is the last one of the current branch.
///
/// Children of one parent keep their order in `nodes`. Where `current` is not known it is the newest
/// leaf. Cycles are cut where they are met first. The work is linear but for hashing.
pub(super) fn order(nodes: &[Node<'_>], current: Option<&str>) -> Vec<Placed> {
    let by_id: HashMap<&str, usize> = nodes.iter().enumerate().map(|(idx, node)| (node.id, idx)).collect();
    let parents: Vec<Option<usize>> =
        nodes.iter().map(|node| node.parent.and_then(|parent| by_id.get(parent).copied())).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (idx, parent) in parents.iter().enumerate() {
        if let Some(parent) = parent.filter(|parent| *parent != idx) {
            children[parent].push(idx);
        }
    }
    let newest_leaf = || {
        let leaves = (0..nodes.len()).filter(|idx| children[*idx].is_empty());
        leaves.max_by(|a, b| nodes[*a].at.total_cmp(&nodes[*b].at))
    };
    let mut is_current = vec![false; nodes.len()];
    let mut step = current.and_then(|id| by_id.get(id).copied()).or_else(newest_leaf);
    while let Some(idx) = step.filter(|idx| !is_current[*idx]) {
        is_current[idx] = true;
        step = parents[idx];
    }
    let roots = (0..nodes.len()).filter(|idx| parents[*idx].is_none_or(|parent| parent == *idx));
    let mut walk =
        Walk { children: &children, is_current: &is_current, is_placed: vec![false; nodes.len()], placed: Vec::new() };
    let mut roots: Vec<usize> = roots.collect();
    roots.sort_by_key(|idx| is_current[*idx]);
    for root in roots {
        walk.from(root, !is_current[root]);
    }
    for (idx, is_current) in is_current.iter().enumerate() {
        walk.from(idx, !is_current);
    }
    walk.placed
}

struct Walk<'a> {
    children: &'a [Vec<usize>],
    is_current: &'a [bool],
    is_placed: Vec<bool>,
    placed: Vec<Placed>,
}

impl Walk<'_> {
    /// Places `root` and all below it, without recursion: a chat may be thousands of messages deep.
    fn from(&mut self, root: usize, is_branch: bool) {
        let mut open = vec![Placed { idx: root, parent: None, branch: is_branch.then_some(root) }];
        while let Some(node) = open.pop() {
            let Placed { idx, branch, .. } = node;
            if std::mem::replace(&mut self.is_placed[idx], true) {
                continue;
            }
            self.placed.push(node);
            let children = &self.children[idx];
            let has_current = children.iter().any(|child| self.is_current[*child]);
            let last = children.len().saturating_sub(1);
            let is_main = |at: usize, child: usize| if has_current { self.is_current[child] } else { at == last };
            // The last one pushed is placed first: the main branch goes to the bottom.
            let main = children.iter().enumerate().filter(|(at, child)| is_main(*at, **child));
            open.extend(main.map(|(_, child)| Placed { idx: *child, parent: Some(idx), branch }));
            let others = children.iter().enumerate().rev().filter(|(at, child)| !is_main(*at, **child));
            open.extend(others.map(|(_, child)| Placed { idx: *child, parent: Some(idx), branch: Some(*child) }));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Nodes as `child<parent`, in their order; what is placed as `id` or `id(branch)`.
    fn check(nodes: &str, current: Option<&str>, expected: &str) {
        let nodes: Vec<Node<'_>> = nodes
            .split_whitespace()
            .enumerate()
            .map(|(idx, node)| {
                let (id, parent) = node.split_once('<').map_or((node, None), |(id, parent)| (id, Some(parent)));
                Node { id, parent, at: idx as f64 }
            })
            .collect();
        let placed: Vec<String> = order(&nodes, current)
            .iter()
            .map(|place| match place.branch {
                Some(branch) => format!("{}({})", nodes[place.idx].id, nodes[branch].id),
                None => nodes[place.idx].id.to_owned(),
            })
            .collect();
        assert_eq!(placed.join(" "), expected, "{nodes:?}");
    }

    #[test]
    fn the_current_branch_is_last_at_every_fork() {
        check("a b<a c<b", Some("c"), "a b c");
        check("a b<a c<b d<a e<d", Some("e"), "a b(b) c(b) d e");
        check("a b<a c<b d<a e<d", Some("c"), "a d(d) e(d) b c");
        check("a b<a c<a d<c e<c", Some("b"), "a c(c) d(d) e(c) b");
    }

    #[test]
    fn without_a_current_one_the_newest_leaf_is() {
        check("a b<a c<a", None, "a b(b) c");
        check("a b<a c<a", Some("gone"), "a b(b) c");
    }

    #[test]
    fn orphans_and_cycles_are_kept() {
        check("a b<gone c<b", Some("c"), "a(a) b c");
        check("a<b b<a c<c", Some("b"), "c(c) a b");
        check("", None, "");
    }

    proptest! {
        #[test]
        fn every_node_is_placed_once(parents in proptest::collection::vec(0..12_usize, 0..12), current in 0..14_usize) {
            let ids: Vec<String> = (0..14).map(|id| id.to_string()).collect();
            let nodes: Vec<Node<'_>> = parents
                .iter()
                .enumerate()
                .map(|(idx, parent)| Node { id: &ids[idx], parent: Some(&ids[*parent]), at: 0.0 })
                .collect();
            let mut placed: Vec<usize> = order(&nodes, Some(&ids[current])).iter().map(|place| place.idx).collect();
            placed.sort_unstable();
            prop_assert_eq!(placed, (0..nodes.len()).collect::<Vec<_>>());
        }
    }
}
