//! The Leiden kernel, emulated: the labels of the processor bit for bit, whatever the order of lanes.

#[allow(dead_code, reason = "each test program uses a part of it")]
mod emulate;

use std::collections::BTreeMap;

use emulate::{Arrays, Flavour, ORDERS, Program, build};
use kernels::{CsrGraph, LeidenSettings, Quality, WEIGHT_ONE, open};

/// Documents of the large test, spread over orders and qualities.
const N_DOCUMENTS: usize = 10_400;
const QUALITIES: [Quality; 4] = [
    Quality::Modularity { resolution: 1.0 },
    Quality::Cpm { gamma: 0.5 },
    Quality::Modularity { resolution: 0.7 },
    Quality::Cpm { gamma: 0.05 },
];

/// Whole numbers, the same on every run. Source: splitmix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

fn graph(n: usize, edges: &[(usize, usize, i32)]) -> CsrGraph {
    let mut rows = vec![BTreeMap::new(); n];
    for &(u, v, weight) in edges.iter().filter(|edge| edge.0 != edge.1) {
        rows[u].insert(v as u32, weight);
        rows[v].insert(u as u32, weight);
    }
    let mut graph = CsrGraph::without_edges(0);
    for row in rows {
        graph.columns.extend(row.keys());
        graph.weights.extend(row.values());
        graph.offsets.push(graph.columns.len() as u32);
    }
    graph
}

/// A document of topics: most edges within a topic or between neighbours, a few anywhere. Every fourth one has only
/// three different weights, so that gains tie.
fn document(n: usize, numbers: &mut Numbers) -> CsrGraph {
    let n_topics = 1 + numbers.below(1 + n / 6);
    let (n_edges, few_weights) = (n * (1 + numbers.below(4)), numbers.below(4) == 0);
    let mut edges = Vec::new();
    for _ in 0..n_edges {
        let u = numbers.below(n);
        let v = match numbers.below(8) {
            0 => numbers.below(n),
            1 | 2 => (u + 1) % n,
            _ => (u % n_topics + n_topics * numbers.below(n.div_ceil(n_topics))).min(n - 1),
        };
        let weight = if few_weights { 4_096 * (1 + numbers.below(3)) } else { 8_192 + numbers.below(10_000) };
        edges.push((u, v, weight as i32));
    }
    graph(n, &edges)
}

/// Few large documents among many small ones: an emulated lane costs a thousand times what a real one does.
fn n_sentences(idx: usize, numbers: &mut Numbers) -> usize {
    match idx {
        0 => 2_000,
        1..4 => 300 + numbers.below(300),
        4..40 => 50 + numbers.below(100),
        _ if idx % 16 == 0 => 1 + numbers.below(40),
        _ => 1 + numbers.below(10),
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The kernel's arrays for these documents.
fn arrays(graphs: &[CsrGraph], settings: &LeidenSettings) -> Arrays {
    let (by_degree, setting) = match settings.quality {
        Quality::Cpm { gamma } => (0_u32, gamma),
        Quality::Modularity { resolution } => (1, resolution),
    };
    let one = i64::from(WEIGHT_ONE);
    let push = (f64::from(setting) * one as f64).round() as i64;
    let common = if by_degree == 1 { gcd(push, one) } else { 1 };
    let (mut offsets, mut rows, mut pulls) = (vec![0_u32], Vec::new(), Vec::new());
    let (mut columns, mut weights): (Vec<u8>, Vec<i32>) = (Vec::new(), Vec::new());
    for graph in graphs {
        let first = weights.len() as u32;
        rows.extend(graph.offsets[..graph.n()].iter().map(|offset| first + offset));
        columns.extend(graph.columns.iter().flat_map(|&column| (column as u16).to_le_bytes()));
        weights.extend(&graph.weights);
        offsets.push(offsets[offsets.len() - 1] + graph.n() as u32);
        let total: i64 = graph.weights.iter().map(|&weight| i64::from(weight)).sum();
        pulls.push(if by_degree == 1 { total * (one / common) } else { 1 });
    }
    rows.push(weights.len() as u32);
    let documents: Vec<u32> = (0..graphs.len() as u32).collect();
    let mut shape = Vec::new();
    shape.extend(settings.seed.to_le_bytes());
    shape.extend((push / common).to_le_bytes());
    shape.extend(by_degree.to_le_bytes());
    shape.extend(settings.rounds_max.to_le_bytes());
    Arrays::new().u32s(&documents).u32s(&offsets).u32s(&rows).bytes(&columns).i32s(&weights).i64s(&pulls).bytes(&shape)
}

/// The processor's labels, document after document.
fn labels_of_cpu(graphs: &[CsrGraph], settings: &LeidenSettings) -> Vec<u16> {
    let found = open("cpu").expect("always there").leiden(graphs, settings).expect("valid");
    found.iter().flat_map(|partition| partition.labels.iter().map(|&label| label as u16)).collect()
}

fn check(program: &Program, order: u32, graphs: &[CsrGraph], settings: &LeidenSettings) {
    let found = program.run(order, &arrays(graphs, settings)).unwrap_or_else(|failure| panic!("{failure}")).u16s(0);
    let want = labels_of_cpu(graphs, settings);
    let mut first = 0;
    for (idx, graph) in graphs.iter().enumerate() {
        let sentences = first..first + graph.n();
        let (found, want) = (&found[sentences.clone()], &want[sentences]);
        assert_eq!(found, want, "document {idx}, order {order}, {settings:?}: {graph:?}");
        first += graph.n();
    }
}

/// Documents that have little to choose from, or too much of the same.
fn edge_cases() -> Vec<CsrGraph> {
    let all = |n: usize, weight: i32| {
        let pairs = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v, weight)));
        graph(n, &pairs.collect::<Vec<_>>())
    };
    let ring = |n: usize| graph(n, &(0..n).map(|u| (u, (u + 1) % n, 9_000)).collect::<Vec<_>>());
    let star = |n: usize| graph(n, &(1..n).map(|u| (0, u, 9_000)).collect::<Vec<_>>());
    let mut cases: Vec<CsrGraph> = [0, 1, 2, 5, 33, 100].map(CsrGraph::without_edges).into();
    cases.extend([2, 3, 31, 32, 33, 40].map(|n| all(n, WEIGHT_ONE)));
    cases.extend([4, 31, 64, 97].map(ring));
    cases.extend([5, 33, 70].map(star));
    // Cliques in a ring, all alike: every choice is a tie.
    for (n_cliques, size) in [(4, 4), (6, 5), (12, 3)] {
        let mut edges = Vec::new();
        for clique in 0..n_cliques {
            let first = clique * size;
            edges.extend((0..size).flat_map(|u| (u + 1..size).map(move |v| (first + u, first + v, 8_192))));
            edges.push((first, (first + size) % (n_cliques * size), 8_192));
        }
        cases.push(graph(n_cliques * size, &edges));
    }
    // Dense and all alike: a lane meets several neighbours that tie.
    let mut numbers = Numbers(4);
    cases.extend([40, 66, 90].map(|n| {
        let pairs = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v, 8_192)));
        graph(n, &pairs.filter(|_| numbers.below(2) == 0).collect::<Vec<_>>())
    }));
    // Two sides: under a density of 0.5 they pair off, and every tie that was decided shows in the labels.
    let sides = (0..40).flat_map(|u| (40..80).map(move |v| (u, v, 9_000)));
    cases.push(graph(80, &sides.collect::<Vec<_>>()));
    // Parts grow until they hold less to the rest of their community than to themselves, and are joined no more.
    let weak = [(0, 1, 12_643), (0, 5, 22_942), (0, 6, 62_228), (1, 2, 34_657), (1, 3, 35_108), (1, 6, 21_593)];
    let weaker = [(2, 4, 62_980), (2, 5, 9_022), (3, 5, 22_043), (4, 5, 5_644), (4, 6, 60_858)];
    cases.push(graph(7, &[&weak[..], &weaker].concat()));
    let weak = [(0, 1, 5_447), (0, 2, 7_244), (0, 4, 20_995), (0, 9, 33_888), (2, 4, 11_706), (2, 6, 9_510)];
    let weaker = [(3, 4, 12_174), (3, 5, 12_548), (4, 5, 10_867), (5, 6, 61_188), (5, 9, 10_384), (7, 8, 10_792)];
    cases.push(graph(12, &[&weak[..], &weaker, &[(7, 11, 9_778), (9, 11, 14_546)]].concat()));
    // Isolated sentences between linked ones.
    cases.push(graph(50, &[(3, 40, 9_000), (40, 41, 9_000), (7, 8, 1)]));
    cases
}

