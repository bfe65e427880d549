//! One suite over every device that is built in and present; the plain loops here are the oracle.

use std::path::PathBuf;

use kernels::{CsrGraph, LeidenSettings, LinkSettings, Neighbour, Quality, Rows, Vectors, WEIGHT_ONE, open, quality};

mod common;
use common::{assert_connected, backends};

const MODULARITY: Quality = Quality::Modularity { resolution: 1.0 };

fn settings(quality: Quality) -> LeidenSettings {
    LeidenSettings { quality, seed: 7, rounds_max: 10 }
}

/// Unit rows around `n_topics` directions.
fn topics(n: usize, n_topics: usize, dim: usize, noise: f32) -> Vectors {
    let mut state = 12_345_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    let centres: Vec<Vec<f32>> = (0..n_topics).map(|_| (0..dim).map(|_| next()).collect()).collect();
    let mut data = Vec::new();
    for row in 0..n {
        let centre = &centres[row * n_topics / n];
        let values: Vec<f32> = centre.iter().map(|value| value + noise * next()).collect();
        let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        data.extend(values.iter().map(|value| value / length));
    }
    Vectors::new(data, dim).expect("even")
}

fn chain(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).fold(0.0, |sum, (&a, &b)| a.mul_add(b, sum))
}

/// The definition of `link` in plain loops, for one source.
fn link_plainly(rows: Rows<'_>, settings: &LinkSettings) -> Vec<Vec<(u32, i32)>> {
    let n = rows.n();
    let reach = settings.closeness_reach;
    let score = |i: usize, j: usize| {
        let far = i.abs_diff(j) as u32;
        let near = 1.0 - far as f32 / (reach as f32 + 1.0);
        let bonus = if far <= reach { settings.closeness_bonus * near } else { 0.0 };
        chain(rows.row(i), rows.row(j)) + bonus
    };
    let weight = |score: f32| (score * WEIGHT_ONE as f32).round() as i32;
    let mut weights: Vec<i32> =
        (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).map(|(i, j)| weight(score(i, j))).collect();
    weights.sort_unstable();
    let middle = |at: usize| weights.get(at).copied().unwrap_or(i32::MIN / 2);
    let count = weights.len();
    let median = (middle(count.saturating_sub(1) / 2) + middle(count / 2)).div_euclid(2);
    let weight_min = median.max(weight(settings.similarity_min)).max(1);
    let mut edges = vec![Vec::new(); n];
    for i in 0..n {
        let mut picks: Vec<(usize, f32)> = (0..n).filter(|&j| j != i).map(|j| (j, score(i, j))).collect();
        picks.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        picks.truncate(settings.neighbours_max as usize);
        for (j, score) in picks {
            if score >= settings.similarity_min && weight(score) >= weight_min {
                edges[i].push((j as u32, weight(score)));
                edges[j].push((i as u32, weight(score)));
            }
        }
    }
    edges.iter_mut().for_each(|row| {
        row.sort_unstable();
        row.dedup();
    });
    edges
}

#[test]
fn link_equals_the_plain_loops_edge_for_edge() {
    let vectors = topics(150, 6, 24, 0.6);
    let offsets = [0, 0, 1, 3, 60, 150];
    for backend in backends() {
        for neighbours_max in [0, 1, 5, 32] {
            let settings = LinkSettings { neighbours_max, ..LinkSettings::STANDARD };
            let graphs = backend.link(vectors.rows(), &offsets, &settings).expect("valid");
            assert_eq!(graphs.len(), 5);
            for (graph, bounds) in graphs.iter().zip(offsets.windows(2)) {
                graph.check().expect("invariants");
                let (start, end) = (bounds[0] as usize, bounds[1] as usize);
                let part = Rows::new(&vectors.rows().data()[start * 24..end * 24], 24);
                let want = link_plainly(part.expect("even"), &settings);
                let got: Vec<Vec<(u32, i32)>> = (0..graph.n()).map(|node| graph.edges(node).collect()).collect();
                assert_eq!(got, want, "{} {neighbours_max}", backend.name());
            }
        }
    }
}

