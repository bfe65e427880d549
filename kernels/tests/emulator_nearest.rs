//! The scoring kernels, emulated: the picks, scores and medians of plain loops bit for bit, the graphs of the processor.

#[allow(dead_code, reason = "each test program uses a part of it")]
mod emulate;

use emulate::{Arrays, Flavour, Program, build};
use kernels::{CsrGraph, LinkSettings, Neighbour, Rows, WEIGHT_ONE, open};

/// What `emulator/nearest.cc` does, by the side of a tile.
const LINK: [u32; 2] = [0, 1];
const NEAREST: [u32; 2] = [2, 3];
const SIDES: [u32; 2] = [64, 128];

struct Source {
    rows: Vec<f32>,
    dim: usize,
}

impl Source {
    fn n(&self) -> usize {
        self.rows.len() / self.dim
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.rows[row * self.dim..(row + 1) * self.dim]
    }
}

/// Numbers in [-1, 1), the same on every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn below(&mut self, n: usize) -> usize {
        ((self.next() + 1.0) / 2.0 * n as f32) as usize
    }
}

/// Unit rows around a few directions; every third one repeats an earlier row, so that scores tie.
fn random(n: usize, dim: usize, numbers: &mut Numbers) -> Source {
    let centres: Vec<f32> = (0..3 * dim).map(|_| numbers.next()).collect();
    let mut rows: Vec<f32> = Vec::new();
    for row in 0..n {
        if row % 3 == 2 {
            let earlier = numbers.below(row);
            rows.extend_from_within(earlier * dim..(earlier + 1) * dim);
            continue;
        }
        let centre = numbers.below(3) * dim;
        let values: Vec<f32> = (0..dim).map(|k| centres[centre + k] + 0.7 * numbers.next()).collect();
        let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        rows.extend(values.iter().map(|value| value / length));
    }
    Source { rows, dim }
}

fn equal(n: usize, dim: usize) -> Source {
    let mut row = vec![0.0; dim];
    row[dim / 2] = 1.0;
    Source { rows: row.repeat(n), dim }
}

/// Row `i` is the `i mod dim`-th axis, turned round now and then: scores are 1, -1, 0 and -0.
fn axes(n: usize, dim: usize) -> Source {
    let mut rows = vec![0.0; n * dim];
    (0..n).for_each(|row| rows[row * dim + row % dim] = if row % 5 == 4 { -1.0 } else { 1.0 });
    Source { rows, dim }
}

fn chain(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).fold(0.0, |sum, (&a, &b)| a.mul_add(b, sum))
}

fn weight(score: f32) -> i32 {
    (score * WEIGHT_ONE as f32).round() as i32
}

/// The bonus by distance, as link settings define it.
fn bonuses(settings: &LinkSettings) -> Vec<f32> {
    let one = |d: u32| settings.closeness_bonus * (1.0 - d as f32 / (settings.closeness_reach as f32 + 1.0));
    (0..=settings.closeness_reach).map(one).collect()
}

/// The picks of each row and the median weight of a source, in plain loops.
fn link_plainly(source: &Source, settings: &LinkSettings, lowest: i32) -> (Vec<Vec<(u32, u32)>>, i32) {
    let bonus = bonuses(settings);
    let n = source.n();
    let score = |i: usize, j: usize| {
        let score = chain(source.row(i), source.row(j));
        bonus.get(i.abs_diff(j)).map_or(score, |bonus| score + bonus)
    };
    let picks = (0..n).map(|i| best((0..n).filter(|&j| j != i).map(|j| (j as u32, score(i, j))), settings)).collect();
    let mut weights: Vec<i32> =
        (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).map(|(i, j)| weight(score(i, j))).collect();
    weights.sort_unstable();
    let median = match weights.len() {
        0 => lowest,
        count => (weights[(count - 1) / 2] + weights[count / 2]).div_euclid(2),
    };
    (picks, median)
}

/// The best of `scores` as (row, bits of the score), best first.
fn best(scores: impl Iterator<Item = (u32, f32)>, settings: &LinkSettings) -> Vec<(u32, u32)> {
    let mut kept: Vec<(u32, f32)> = scores.filter(|&(_, score)| score >= settings.similarity_min).collect();
    kept.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    kept.truncate(settings.neighbours_max as usize);
    kept.into_iter().map(|(row, score)| (row, score.to_bits())).collect()
}

