//! Large graphs through the public door, on every device that is built in and present.

use kernels::{CsrGraph, LeidenSettings, Partition, Quality, WEIGHT_ONE, quality};

mod common;
use common::{assert_connected, backends};

const MODULARITY: Quality = Quality::Modularity { resolution: 1.0 };
/// Graphs of more nodes are cut by the coloured rules.
const SWITCH: u32 = 32_768;

/// Rings of `members` nodes, each ring with chords, and one edge from ring to ring.
fn rings(n: u32, members: u32) -> CsrGraph {
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); n as usize];
    let mut link = |from: u32, to: u32| {
        if from != to && !rows[from as usize].contains(&to) {
            rows[from as usize].push(to);
            rows[to as usize].push(from);
        }
    };
    for node in 0..n {
        let first = node / members * members;
        let size = members.min(n - first);
        for step in [1, 2, 5] {
            link(node, first + (node - first + step) % size);
        }
    }
    for ring in 1..n / members {
        link((ring - 1) * members, ring * members);
    }
    let mut graph = CsrGraph::without_edges(0);
    for row in &mut rows {
        row.sort_unstable();
        graph.columns.extend_from_slice(row);
        graph.offsets.push(graph.columns.len() as u32);
    }
    graph.weights = vec![WEIGHT_ONE; graph.columns.len()];
    graph
}

#[test]
fn both_sides_of_the_switch_find_the_rings() {
    for backend in backends() {
        for n in [SWITCH - 1, SWITCH, SWITCH + 1, SWITCH + 20] {
            let graph = rings(n, 20);
            let settings = LeidenSettings { quality: Quality::Cpm { gamma: 0.1 }, seed: 3, rounds_max: 10 };
            let found = backend.leiden(std::slice::from_ref(&graph), &settings).expect("valid");
            found[0].check(graph.n()).expect("dense");
            assert_connected(&graph, &found[0]);
            let rings = n.div_ceil(20) as usize;
            assert!(found[0].n_communities().abs_diff(rings) <= rings / 20, "{}", found[0].n_communities());
        }
    }
}

#[test]
fn large_and_small_graphs_share_a_call_and_every_run_is_the_same() {
    let graphs = [rings(200, 20), rings(40_000, 25), CsrGraph::without_edges(33_000), rings(60, 10), rings(35_000, 40)];
    for backend in backends() {
        for q in [MODULARITY, Quality::Cpm { gamma: 0.1 }] {
            let settings = LeidenSettings { quality: q, seed: 5, rounds_max: 10 };
            let run = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                pool.install(|| backend.leiden(&graphs, &settings).expect("valid"))
            };
            let found = run(1);
            assert_eq!(found.len(), graphs.len());
            for (graph, found) in graphs.iter().zip(&found) {
                found.check(graph.n()).expect("dense");
                assert_connected(graph, found);
            }
            assert!((0..3).all(|_| run(2) == found));
            for (graph, alone) in graphs.iter().zip(&found) {
                let one = backend.leiden(std::slice::from_ref(graph), &settings).expect("valid");
                assert_eq!(&one[0], alone, "a graph does not see its neighbours");
            }
            assert!(quality(&graphs[1], &found[1], q) > quality(&graphs[1], &Partition { labels: vec![0; 40_000] }, q));
        }
    }
}