/// Rows of few distinct directions: most scores are ties, many of them zeros of either sign.
fn ties(n: usize, dim: usize) -> Vectors {
    let value = |row: usize, at: usize| match (row * 7 % 5 == at % 5, row % 11) {
        (true, 0) => -1.0,
        (true, _) => 1.0,
        (false, _) => -0.0,
    };
    let data = (0..n).flat_map(|row| (0..dim).map(move |at| value(row, at) / (dim as f32 / 5.0).sqrt())).collect();
    Vectors::new(data, dim).expect("even")
}

/// Numbers of rows around those of a panel, of a vector and of a block.
const BORDERS: [usize; 13] = [0, 1, 2, 3, 5, 16, 31, 33, 64, 255, 256, 257, 530];

#[test]
fn link_equals_the_plain_loops_at_every_border_and_bound() {
    let standard = LinkSettings::STANDARD;
    let all_settings = [
        LinkSettings { neighbours_max: 3, ..standard },
        LinkSettings { similarity_min: -1.5, neighbours_max: 600, closeness_reach: 0, ..standard },
        LinkSettings { similarity_min: 0.0, closeness_bonus: 1.5, closeness_reach: 300, ..standard },
        LinkSettings { similarity_min: 1.1, ..standard },
    ];
    for backend in backends() {
        for n in BORDERS {
            for vectors in [topics(n, 3.min(n), 10, 0.5), ties(n, 10)] {
                for settings in &all_settings {
                    let graphs = backend.link(vectors.rows(), &[0, n as u32], settings).expect("valid");
                    graphs[0].check().expect("invariants");
                    let got: Vec<Vec<(u32, i32)>> = (0..n).map(|node| graphs[0].edges(node).collect()).collect();
                    assert_eq!(got, link_plainly(vectors.rows(), settings), "{} {n} {settings:?}", backend.name());
                }
            }
        }
    }
}

#[test]
fn small_sources_are_linked_as_defined_wherever_the_middle_lies() {
    for backend in backends() {
        for n in 2..14 {
            for step in 0..40 {
                let similarity_min = step as f32 / 20.0 - 1.0;
                let settings = LinkSettings { similarity_min, closeness_bonus: 0.05, ..LinkSettings::STANDARD };
                let vectors = topics(n, 2, 3, 0.9);
                let graphs = backend.link(vectors.rows(), &[0, n as u32], &settings).expect("valid");
                let got: Vec<Vec<(u32, i32)>> = (0..n).map(|node| graphs[0].edges(node).collect()).collect();
                assert_eq!(got, link_plainly(vectors.rows(), &settings), "{} {n} {settings:?}", backend.name());
            }
        }
    }
}

#[test]
fn equal_and_orthogonal_rows_are_linked_as_defined() {
    let settings = LinkSettings { closeness_bonus: 0.0, ..LinkSettings::STANDARD };
    for backend in backends() {
        let equal = [1.0, 0.0].repeat(5);
        let graphs = backend.link(Rows::new(&equal, 2).expect("even"), &[0, 5], &settings);
        let graph = &graphs.expect("valid")[0];
        assert_eq!(graph.columns.len(), 20);
        assert!(graph.weights.iter().all(|&weight| weight == WEIGHT_ONE));
        let mut orthogonal = vec![0.0; 25];
        (0..5).for_each(|row| orthogonal[row * 6] = 1.0);
        let graphs = backend.link(Rows::new(&orthogonal, 5).expect("even"), &[0, 5], &settings);
        assert_eq!(graphs.expect("valid")[0], CsrGraph::without_edges(5));
    }
}