/// A kernel's keys as (row, bits of the score) for each row.
fn decoded(keys: &[u64], k: u32) -> Vec<Vec<(u32, u32)>> {
    let one = |&key: &u64| {
        let ordered = (key >> 32) as u32;
        let bits = if ordered >> 31 == 1 { ordered & 0x7fff_ffff } else { !ordered };
        (!(key as u32), bits)
    };
    keys.chunks(k as usize).map(|keys| keys.iter().take_while(|&&key| key != 0).map(one).collect()).collect()
}

fn link_arrays(mode: u32, sources: &[Source], settings: &LinkSettings, lowest: i32) -> Arrays {
    let rows: Vec<f32> = sources.iter().flat_map(|source| source.rows.iter().copied()).collect();
    let n_weights = (weight(1.0 + settings.closeness_bonus) + 64 - lowest) as u32 + 1;
    let shape = [
        sources[0].dim as u32,
        settings.neighbours_max,
        settings.similarity_min.to_bits(),
        settings.closeness_reach,
        n_weights,
        lowest as u32,
    ];
    let arrays = Arrays::new().u32s(&[mode]).f32s(&rows).u32s(&offsets(sources));
    arrays.f32s(&bonuses(settings)).u32s(&shape)
}

fn offsets(sources: &[Source]) -> Vec<u32> {
    let mut offsets = vec![0];
    sources.iter().for_each(|source| offsets.push(offsets[offsets.len() - 1] + source.n() as u32));
    offsets
}

/// The graph that the processor makes of a source's picks and median.
fn graph(picks: &[Vec<(u32, u32)>], weight_min: i32) -> CsrGraph {
    let mut edges = vec![Vec::new(); picks.len()];
    for (row, picks) in picks.iter().enumerate() {
        for &(other, bits) in picks {
            let weight = weight(f32::from_bits(bits));
            if weight >= weight_min {
                edges[row].push((other, weight));
                edges[other as usize].push((row as u32, weight));
            }
        }
    }
    let mut graph = CsrGraph::without_edges(0);
    for mut row in edges {
        row.sort_unstable();
        row.dedup();
        graph.columns.extend(row.iter().map(|edge| edge.0));
        graph.weights.extend(row.iter().map(|edge| edge.1));
        graph.offsets.push(graph.columns.len() as u32);
    }
    graph
}

const LOWEST: i32 = -WEIGHT_ONE - 64;

/// Links `sources` in every order and compares with the plain loops and with the processor.
fn check_link(program: &Program, mode: u32, sources: &[Source], settings: &LinkSettings) {
    let outputs = program.run_in_all_orders(&link_arrays(mode, sources, settings, LOWEST));
    let picks = decoded(&outputs.u64s(0), settings.neighbours_max);
    let medians = outputs.i32s(1);
    let rows: Vec<f32> = sources.iter().flat_map(|source| source.rows.iter().copied()).collect();
    let rows = Rows::new(&rows, sources[0].dim).expect("even");
    let bounds = offsets(sources);
    let graphs = open("cpu").expect("always there").link(rows, &bounds, settings).expect("valid");
    for (idx, source) in sources.iter().enumerate() {
        let what = format!("source {idx}: {} rows of {}, {settings:?}, mode {mode}", source.n(), source.dim);
        let found = &picks[bounds[idx] as usize..bounds[idx + 1] as usize];
        let (want, median) = link_plainly(source, settings, LOWEST);
        assert_eq!(found, want, "{what}");
        assert_eq!(medians[idx], median, "{what}");
        let weight_min = median.max(weight(settings.similarity_min)).max(1);
        assert_eq!(graph(found, weight_min), graphs[idx], "{what}");
    }
}

/// Sources of every kind with rows of `dim` values.
fn sources(dim: usize, numbers: &mut Numbers) -> Vec<Source> {
    let mut sources = vec![equal(0, dim), equal(1, dim), random(2, dim, numbers), equal(40, dim), axes(67, dim)];
    for n in [2, 3, 31, 32, 33, 63, 64, 65, 97] {
        sources.push(random(n, dim, numbers));
    }
    sources.push(equal(0, dim));
    sources
}

