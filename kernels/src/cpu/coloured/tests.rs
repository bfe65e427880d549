//! The coloured rules on graphs small enough to check everything.

use super::aggregate::{Parts, aggregate};
use super::colour::{Classes, colours};
use super::level::Level;
use super::processor::Processor;
use super::rule::Rule;
use super::schedule::{Device as _, Steps as _, value};
use super::sums::Tables;
use super::{Limits, components::components, partition};
use crate::cpu::leiden::leiden;
use crate::{CsrGraph, LeidenSettings, Partition, Quality, quality};

const MODULARITY: Quality = Quality::Modularity { resolution: 1.0 };
const CPM: Quality = Quality::Cpm { gamma: 0.2 };
/// Small graphs go through all of the coloured rules, and their last levels through the serial ones.
const SMALL: Limits = Limits { nodes_serial_max: 20, edges_serial_max: 1 << 21, nodes_few: 20 };
/// Nothing is left to the serial rules.
const NONE_SERIAL: Limits = Limits { nodes_serial_max: 0, edges_serial_max: 0, nodes_few: 0 };

fn settings(quality: Quality, seed: u64) -> LeidenSettings {
    LeidenSettings { quality, seed, rounds_max: 10 }
}

pub(super) struct Random(pub u64);

impl Random {
    pub(super) fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(n)) as u32
    }
}

/// A graph of these edges; repeated ones are kept once.
pub(super) fn graph(n: usize, edges: impl IntoIterator<Item = (u32, u32, i32)>) -> CsrGraph {
    let mut rows = vec![std::collections::BTreeMap::new(); n];
    for (from, to, weight) in edges.into_iter().filter(|edge| edge.0 != edge.1) {
        rows[from as usize].entry(to).or_insert(weight);
        let weight = rows[from as usize][&to];
        rows[to as usize].insert(from, weight);
    }
    let mut graph = CsrGraph::without_edges(0);
    for row in &rows {
        graph.columns.extend(row.keys());
        graph.weights.extend(row.values());
        graph.offsets.push(graph.columns.len() as u32);
    }
    graph.check().expect("valid");
    graph
}

/// Blocks of `members` nodes; three of four edges stay inside.
pub(super) fn planted(n: u32, members: u32, n_edges: usize, seed: u64) -> CsrGraph {
    let mut random = Random(seed);
    let edges: Vec<_> = (0..n_edges)
        .map(|_| {
            let from = random.below(n);
            let near = (from / members * members + random.below(members)).min(n - 1);
            let to = if random.below(4) > 0 { near } else { random.below(n) };
            (from, to, 1 + random.below(16_384) as i32)
        })
        .collect();
    graph(n as usize, edges)
}

fn star(n_leaves: u32) -> CsrGraph {
    graph(n_leaves as usize + 1, (1..=n_leaves).map(|leaf| (0, leaf, 16_384)))
}

fn cut(graph: &CsrGraph, settings: &LeidenSettings, limits: &Limits) -> Partition {
    let found = partition(graph, settings, limits).expect("weights fit").expect("the processor does not fail");
    found.check(graph.n()).expect("dense");
    let level = Level::finest(graph, false);
    assert_eq!(Partition::from_raw(&components(&level, &found.labels)), found, "a community is not connected");
    found
}

#[test]
fn neighbours_never_share_a_colour() {
    let full = graph(150, (0..150).flat_map(|from| (0..from).map(move |to| (from, to, 1))));
    for graph in [planted(3_000, 50, 30_000, 1), star(300), full, CsrGraph::without_edges(9)] {
        let level = Level::finest(&graph, false);
        let colours = colours(&level, 5);
        for node in 0..graph.n() {
            assert!(graph.edges(node).all(|(other, _)| colours[other as usize] != colours[node]));
        }
        let classes = Classes::of(&colours);
        let mut sorted = classes.order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..graph.n() as u32).collect::<Vec<_>>());
        for class in 0..classes.n() {
            let nodes = classes.nodes(class);
            assert!(!nodes.is_empty() && nodes.is_sorted());
            assert!(nodes.iter().all(|&node| colours[node as usize] == colours[nodes[0] as usize]));
        }
    }
}

#[test]
fn no_step_of_moving_lowers_the_quality() {
    for quality in [MODULARITY, CPM] {
        for graph in [planted(2_000, 40, 16_000, 3), star(3_000)] {
            let rule = Rule::new(&graph, quality).expect("fits");
            let level = Level::finest(&graph, rule.by_degree);
            let device = Processor::new();
            let mut held = device.hold(&level, rule, 11).expect("held");
            let mut labels: Vec<u32> = (0..graph.n() as u32).collect();
            let mut before = value(&level, rule, &labels);
            let mut n_all = 0;
            for class in (0..held.n_classes()).cycle().take(4 * held.n_classes()) {
                // Everybody is active, so that colours crowd.
                held.start_moving(&labels).expect("started");
                held.move_class(class).expect("moved");
                let n_moved = held.n_moved().expect("counted");
                labels = held.labels().expect("labels");
                let after = value(&level, rule, &labels);
                assert!(if n_moved > 0 { after > before } else { after == before }, "{before} to {after}");
                before = after;
                n_all += n_moved;
            }
            assert!(n_all > 0);
        }
    }
}