#[test]
fn broken_input_is_refused() {
    let rows = Rows::new(&[1.0, 0.0, 0.0, 1.0], 2).expect("even");
    let bad = Rows::new(&[f32::NAN, 0.0], 2).expect("even");
    let wide = Rows::new(&[1.0, 0.0, 0.0], 3).expect("even");
    let standard = LinkSettings::STANDARD;
    let nan = LinkSettings { similarity_min: f32::NAN, ..standard };
    for backend in backends() {
        for offsets in [&[][..], &[0], &[0, 1], &[1, 2], &[0, 2, 1, 2], &[0, 3]] {
            assert!(backend.link(rows, offsets, &standard).is_err(), "{offsets:?}");
        }
        assert!(backend.link(rows, &[0, 2], &nan).is_err());
        assert!(backend.link(bad, &[0, 1], &standard).is_err());
        assert!(backend.nearest(bad, rows, 1, 0.0).is_err());
        assert!(backend.nearest(rows, bad, 1, 0.0).is_err());
        assert!(backend.nearest(wide, rows, 1, 0.0).is_err());
        let crooked = CsrGraph { offsets: vec![0, 1], columns: vec![0], weights: vec![1] };
        assert!(backend.leiden(&[crooked], &settings(MODULARITY)).is_err());
        let nan = settings(Quality::Cpm { gamma: f32::NAN });
        assert!(backend.leiden(&[], &nan).is_err());
    }
    assert!(open("abacus").is_err());
}

#[test]
fn nearest_equals_a_sort_of_all_rows() {
    let rows = topics(4_500, 9, 16, 0.8);
    let queries = topics(60, 9, 16, 0.7);
    for backend in backends() {
        for (k, similarity_min) in [(0, -2.0), (1, -2.0), (7, 0.2), (10_000, 0.9)] {
            let found = backend.nearest(queries.rows(), rows.rows(), k, similarity_min).expect("valid");
            for (query, found) in found.iter().enumerate() {
                let want = nearest_plainly(queries.row(query), rows.rows(), k, similarity_min, usize::MAX);
                assert_eq!(found, &want);
            }
        }
    }
}

/// The definition of `nearest`, by a sort; `but` is left out.
fn nearest_plainly(query: &[f32], rows: Rows<'_>, k: u32, similarity_min: f32, but: usize) -> Vec<Neighbour> {
    let scored = (0..rows.n()).map(|row| Neighbour { row: row as u32, score: chain(query, rows.row(row)) });
    let mut found: Vec<Neighbour> =
        scored.filter(|one| one.row as usize != but && one.score >= similarity_min).collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
    found.truncate(k as usize);
    found
}

/// Rows and the bits of scores: a zero is not the other zero.
fn bits(found: &[Vec<Neighbour>]) -> Vec<Vec<(u32, u32)>> {
    found.iter().map(|row| row.iter().map(|one| (one.row, one.score.to_bits())).collect()).collect()
}

#[test]
fn neighbours_equal_a_sort_of_all_other_rows() {
    for backend in backends() {
        for n in BORDERS {
            for vectors in [topics(n, 4.min(n), 10, 0.9), ties(n, 10)] {
                let rows = vectors.rows();
                let asked = [(0, -2.0), (1, -2.0), (5, 0.0), (16, -2.0), (17, 0.4), (u32::MAX, -2.0), (3, 1.5)];
                for (k, similarity_min) in asked.into_iter().chain([(3, f32::NAN)]) {
                    let found = backend.neighbours(rows, k, similarity_min).expect("valid");
                    let plain = |row: usize| nearest_plainly(rows.row(row), rows, k, similarity_min, row);
                    let want: Vec<Vec<Neighbour>> = (0..n).map(plain).collect();
                    assert_eq!(bits(&found), bits(&want), "{} {n} {k} {similarity_min}", backend.name());
                    let found = backend.nearest(rows, rows, k, similarity_min).expect("valid");
                    let plain = |row: usize| nearest_plainly(rows.row(row), rows, k, similarity_min, n);
                    let want: Vec<Vec<Neighbour>> = (0..n).map(plain).collect();
                    assert_eq!(bits(&found), bits(&want), "{} {n} {k} {similarity_min}", backend.name());
                }
            }
        }
        let bad = Rows::new(&[1.0, f32::INFINITY], 1).expect("even");
        let error = backend.neighbours(bad, 1, 0.0).expect_err("not finite");
        assert!(error.to_string().contains("row 1"), "{error}");
    }
}