#[test]
fn links_equal_the_plain_loops_and_the_processor_bit_for_bit() {
    let Some(program) = build("nearest", Flavour::Cuda) else {
        return;
    };
    let mut numbers = Numbers(1);
    for (dim, k) in [(1, 32), (2, 1), (15, 5), (16, 32), (17, 31), (65, 8), (384, 32)] {
        let settings = LinkSettings { neighbours_max: k, ..LinkSettings::STANDARD };
        let loose = LinkSettings { similarity_min: -2.0, closeness_bonus: 0.0, closeness_reach: 0, ..settings };
        let far = LinkSettings { similarity_min: 0.0, closeness_reach: 50, ..settings };
        let sources = sources(dim, &mut numbers);
        LINK.iter().for_each(|&mode| check_link(&program, mode, &sources, &settings));
        check_link(&program, LINK[0], &sources, &loose);
        check_link(&program, LINK[0], &sources, &far);
    }
}

#[test]
fn a_few_hundred_rows_take_several_tiles() {
    let Some(program) = build("nearest", Flavour::Cuda) else {
        return;
    };
    let mut numbers = Numbers(2);
    let sources = [random(300, 20, &mut numbers), axes(260, 20), random(129, 20, &mut numbers)];
    for mode in LINK {
        check_link(&program, mode, &sources, &LinkSettings::STANDARD);
    }
}

#[test]
fn the_metal_branch_and_the_sanitizers_give_the_same_bytes() {
    let Some(program) = build("nearest", Flavour::Cuda) else {
        return;
    };
    let mut numbers = Numbers(3);
    let sources = sources(19, &mut numbers);
    for flavour in [Flavour::Metal, Flavour::Sanitized] {
        let twin = build("nearest", flavour).expect("there is a compiler");
        for mode in LINK {
            let arrays = link_arrays(mode, &sources, &LinkSettings::STANDARD, LOWEST);
            assert!(twin.run_in_all_orders(&arrays) == program.run_in_all_orders(&arrays), "{flavour:?}");
        }
        for mode in NEAREST {
            let arrays = nearest_arrays(mode, &sources[12], &sources[13], 7, 0.2, 2);
            assert!(twin.run_in_all_orders(&arrays) == program.run_in_all_orders(&arrays), "{flavour:?}");
        }
    }
}

fn nearest_arrays(mode: u32, queries: &Source, rows: &Source, k: u32, similarity_min: f32, n_splits: u32) -> Arrays {
    let side = SIDES[mode as usize - NEAREST[0] as usize];
    let split_rows = (rows.n() as u32).div_ceil(n_splits).next_multiple_of(side).max(side);
    let (n_queries, n_rows) = (queries.n() as u32, rows.n() as u32);
    let shape = [n_queries, n_rows, rows.dim as u32, k, similarity_min.to_bits(), 0, n_splits, split_rows];
    Arrays::new().u32s(&[mode]).f32s(&queries.rows).f32s(&rows.rows).u32s(&shape)
}

#[test]
fn nearest_rows_equal_the_processor_bit_for_bit() {
    let Some(program) = build("nearest", Flavour::Cuda) else {
        return;
    };
    let backend = open("cpu").expect("always there");
    let mut numbers = Numbers(4);
    let bits = |found: &Neighbour| (found.row, found.score.to_bits());
    for (n_queries, n_rows, dim, k, n_splits) in [
        (1, 1, 1, 1, 1),
        (3, 0, 4, 5, 1),
        (1, 500, 33, 32, 4),
        (70, 200, 16, 10, 3),
        (130, 65, 50, 32, 2),
        (5, 7, 384, 9, 5),
    ] {
        let rows = random(n_rows, dim, &mut numbers);
        let queries = random(n_queries, dim, &mut numbers);
        for similarity_min in [-2.0, 0.0, 0.3] {
            let (a, b) = (Rows::new(&queries.rows, dim).expect("even"), Rows::new(&rows.rows, dim).expect("even"));
            let found = backend.nearest(a, b, k, similarity_min).expect("valid");
            let want: Vec<Vec<(u32, u32)>> = found.iter().map(|found| found.iter().map(bits).collect()).collect();
            for mode in NEAREST {
                let arrays = nearest_arrays(mode, &queries, &rows, k, similarity_min, n_splits);
                let keys = program.run_in_all_orders(&arrays).u64s(0);
                assert_eq!(decoded(&keys, k), want, "{n_queries} queries, {n_rows} rows of {dim}, mode {mode}");
            }
        }
    }
}
