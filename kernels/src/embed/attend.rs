//! Attention within one text, all heads, on features in blocks of tokens.
//!
//! Scores are kept as `[keys, queries]`: queries are lanes, so the softmax of a query runs down a column, and both
//! products are the tiles of a linear layer. Sketch for `n` tokens: 4 · n² · hidden flop a layer, with `n` rounded up
//! to 16 on the side of the queries; 32 queries at a time, `n · 128` bytes of scores, so that they stay in L1.
//!
//! Source: Vaswani et al., arXiv:1706.03762.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::linear::{BLOCK, Rows, tile, write};
use super::simd;

/// Keys of a tile of scores, at most.
const KEYS: usize = 12;
/// Features of a tile of results.
const FEATURES: usize = 8;

/// Room for one head of one text.
#[derive(Default)]
pub(super) struct Room {
    /// `[head_dim, queries]`, queries rounded up to whole blocks.
    queries: Vec<f32>,
    /// `[head_dim, keys]`, keys rounded up, and a tile more.
    keys: Vec<f32>,
    /// `[keys, head_dim]`, features rounded up to whole tiles.
    values: Vec<f32>,
    /// `[keys, BLOCK]`, keys rounded up to whole tiles.
    scores: Vec<f32>,
}

/// The sizes of an attention layer; `hidden` is `n_heads · head_dim`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heads {
    pub n_heads: usize,
    pub head_dim: usize,
}

/// Attends within the tokens `text` of `qkv` `[blocks, 3 · hidden, BLOCK]`; fills their lanes of `out`
/// `[blocks, hidden, BLOCK]` and no others. Queries are scaled already.
pub(super) fn attend(heads: Heads, qkv: &[f32], text: Range<usize>, out: &mut [f32], room: &mut Room) {
    let n_lanes = text.len().next_multiple_of(BLOCK);
    room.queries.resize(heads.head_dim * n_lanes, 0.0);
    room.keys.resize(heads.head_dim * (n_lanes + KEYS), 0.0);
    room.values.resize(text.len() * heads.head_dim.next_multiple_of(FEATURES), 0.0);
    room.scores.resize((text.len() + KEYS) * BLOCK, 0.0);
    Arch::new().dispatch(Attend { heads, qkv, text, out, room });
}

struct Attend<'a> {
    heads: Heads,
    qkv: &'a [f32],
    text: Range<usize>,
    out: &'a mut [f32],
    room: &'a mut Room,
}

impl WithSimd for Attend<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let n_lanes = self.text.len().next_multiple_of(BLOCK);
        for head in 0..self.heads.n_heads {
            self.gather(simd, head, n_lanes);
            for first in (0..self.text.len()).step_by(BLOCK) {
                match S::F32_LANES {
                    16 if self.text.len() - first <= 16 => self.queries::<S, 12, 8, 1>(simd, head, first),
                    16 => self.queries::<S, 12, 8, 2>(simd, head, first),
                    8 => self.queries::<S, 2, 2, 4>(simd, head, first),
                    4 => self.queries::<S, 2, 2, 8>(simd, head, first),
                    _ => self.queries::<S, 1, 1, 32>(simd, head, first),
                }
            }
        }
    }
}

impl Attend<'_> {
    /// Brings the tokens of one head together.
    #[inline(always)]
    fn gather<S: Simd>(&mut self, simd: S, head: usize, n_lanes: usize) {
        let Heads { n_heads, head_dim } = self.heads;
        let (hidden, n) = (n_heads * head_dim, self.text.len());
        let width = head_dim.next_multiple_of(FEATURES);
        for (block_idx, lanes, at) in pieces(self.text.clone()) {
            let block = &self.qkv[block_idx * 3 * hidden * BLOCK..][..3 * hidden * BLOCK];
            let rows = |which: usize| block[(which * hidden + head * head_dim) * BLOCK..].chunks_exact(BLOCK);
            for (to, from) in self.room.queries.chunks_exact_mut(n_lanes).zip(rows(0)) {
                copy(simd, &mut to[at..at + lanes.len()], &from[lanes.clone()]);
            }
            for (to, from) in self.room.keys.chunks_exact_mut(n_lanes + KEYS).zip(rows(1)) {
                copy(simd, &mut to[at..at + lanes.len()], &from[lanes.clone()]);
            }
            for (feature, from) in rows(2).take(head_dim).enumerate() {
                let to = self.room.values[at * width..n * width].iter_mut().skip(feature).step_by(width);
                to.zip(&from[lanes.clone()]).for_each(|(to, from)| *to = *from);
            }
        }
    }

    /// One head for up to `BLOCK` queries from `first` on: `VECTORS` vectors of them.
    #[inline(always)]
    fn queries<S: Simd, const KEY_ROWS: usize, const ROWS: usize, const VECTORS: usize>(
        &mut self,
        simd: S,
        head: usize,
        first: usize,
    ) {
        let Heads { n_heads, head_dim } = self.heads;
        let (hidden, n) = (n_heads * head_dim, self.text.len());
        let n_lanes = n.next_multiple_of(BLOCK);
        let Room { queries, keys, values, scores } = &mut *self.room;
        let zeros = [[simd.splat_f32s(0.0); VECTORS]; KEY_ROWS];
        let right = Rows { data: &queries[first..], stride: n_lanes };
        for key in (0..n).step_by(KEY_ROWS) {
            let left = Rows { data: &keys[key..], stride: n_lanes + KEYS };
            let sums = tile::<S, KEY_ROWS, VECTORS>(simd, left, right, head_dim, zeros);
            write(simd, sums, &mut scores[key * BLOCK..], BLOCK, 0);
        }
        let scores = &mut scores[..n * BLOCK];
        let inverse = simd::softmax(scores, VECTORS * S::F32_LANES);
        let zeros = [[simd.splat_f32s(0.0); VECTORS]; ROWS];
        let width = head_dim.next_multiple_of(FEATURES);
        let (inverse, _) = S::as_simd_f32s(&inverse);
        for feature in (0..head_dim).step_by(ROWS) {
            let left = Rows { data: &values[feature..], stride: width };
            let right = Rows { data: &*scores, stride: BLOCK };
            let mut sums = tile::<S, ROWS, VECTORS>(simd, left, right, n, zeros);
            for sum in sums.iter_mut().flat_map(|row| row.iter_mut().zip(inverse)) {
                *sum.0 = simd.mul_f32s(*sum.0, *sum.1);
            }
            let mut rows = [[0.0; BLOCK]; FEATURES];
            write(simd, sums, rows.as_flattened_mut(), BLOCK, 0);
            let rows = &rows[..ROWS.min(head_dim - feature)];
            let queries = self.text.start + first..self.text.end.min(self.text.start + first + BLOCK);
            for (block_idx, lanes, at) in pieces(queries) {
                let out = &mut self.out[(block_idx * hidden + head * head_dim + feature) * BLOCK..];
                for (to, from) in out.chunks_exact_mut(BLOCK).zip(rows) {
                    copy(simd, &mut to[lanes.clone()], &from[at..at + lanes.len()]);
                }
            }
        }
    }
}