#[test]
fn neighbours_do_not_depend_on_threads() {
    let (spread, equal) = (topics(1_300, 9, 12, 0.8), ties(900, 10));
    for backend in backends() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| {
                let settings = LinkSettings { similarity_min: 0.0, ..LinkSettings::STANDARD };
                let graphs = backend.link(spread.rows(), &[0, 900, 1_300], &settings).expect("valid");
                let found = [&spread, &equal].map(|vectors| {
                    let joined = backend.neighbours(vectors.rows(), 7, -2.0).expect("valid");
                    let searched = backend.nearest(equal.rows(), equal.rows(), 7, -2.0).expect("valid");
                    (bits(&joined), bits(&searched))
                });
                (graphs, found)
            })
        };
        let one = run(1);
        assert!(one.1.iter().all(|(joined, _)| joined.iter().all(|row| row.len() == 7)));
        for threads in [1, 2, 2, 5] {
            assert_eq!(one, run(threads));
        }
    }
}

#[test]
fn nearest_breaks_ties_by_the_lower_row() {
    let rows = [1.0, 0.0].repeat(9);
    for backend in backends() {
        let rows = Rows::new(&rows, 2).expect("even");
        let query = Rows::new(&[1.0, 0.0], 2).expect("even");
        let found = backend.nearest(query, rows, 3, 0.5).expect("valid");
        assert_eq!(found[0].iter().map(|one| one.row).collect::<Vec<_>>(), [0, 1, 2]);
        let nothing = Rows::new(&[], 2).expect("even");
        assert!(backend.nearest(nothing, rows, 3, 0.5).expect("valid").is_empty());
        assert_eq!(backend.nearest(query, nothing, 3, 0.5).expect("valid"), [vec![]]);
    }
}

/// The graph of unweighted edges.
fn graph(n: usize, edges: &[(u32, u32)]) -> CsrGraph {
    let weighted: Vec<(u32, u32, i32)> = edges.iter().map(|&(u, v)| (u, v, WEIGHT_ONE)).collect();
    weighted_graph(n, &weighted)
}

fn weighted_graph(n: usize, edges: &[(u32, u32, i32)]) -> CsrGraph {
    let mut rows = vec![Vec::new(); n];
    for &(u, v, weight) in edges {
        rows[u as usize].push((v, weight));
        rows[v as usize].push((u, weight));
    }
    let mut graph = CsrGraph { offsets: vec![0], columns: vec![], weights: vec![] };
    for mut row in rows {
        row.sort_unstable();
        graph.columns.extend(row.iter().map(|edge| edge.0));
        graph.weights.extend(row.iter().map(|edge| edge.1));
        graph.offsets.push(graph.columns.len() as u32);
    }
    graph
}

#[test]
fn leiden_finds_two_triangles_and_small_graphs() {
    let triangles = graph(6, &[(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5)]);
    let graphs = [triangles, graph(0, &[]), graph(1, &[]), graph(2, &[]), graph(2, &[(0, 1)]), graph(4, &[])];
    for backend in backends() {
        for quality in [MODULARITY, Quality::Cpm { gamma: 0.5 }] {
            let found = backend.leiden(&graphs, &settings(quality)).expect("valid");
            let labels: Vec<&[u32]> = found.iter().map(|part| &part.labels[..]).collect();
            let want: [&[u32]; 6] = [&[0, 0, 0, 1, 1, 1], &[], &[0], &[0, 1], &[0, 0], &[0, 1, 2, 3]];
            assert_eq!(labels, want, "{} {quality:?}", backend.name());
        }
    }
}

#[test]
fn equal_rows_are_one_community() {
    let edges: Vec<(u32, u32)> = (0..12).flat_map(|u| (u + 1..12).map(move |v| (u, v))).collect();
    for backend in backends() {
        for quality in [MODULARITY, Quality::Cpm { gamma: 0.9 }] {
            let found = backend.leiden(&[graph(12, &edges)], &settings(quality)).expect("valid");
            assert_eq!(found[0].n_communities(), 1, "{quality:?}");
        }
    }
}