#[test]
fn parts_stay_inside_communities_and_hold_together() {
    let graph = planted(2_000, 40, 16_000, 4);
    for quality in [MODULARITY, Quality::Cpm { gamma: 0.02 }] {
        let rule = Rule::new(&graph, quality).expect("fits");
        let level = Level::finest(&graph, rule.by_degree);
        let labels: Vec<u32> = (0..2_000).map(|node| node / 80 * 80).collect();
        let device = Processor::new();
        let mut held = device.hold(&level, rule, 11).expect("held");
        held.start_refining(&labels).expect("started");
        for class in 0..held.n_classes() {
            held.refine_class(class).expect("refined");
        }
        let parts = held.parts().expect("parts");
        assert!((0..2_000).all(|node| labels[node] == labels[parts[node] as usize]));
        let dense = Parts::of(&parts);
        assert!(dense.n < 1_500, "{} parts of 2000 nodes", dense.n);
        let split = Partition::from_raw(&components(&level, &parts));
        assert_eq!(split, Partition::from_raw(&parts), "a part is not connected");
        let alone: Vec<u32> = (0..2_000).collect();
        assert!(value(&level, rule, &parts) >= value(&level, rule, &alone), "a join cost something");
    }
}

#[test]
fn aggregation_is_that_of_the_plain_loops() {
    let graph = planted(700, 20, 4_000, 5);
    let level = Level::finest(&graph, true);
    let raw: Vec<u32> = (0..700).map(|node| node / 3 * 3).collect();
    let parts = Parts::of(&raw);
    let coarse = aggregate(&level, &parts, &Tables::new());
    let mut plain = vec![std::collections::BTreeMap::<u32, i64>::new(); parts.n];
    let mut mass = vec![0; parts.n];
    for node in 0..graph.n() {
        let own = parts.of[node];
        for (other, weight) in graph.edges(node) {
            mass[own as usize] += i64::from(weight);
            let to = parts.of[other as usize];
            if to != own {
                *plain[own as usize].entry(to).or_default() += i64::from(weight);
            }
        }
    }
    assert_eq!(coarse.mass, mass);
    for (node, plain) in plain.iter().enumerate() {
        let mut row = Vec::new();
        coarse.each(node, |other, weight| row.push((other, weight)));
        row.sort_unstable();
        assert_eq!(row, plain.iter().map(|(&other, &weight)| (other, weight)).collect::<Vec<_>>());
    }
    let heavy = graph_of_heavy_edges();
    let parts = Parts::of(&(0..200).map(|node| node % 2).collect::<Vec<_>>());
    let level = Level::finest(&heavy, true);
    let coarse = aggregate(&level, &parts, &Tables::new());
    assert_eq!(coarse.long_weights(), [10_000 * i64::from(i32::MAX); 2], "a weight above 32 bits");
}

/// A complete bipartite graph of odd and even nodes.
fn graph_of_heavy_edges() -> CsrGraph {
    graph(200, (0..200).step_by(2).flat_map(|even| (1..200).step_by(2).map(move |odd| (even, odd, i32::MAX))))
}

#[test]
fn labels_do_not_depend_on_threads_or_runs() {
    let graph = planted(5_000, 50, 50_000, 6);
    for quality in [MODULARITY, CPM] {
        for limits in [SMALL, NONE_SERIAL] {
            let run = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                pool.install(|| cut(&graph, &settings(quality, 9), &limits))
            };
            let one = run(1);
            assert!(one.n_communities() > 10);
            assert!([2, 2, 3].iter().all(|&threads| run(threads) == one));
        }
    }
}

#[test]
fn quality_is_that_of_the_serial_rules() {
    for (n, members) in [(600, 20), (3_000, 50), (6_000, 200)] {
        let graph = planted(n, members, n as usize * 8, u64::from(n));
        for q in [MODULARITY, CPM] {
            let settings = settings(q, 3);
            let serial = leiden(std::slice::from_ref(&graph), &settings).expect("valid");
            let serial = quality(&graph, &serial[0], q);
            for limits in [SMALL, NONE_SERIAL] {
                let coloured = quality(&graph, &cut(&graph, &settings, &limits), q);
                println!("{n} {q:?}: coloured {coloured:.5}, serial {serial:.5}");
                assert!(coloured >= 0.98 * serial, "{coloured} of {serial}");
            }
        }
    }
}

#[test]
fn hubs_and_graphs_without_edges_pass() {
    let hub = star(40_000);
    // One community: each leaf alone would lose its only edge.
    assert_eq!(cut(&hub, &settings(Quality::Modularity { resolution: 0.5 }, 1), &SMALL).n_communities(), 1);
    for quality in [MODULARITY, CPM] {
        cut(&hub, &settings(quality, 1), &NONE_SERIAL);
    }
    for n in [0, 1, 500] {
        let found = cut(&CsrGraph::without_edges(n), &settings(MODULARITY, 1), &NONE_SERIAL);
        assert_eq!(found.n_communities(), n);
    }
}

#[test]
fn rounds_never_lower_the_quality() {
    let graph = planted(2_000, 30, 14_000, 8);
    for q in [MODULARITY, CPM] {
        let mut before = f64::MIN;
        for rounds_max in 1..5 {
            let settings = LeidenSettings { quality: q, seed: 2, rounds_max };
            let after = quality(&graph, &cut(&graph, &settings, &SMALL), q);
            assert!(after >= before - 1e-9, "{before} to {after}");
            before = after;
        }
    }
}
