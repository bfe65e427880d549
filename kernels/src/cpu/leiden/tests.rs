//! What holds after every phase, on random graphs.

use proptest::prelude::*;

use super::level::Level;
use super::order::Affine;
use super::phases::Phases;
use super::rule::{Gains, Rule};
use super::serial::Workspace;
use super::{Room, components};
use crate::{CsrGraph, LeidenSettings, Partition, Quality};

const MODULARITY: Quality = Quality::Modularity { resolution: 1.0 };

fn graph(n: usize, edges: &[(usize, usize, i32)]) -> CsrGraph {
    let mut rows = vec![std::collections::BTreeMap::new(); n];
    for &(u, v, weight) in edges {
        if u != v {
            rows[u].insert(v as u32, weight);
            rows[v].insert(u as u32, weight);
        }
    }
    let mut graph = CsrGraph::without_edges(0);
    for row in rows {
        graph.columns.extend(row.keys());
        graph.weights.extend(row.values());
        graph.offsets.push(graph.columns.len() as u32);
    }
    graph.check().expect("valid");
    graph
}

fn any_graph() -> impl Strategy<Value = CsrGraph> {
    let edge = |n: usize| (0..n, 0..n, prop_oneof![Just(8_192), 1..16_384_i32]);
    (1..40_usize)
        .prop_flat_map(move |n| (Just(n), prop::collection::vec(edge(n), 0..160)))
        .prop_map(|(n, edges)| graph(n, &edges))
}

fn any_quality() -> impl Strategy<Value = Quality> {
    prop_oneof![
        Just(MODULARITY),
        (0.1..3.0_f32).prop_map(|resolution| Quality::Modularity { resolution }),
        (0.01..0.9_f32).prop_map(|gamma| Quality::Cpm { gamma }),
    ]
}

/// The graph as a level, and its rule in 128 bits.
fn level(graph: &CsrGraph, quality: Quality) -> (Level<i64>, Gains<i128>) {
    let n = graph.n();
    let total = graph.weights.iter().map(|&weight| i128::from(weight)).sum();
    let degree = |node: usize| graph.edges(node).map(|(_, weight)| i64::from(weight)).sum();
    let mass: Vec<i64> =
        (0..n).map(|node| if matches!(quality, Quality::Cpm { .. }) { 1 } else { degree(node) }).collect();
    let order: Vec<u32> = (0..n as u32).collect();
    let mut level = Level::default();
    level.fill(graph, &mass, &order, &order);
    (level, Rule::new(total, quality).wide())
}

/// What a partition of a level is worth, pair by pair.
fn value(level: &Level<i64>, gains: Gains<i128>, labels: &[u32]) -> i128 {
    let mut value = 0;
    for u in 0..level.n() {
        for v in (0..u).filter(|&v| labels[u] == labels[v]) {
            value -= gains.push * i128::from(level.mass[u]) * i128::from(level.mass[v]);
        }
        for &(v, weight) in level.row(u) {
            let inside = (v as usize) < u && labels[u] == labels[v as usize];
            value += if inside { gains.pull * i128::from(weight) } else { 0 };
        }
    }
    value
}

/// Whether the nodes with this label are connected.
fn connected(level: &Level<i64>, labels: &[u32], label: u32) -> bool {
    let members: Vec<usize> = (0..level.n()).filter(|&node| labels[node] == label).collect();
    let mut seen = vec![false; level.n()];
    let mut open: Vec<usize> = members.first().copied().into_iter().collect();
    let mut n_seen = 0;
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut seen[node], true) {
            n_seen += 1;
            open.extend(level.row(node).iter().map(|edge| edge.0 as usize).filter(|&other| labels[other] == label));
        }
    }
    n_seen == members.len()
}