fn settings(quality: Quality, rounds_max: u32) -> LeidenSettings {
    LeidenSettings { quality, seed: 42, rounds_max }
}

#[test]
fn edge_cases_and_ten_thousand_documents_get_the_labels_of_the_processor() {
    let Some(program) = build("leiden", Flavour::Cuda) else { return };
    check_edge_cases(&program);
    let mut numbers = Numbers(1);
    let graphs: Vec<CsrGraph> = (0..N_DOCUMENTS)
        .map(|idx| {
            let n = n_sentences(idx, &mut numbers);
            document(n, &mut numbers)
        })
        .collect();
    let mut n_documents = 0;
    for (slot, order) in ORDERS.into_iter().enumerate() {
        for (at, quality) in QUALITIES.into_iter().enumerate() {
            let place = slot * QUALITIES.len() + at;
            let share: Vec<CsrGraph> =
                graphs.iter().skip(place).step_by(ORDERS.len() * QUALITIES.len()).cloned().collect();
            n_documents += share.len();
            check(&program, order, &share, &settings(quality, 20));
        }
    }
    assert_eq!(n_documents, N_DOCUMENTS);
}

/// In every order, and cut off after few rounds.
fn check_edge_cases(program: &Program) {
    let cases = edge_cases();
    for quality in QUALITIES {
        for order in ORDERS {
            check(program, order, &cases, &settings(quality, 20));
        }
        for rounds_max in 1..4 {
            check(program, 2, &cases, &settings(quality, rounds_max));
        }
    }
}

#[test]
fn the_metal_branch_gets_the_same_labels() {
    let Some(program) = build("leiden", Flavour::Metal) else { return };
    let mut numbers = Numbers(2);
    let mut graphs = edge_cases();
    graphs.extend((0..200).map(|_| {
        let n = 1 + numbers.below(40);
        document(n, &mut numbers)
    }));
    for (order, quality) in ORDERS.into_iter().zip(QUALITIES) {
        check(&program, order, &graphs, &settings(quality, 20));
    }
}

#[test]
fn the_sanitizers_find_nothing() {
    let Some(program) = build("leiden", Flavour::Sanitized) else { return };
    let mut numbers = Numbers(3);
    let mut graphs = edge_cases();
    graphs.extend((0..40).map(|_| {
        let n = 1 + numbers.below(60);
        document(n, &mut numbers)
    }));
    check(&program, 2, &graphs, &settings(QUALITIES[0], 20));
    check(&program, 1, &graphs, &settings(QUALITIES[1], 20));
}