/// Copies a few lanes; a call of the library's copy costs more than the copy.
#[inline(always)]
fn copy<S: Simd>(simd: S, to: &mut [f32], from: &[f32]) {
    for (to, from) in to.chunks_mut(S::F32_LANES).zip(from.chunks(S::F32_LANES)) {
        simd.partial_store_f32s(to, simd.partial_load_f32s(from));
    }
}

/// Cuts a run of tokens at the borders of blocks: the block, the lanes in it, and where in the run they start.
#[inline(always)]
pub(super) fn pieces(tokens: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>, usize)> {
    (tokens.start / BLOCK..tokens.end.div_ceil(BLOCK)).map(move |block_idx| {
        let first = tokens.start.max(block_idx * BLOCK);
        let end = tokens.end.min((block_idx + 1) * BLOCK);
        (block_idx, first - block_idx * BLOCK..end - block_idx * BLOCK, first - tokens.start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attention by its definition, for one text.
    fn plain(heads: Heads, qkv: &[f32], text: Range<usize>) -> Vec<(usize, f64)> {
        let Heads { n_heads, head_dim } = heads;
        let hidden = n_heads * head_dim;
        let at = |features: usize, feature: usize, token: usize| {
            (token / BLOCK * features + feature) * BLOCK + token % BLOCK
        };
        let value =
            |part: usize, feature: usize, token: usize| f64::from(qkv[at(3 * hidden, part * hidden + feature, token)]);
        let mut out = Vec::new();
        for (head, query) in (0..n_heads).flat_map(|head| text.clone().map(move |query| (head, query))) {
            let features = head * head_dim..(head + 1) * head_dim;
            let score =
                |key: usize| features.clone().map(move |feature| value(0, feature, query) * value(1, feature, key));
            let shares: Vec<f64> = text.clone().map(|key| score(key).sum::<f64>().exp()).collect();
            let total: f64 = shares.iter().sum();
            for feature in features.clone() {
                let sum: f64 = text.clone().zip(&shares).map(|(key, share)| share * value(2, feature, key)).sum();
                out.push((at(hidden, feature, query), sum / total));
            }
        }
        out
    }

    #[test]
    fn every_unit_attends_within_the_text_and_writes_nothing_else() {
        const UNTOUCHED: f32 = 77.0;
        let cases = [(1, 1, 0..1), (2, 5, 3..17), (2, 8, 20..45), (3, 32, 31..96), (1, 12, 10..26)];
        for (n_heads, head_dim, text) in cases {
            let heads = Heads { n_heads, head_dim };
            let qkv: Vec<f32> =
                (0..9 * n_heads * head_dim * BLOCK).map(|i| ((i * 7919 % 1_000) as f32 - 500.0) / 700.0).collect();
            let want = plain(heads, &qkv, text.clone());
            let check = |run: &dyn Fn(Attend<'_>)| {
                let mut out = vec![UNTOUCHED; 3 * n_heads * head_dim * BLOCK];
                let mut room = Room::default();
                // Sizes the room as the door does.
                attend(heads, &qkv, text.clone(), &mut out.clone(), &mut room);
                run(Attend { heads, qkv: &qkv, text: text.clone(), out: &mut out, room: &mut room });
                for &(at, want) in &want {
                    assert!((f64::from(out[at]) - want).abs() < 1e-5, "{} {want}", out[at]);
                    out[at] = UNTOUCHED;
                }
                assert!(out.iter().all(|&value| value == UNTOUCHED), "a lane beside the text");
            };
            check(&|attend| Arch::new().dispatch(attend));
            check(&|attend| attend.with_simd(pulp::Scalar));
            #[cfg(target_arch = "x86_64")]
            if let Some(narrow) = pulp::x86::V3::try_new() {
                check(&|attend| Simd::vectorize(narrow, attend));
            }
        }
    }
}