proptest! {
    #[test]
    fn moving_gains_what_it_says_and_leaves_nothing_to_gain(
        graph in any_graph(), quality in any_quality(), salt in any::<u64>(),
    ) {
        let (level, gains) = level(&graph, quality);
        let n = level.n();
        let mut phases = Phases::default();
        phases.reserve(n);
        let from: Vec<u32> = (0..n).map(|node| (super::order::mix(salt ^ node as u64) % n as u64) as u32).collect();
        phases.labels[..n].copy_from_slice(&from);
        let (n_moves, gained) = phases.move_nodes(&level, gains);
        let labels = phases.labels[..n].to_vec();
        prop_assert_eq!(value(&level, gains, &labels) - value(&level, gains, &from), gained);
        prop_assert!(gained > 0 || n_moves == 0);
        for node in 0..n {
            // Nobody would rather be alone.
            let mut alone = labels.clone();
            alone[node] = n as u32;
            prop_assert!(value(&level, gains, &alone) <= value(&level, gains, &labels));
        }
    }

    #[test]
    fn at_the_end_no_node_and_no_community_gains_by_joining_another(
        graph in any_graph(), quality in any_quality(), seed in any::<u64>(),
    ) {
        let (level, gains) = level(&graph, quality);
        let labels = Room::default().partition(&graph, &LeidenSettings { quality, seed, rounds_max: 1_000 });
        let best = value(&level, gains, &labels);
        for node in 0..level.n() {
            for to in 0..=level.n() as u32 {
                let mut moved = labels.clone();
                moved[node] = to;
                prop_assert!(value(&level, gains, &moved) <= best);
                let joined: Vec<u32> = labels.iter().map(|&own| if own == labels[node] { to } else { own }).collect();
                prop_assert!(!labels.contains(&to) || value(&level, gains, &joined) <= best);
            }
        }
    }

    #[test]
    fn parts_are_connected_pieces_of_communities_that_cost_nothing(
        graph in any_graph(), quality in any_quality(), salt in any::<u64>(),
    ) {
        let (level, gains) = level(&graph, quality);
        let n = level.n();
        let mut phases = Phases::default();
        phases.reserve(n);
        phases.labels[..n].fill(0);
        phases.move_nodes(&level, gains);
        let n_parts = phases.refine(&level, gains, Affine::new(salt, n as u32));
        let (labels, parts) = (phases.labels[..n].to_vec(), phases.parts[..n].to_vec());
        for node in 0..n {
            prop_assert_eq!(labels[node], labels[parts[node] as usize], "a part lies in one community");
            prop_assert!(connected(&level, &parts, parts[node]));
        }
        prop_assert!(value(&level, gains, &parts) >= 0);
        let mut next = Level::default();
        phases.aggregate(&level, n_parts, &mut next);
        prop_assert_eq!(next.n(), n_parts);
        prop_assert_eq!(next.mass.iter().sum::<i64>(), level.mass.iter().sum::<i64>());
        let (inside, between) = (value(&level, gains, &parts), value(&next, gains, &phases.labels_next[..n_parts]));
        prop_assert_eq!(inside + between, value(&level, gains, &labels));
    }

    #[test]
    fn both_widths_of_numbers_decide_the_same(graph in any_graph(), quality in any_quality(), seed in any::<u64>()) {
        let settings = LeidenSettings { quality, seed, rounds_max: 5 };
        let total: i128 = graph.weights.iter().map(|&weight| i128::from(weight)).sum();
        let by_degree = matches!(quality, Quality::Modularity { .. });
        let wide = Rule::new(total, quality).wide();
        let wide = Workspace::<i64, i128>::default().partition(&graph, by_degree, wide, seed, 5);
        prop_assert_eq!(Room::default().partition(&graph, &settings), wide);
    }

    #[test]
    fn a_used_room_decides_like_a_new_one(
        graphs in prop::collection::vec(any_graph(), 2..6), quality in any_quality(),
    ) {
        let settings = LeidenSettings { quality, seed: 3, rounds_max: 5 };
        let mut used = Room::default();
        for graph in &graphs {
            prop_assert_eq!(used.partition(graph, &settings), Room::default().partition(graph, &settings));
        }
    }

    #[test]
    fn the_order_of_edges_does_not_matter(graph in any_graph(), quality in any_quality(), seed in any::<u64>()) {
        let (mut level, gains) = level(&graph, quality);
        let climb = |level: &mut Level<i64>| {
            let mut labels: Vec<u32> = (0..level.n() as u32).collect();
            Workspace::<i64, i128>::default().climb(level, gains, &mut labels, seed, 5);
            labels
        };
        let labels = climb(&mut level);
        let bounds = level.offsets.clone();
        bounds.windows(2).for_each(|bounds| level.edges[bounds[0] as usize..bounds[1] as usize].reverse());
        prop_assert_eq!(climb(&mut level), labels);
    }

    #[test]
    fn communities_are_connected(
        graph in any_graph(), quality in any_quality(), seed in any::<u64>(), rounds_max in 0..4_u32,
    ) {
        let labels = Room::default().partition(&graph, &LeidenSettings { quality, seed, rounds_max });
        let (level, _) = level(&graph, quality);
        for &label in &labels {
            prop_assert!(connected(&level, &labels, label));
        }
        Partition { labels }.check(graph.n()).expect("dense");
    }
}

#[test]
fn a_weak_link_makes_no_part() {
    // A triangle with a node that hangs on by little: the node stays, put there, but is no part of the triangle.
    let graph = graph(4, &[(0, 1, 9_000), (0, 2, 9_000), (1, 2, 9_000), (2, 3, 5_000)]);
    let (level, gains) = level(&graph, Quality::Cpm { gamma: 0.25 });
    let mut phases = Phases::default();
    phases.reserve(4);
    phases.labels[..4].fill(0);
    phases.move_nodes(&level, gains);
    assert_ne!(phases.labels[3], phases.labels[2], "5000 < 3 · 4096: it leaves");
    assert_eq!(phases.labels[0], phases.labels[2], "9000 > 4096: the triangle stays");
    assert_eq!(phases.refine(&level, gains, Affine::new(1, 4)), 2);
}

#[test]
fn a_community_in_two_pieces_falls_apart() {
    let graph = graph(6, &[(0, 1, 5), (1, 2, 5), (0, 2, 5), (3, 4, 5), (4, 5, 5), (3, 5, 5)]);
    for quality in [MODULARITY, Quality::Cpm { gamma: 0.000_1 }] {
        let (mut level, gains) = level(&graph, quality);
        let mut labels = vec![2; 6];
        Workspace::<i64, i128>::default().climb(&mut level, gains, &mut labels, 1, 10);
        assert_eq!(labels, [0, 0, 0, 3, 3, 3]);
    }
}

#[test]
fn where_nothing_pushes_the_answer_is_the_components() {
    let graph = graph(5, &[(0, 3, 1), (3, 4, 1)]);
    let zero = |quality| LeidenSettings { quality, seed: 1, rounds_max: 4 };
    for quality in [Quality::Modularity { resolution: 0.0 }, Quality::Cpm { gamma: 0.0 }] {
        assert_eq!(Room::default().partition(&graph, &zero(quality)), [0, 1, 2, 0, 0]);
    }
    assert_eq!(components(&graph), [0, 1, 2, 0, 0]);
    let some = Room::default().partition(&graph, &zero(Quality::Cpm { gamma: 0.9 }));
    assert_eq!(some, [0, 1, 2, 3, 4]);
}