#[test]
fn quality_never_falls_between_rounds_and_communities_are_connected() {
    let graphs = linked_topics();
    for backend in backends() {
        for rule in [MODULARITY, Quality::Cpm { gamma: 0.7 }] {
            for seed in 0..5 {
                let mut before = vec![f64::NEG_INFINITY; graphs.len()];
                for rounds_max in 1..=6 {
                    let settings = LeidenSettings { quality: rule, seed, rounds_max };
                    let found = backend.leiden(&graphs, &settings).expect("valid");
                    for ((graph, partition), before) in graphs.iter().zip(&found).zip(&mut before) {
                        partition.check(graph.n()).expect("dense");
                        assert_connected(graph, partition);
                        let value = quality(graph, partition, rule);
                        assert!(value >= *before - 1e-9, "{value} after {before}");
                        *before = value;
                    }
                }
            }
        }
    }
}

#[test]
fn labels_do_not_depend_on_the_unit_of_the_weights() {
    let graphs = linked_topics();
    // Sums of these weights need more than 32 bits, their gains more than 64.
    let heavy = |graph: &CsrGraph| CsrGraph {
        weights: graph.weights.iter().map(|&weight| weight * 100_000).collect(),
        ..graph.clone()
    };
    let heavy: Vec<CsrGraph> = graphs.iter().map(heavy).collect();
    for backend in backends() {
        let found = backend.leiden(&graphs, &settings(MODULARITY)).expect("valid");
        assert!(found.iter().all(|partition| partition.n_communities() > 1));
        assert_eq!(backend.leiden(&heavy, &settings(MODULARITY)).expect("valid"), found);
    }
}

fn linked_topics() -> Vec<CsrGraph> {
    let vectors = topics(400, 12, 24, 0.9);
    let settings = LinkSettings { neighbours_max: 8, ..LinkSettings::STANDARD };
    let cpu = open("cpu").expect("always there");
    cpu.link(vectors.rows(), &[0, 30, 150, 400], &settings).expect("valid")
}

#[test]
fn labels_do_not_depend_on_threads_and_repeat_by_seed() {
    let graphs = linked_topics();
    let vectors = topics(300, 5, 24, 0.5);
    for backend in backends() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| {
                let linked = backend.link(vectors.rows(), &[0, 300], &LinkSettings::STANDARD);
                let found = backend.leiden(&graphs, &settings(MODULARITY));
                (linked.expect("valid"), found.expect("valid"))
            })
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(5));
    }
}

fn data(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("STRATA_DATA").map(PathBuf::from);
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let path = root.unwrap_or_else(beside).join(name);
    path.exists().then_some(path)
}

/// 300 graphs of real documents; peers (leidenalg, igraph, networkit) reach .47264 to .47350.
#[test]
fn modularity_of_real_documents_is_that_of_the_peers() {
    let Some(path) = data("graphs/edges.tsv.zst") else {
        println!("skipped: no data");
        return;
    };
    let packed = std::fs::File::open(path).expect("readable");
    let text = String::from_utf8(zstd::decode_all(packed).expect("zstd")).expect("utf-8");
    let mut documents: Vec<Vec<(u32, u32, i32)>> = Vec::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| fields[at].parse::<u32>().expect("number");
        let weight: f32 = fields[3].parse().expect("weight");
        documents.resize(documents.len().max(number(0) as usize + 1), Vec::new());
        let edge = (number(1), number(2), (weight * WEIGHT_ONE as f32).round() as i32);
        documents[number(0) as usize].push(edge);
    }
    let n_nodes = |edges: &[(u32, u32, i32)]| edges.iter().map(|edge| edge.0.max(edge.1) + 1).max();
    let graphs: Vec<CsrGraph> =
        documents.iter().map(|edges| weighted_graph(n_nodes(edges).unwrap_or(0) as usize, edges)).collect();
    for backend in backends() {
        let found = backend.leiden(&graphs, &settings(MODULARITY)).expect("valid");
        let mut sum = 0.0;
        for (graph, partition) in graphs.iter().zip(&found) {
            assert_connected(graph, partition);
            sum += quality(graph, partition, MODULARITY);
        }
        let mean = sum / graphs.len() as f64;
        println!("{}: mean modularity {mean:.5} of {} graphs", backend.name(), graphs.len());
        assert!(mean >= 0.4736, "{mean}");
    }
}
