// Scores all pairs of rows and keeps the best of each row, never storing the scores.
//
// Two doors: `link_rows_*` for the rows of many sources, each with itself, and `nearest_rows_*` for queries against
// rows. Every score is one ascending chain of fused multiply-adds from 0, so it has the bits of the processor's.
//
// Sketch. A block of 256 threads owns SIDE rows (64 or 128) and walks over tiles of SIDE columns. A tile is
// multiplied in chunks of 16 along `dim`: both sides are fetched to registers, stored transposed in shared memory and
// used from there; a thread makes EACH x EACH scores (4 x 4 or 8 x 8) in registers. Per chunk and block of side 128:
// 2 * 16 * 128 words in, 2 * 16 * 128^2 flop, so 32 flop a byte of L2; per thread and step of k 16 words of shared
// memory for 64 multiply-adds, so arithmetic is the limit. Then the scores go through shared memory 32 rows at a time:
// a warp compares its row's scores with the row's k-th best and inserts what is above. A row of n columns sees about
// k * ln(n / k) insertions of a few warp operations, against n * dim / 32 multiply-adds a lane.
//   operations   2 * n^2 * dim a source (every pair is scored from both ends), 2 * n_queries * n_rows * dim: a million
//                rows of 384 are 7.7e14, so 11.5 s at the 67 TFLOP/s that an H200 has for f32, the limit of this way
//   bytes        rows once a block: n / SIDE * n * dim * 4 from L2; lists 8 * k a row; counts 8 a weight and source
//   shared       17.5 KiB at side 128, 9 KiB at side 64
//   registers    at most 128 a thread, so that two blocks share a multiprocessor (budget.txt)
// The list of a row lies in device memory and is touched by one warp only; its k-th best lies in shared memory.
//
// A key is (score, column) as one word that grows with the score and shrinks with the column, 0 for no pick: the
// order of picks is that of keys, so it depends on nobody's turn. Scores are ordered by their bits (-0 below 0).
// Values are finite (the host refuses others); a score that overflowed to NaN is never picked and weighs 0.
#include "port.h"

enum { TILE_THREADS = 256, DEPTH = 16, GROUP_ROWS = 32, GROUP_WARP_ROWS = 4, PICKS_MAX = 32 };

// Words of shared memory of a block whose threads make EACH x EACH scores.
template <u32 EACH>
struct Tile {
    enum { SIDE = 16 * EACH, STRIDE = SIDE + 4, CHUNK = DEPTH * STRIDE, SHARED_WORDS = 2 * CHUNK + 2 * SIDE };
};

// `n_weights` counters from the weight `weight_lowest` on; what lies outside counts as the first or last.
struct LinkShape {
    u32 dim;
    u32 k;
    float similarity_min;
    u32 reach;
    u32 n_weights;
    i32 weight_lowest;
};

// `skip_own`: column i is no neighbour of query i. Split `s` of the columns is `s * split_rows ..`, a multiple of SIDE.
struct NearestShape {
    u32 n_queries;
    u32 n_rows;
    u32 dim;
    u32 k;
    float similarity_min;
    u32 skip_own;
    u32 n_splits;
    u32 split_rows;
};

struct MedianShape {
    u32 n_weights;
    i32 weight_lowest;
};

struct MergeShape {
    u32 n_queries;
    u32 k;
    u32 n_splits;
};

// What is done with a row's scores. `bonus`, `counts`, `reach`, `n_weights` and `weight_lowest` are for linking only.
struct Picking {
    u32 n_columns;
    u32 k;
    float similarity_min;
    u32 skip_own;
    u32 reach;
    u32 n_weights;
    i32 weight_lowest;
    GLOBAL const float* bonus;
    GLOBAL u32* counts;
};

// ------------------------------------------------------------------------------------------------- keys and lists

// Grows with the score, by all its bits, and shrinks with the column; above 0 for every score but NaN.
FUNCTION u64 key_of(float score, u32 column) {
    const u32 bits = float_bits(score);
    const u32 ordered = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
    return (u64)ordered << 32 | (u64)(~column);
}

// A sorted list of the `k` highest keys, one a lane, lane 0 the highest, 0 where there is none. Adds the keys of
// those lanes that have one above `floor`, the k-th key; returns the new floor.
FUNCTION u64 insert_above(LOCAL u64& listed, u64 floor, u64 key, u32 k, u32 lane) {
    for (u32 votes = warp_ballot(key > floor); votes != 0; votes &= votes - 1) {
        const u64 added = warp_read(key, lowest(votes));
        const u32 n_above = ones(warp_ballot(listed > added));
        const u64 below = warp_read_up(listed, 1u);
        if (lane >= n_above) listed = lane == n_above ? added : below;
        if (lane >= k) listed = 0;
    }
    return warp_read(listed, k - 1);
}

// ----------------------------------------------------------------------------------------------------- the scores

// Holds this thread's part of a chunk: rows `first ..` of `from` `[n, dim]`, columns `k_first ..`; 0 outside.
template <u32 EACH>
FUNCTION void fetch(GLOBAL const float* from, u32 n, u32 dim, u32 first, u32 k_first, u32 thread_idx,
                    LOCAL float (&held)[EACH]) {
    const u32 k_base = k_first + thread_idx % 4 * 4;
    UNROLL for (u32 i = 0; i < EACH / 4; i++) {
        const u32 row = first + thread_idx / 4 + i * 64;
        GLOBAL const float* values = from + (u64)smaller(row, n - 1) * dim;
        UNROLL for (u32 c = 0; c < 4; c++) {
            const u32 k = k_base + c;
            held[i * 4 + c] = row < n && k < dim ? values[k] : 0.0f;
        }
    }
}

// Stores what `fetch` held as `[DEPTH, STRIDE]`.
template <u32 EACH>
FUNCTION void store(LOCAL const float (&held)[EACH], SHARED float* chunk, u32 thread_idx) {
    UNROLL for (u32 i = 0; i < EACH / 4; i++) {
        UNROLL for (u32 c = 0; c < 4; c++) {
            chunk[(thread_idx % 4 * 4 + c) * Tile<EACH>::STRIDE + thread_idx / 4 + i * 64] = held[i * 4 + c];
        }
    }
}

// Place `i` of a thread's EACH rows or columns: runs of four, the runs 64 apart.
FUNCTION u32 spot(u32 i, u32 sixteenth) { return i / 4 * 64 + sixteenth * 4 + i % 4; }

// Goes one step of k further in every score of this thread.
template <u32 EACH>
FUNCTION void multiply_step(SHARED const float* left, SHARED const float* right, u32 down, u32 across,
                   LOCAL float (&sums)[EACH][EACH]) {
    float a[EACH], b[EACH];
    UNROLL for (u32 i = 0; i < EACH; i++) a[i] = left[spot(i, down)];
    UNROLL for (u32 j = 0; j < EACH; j++) b[j] = right[spot(j, across)];
    UNROLL for (u32 i = 0; i < EACH; i++) {
        UNROLL for (u32 j = 0; j < EACH; j++) sums[i][j] = multiply_add(a[i], b[j], sums[i][j]);
    }
}

// The scores of rows `left_first ..` with rows `right_first ..`.
template <u32 EACH>
FUNCTION void multiply(GLOBAL const float* left, u32 n_left, u32 left_first, GLOBAL const float* right, u32 n_right,
                       u32 right_first, u32 dim, SHARED float* chunks, u32 thread_idx,
                       LOCAL float (&sums)[EACH][EACH]) {
    enum { STRIDE = Tile<EACH>::STRIDE, CHUNK = Tile<EACH>::CHUNK };
    const u32 down = thread_idx / 16, across = thread_idx % 16;
    float held_left[EACH], held_right[EACH];
    UNROLL for (u32 i = 0; i < EACH; i++) {
        UNROLL for (u32 j = 0; j < EACH; j++) sums[i][j] = 0.0f;
    }
    for (u32 k_first = 0; k_first < dim; k_first += DEPTH) {
        // Under way while slower warps still read shared memory; the other block of the multiprocessor fills the wait.
        fetch<EACH>(left, n_left, dim, left_first, k_first, thread_idx, held_left);
        fetch<EACH>(right, n_right, dim, right_first, k_first, thread_idx, held_right);
        block_sync();
        store<EACH>(held_left, chunks, thread_idx);
        store<EACH>(held_right, chunks + CHUNK, thread_idx);
        block_sync();
        if (dim - k_first >= DEPTH) {
            UNROLL for (u32 k = 0; k < DEPTH; k++) {
                multiply_step<EACH>(chunks + k * STRIDE, chunks + CHUNK + k * STRIDE, down, across, sums);
            }
        } else {
            // Not one step too many: even adding 0 would turn a sum of -0 into 0.
            for (u32 k = 0; k < dim - k_first; k++) {
                multiply_step<EACH>(chunks + k * STRIDE, chunks + CHUNK + k * STRIDE, down, across, sums);
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------------ the picks

// round(score * 2^14), halves away from zero; what no weight can be is cut to a bound that no weight reaches.
FUNCTION i32 weight_of(float score) {
    const float scaled = score * 16384.0f, bound = 1073741824.0f;
    if (!(scaled == scaled)) return 0;
    return (i32)round_half_away(smaller(larger(scaled, -bound), bound));
}

// Counts one weight. The counters of a source are `n_weights` low words, then as many high ones.
FUNCTION void count_weight(float score, Picking picking) {
    const i32 above = weight_of(score) - picking.weight_lowest;
    const u32 at = (u32)smaller(larger(above, (i32)0), (i32)picking.n_weights - 1);
    if (atomic_add(&picking.counts[at], 1u) == 0xffffffffu) atomic_add(&picking.counts[picking.n_weights + at], 1u);
}

// Takes a row's scores with `SIDE` columns from `column_first` on into the row's list.
template <u32 EACH, bool LINK>
FUNCTION void pick_row(SHARED const float* scores, SHARED u64* floor_at, GLOBAL u64* list, u32 row, u32 column_first,
                       Picking picking, u32 lane) {
    u64 floor = *floor_at, listed = 0;
    bool read = false;
    for (u32 part = 0; part < Tile<EACH>::SIDE; part += WARP) {
        const u32 column = column_first + part + lane;
        const bool inside = column < picking.n_columns;
        const bool other = !picking.skip_own || column != row;
        float score = scores[part + lane];
        if (LINK && inside && other) {
            const u32 distance = column > row ? column - row : row - column;
            if (distance <= picking.reach) score += picking.bonus[distance];
            if (column > row) count_weight(score, picking);
        }
        const u64 key = inside && other && score >= picking.similarity_min ? key_of(score, column) : 0;
        if (!warp_any(key > floor)) continue;
        if (!read) listed = lane < picking.k ? list[lane] : 0;
        read = true;
        floor = insert_above(listed, floor, key, picking.k, lane);
    }
    if (!read) return;
    if (lane < picking.k) list[lane] = listed;
    warp_sync();
    if (lane == 0) *floor_at = floor;
}

// Takes a tile's scores into the lists of its rows `row_first ..`, of which `n_rows - row_first` exist.
template <u32 EACH, bool LINK>
FUNCTION void pick_tile(LOCAL const float (&sums)[EACH][EACH], SHARED float* scores, SHARED u64* floors,
                        GLOBAL u64* lists, u32 row_first, u32 n_rows, u32 column_first, Picking picking, Place place) {
    enum { SIDE = Tile<EACH>::SIDE };
    const u32 down = place.thread_idx / 16, across = place.thread_idx % 16;
    UNROLL for (u32 group = 0; group < SIDE / GROUP_ROWS; group++) {
        if (row_first + group * GROUP_ROWS >= n_rows) break;
        block_sync();
        if (down / 8 == group % 2) {
            UNROLL for (u32 i = 0; i < 4; i++) {
                UNROLL for (u32 j = 0; j < EACH; j++) {
                    scores[(down % 8 * 4 + i) * SIDE + spot(j, across)] = sums[group / 2 * 4 + i][j];
                }
            }
        }
        block_sync();
        for (u32 i = 0; i < GROUP_WARP_ROWS; i++) {
            const u32 in_group = place.warp * GROUP_WARP_ROWS + i, in_tile = group * GROUP_ROWS + in_group;
            const u32 row = row_first + in_tile;
            if (row >= n_rows) break;
            pick_row<EACH, LINK>(scores + in_group * SIDE, floors + in_tile, lists + (u64)row * picking.k, row,
                                 column_first, picking, place.lane);
        }
    }
}

// Empties the lists of a block's rows: the warp that will fill a list empties it.
template <u32 EACH>
FUNCTION void empty_lists(SHARED u64* floors, GLOBAL u64* lists, u32 row_first, u32 n_rows, u32 k, Place place) {
    enum { SIDE = Tile<EACH>::SIDE };
    for (u32 in_tile = place.thread_idx; in_tile < SIDE; in_tile += TILE_THREADS) floors[in_tile] = 0;
    for (u32 group = 0; group < SIDE / GROUP_ROWS; group++) {
        for (u32 i = 0; i < GROUP_WARP_ROWS; i++) {
            const u32 row = row_first + group * GROUP_ROWS + place.warp * GROUP_WARP_ROWS + i;
            if (row < n_rows && place.lane < k) lists[(u64)row * k + place.lane] = 0;
        }
    }
}

// ------------------------------------------------------------------------------------------------ rows of sources

// One block: rows `tiles[1] ..` of source `tiles[0]` against all rows of that source.
template <u32 EACH>
FUNCTION void link_tile(GLOBAL const float* rows, GLOBAL const u32* offsets, GLOBAL const u32* tiles,
                        GLOBAL const float* bonus, GLOBAL u64* best, GLOBAL u32* counts, LinkShape shape,
                        SHARED u32* shared, Place place) {
    enum { SIDE = Tile<EACH>::SIDE };
    const u32 source = tiles[2 * place.block_idx], row_first = tiles[2 * place.block_idx + 1];
    const u32 start = offsets[source], n = offsets[source + 1] - start;
    GLOBAL const float* values = rows + (u64)start * shape.dim;
    GLOBAL u64* lists = best + (u64)start * shape.k;
    SHARED float* chunks = (SHARED float*)shared;
    SHARED u64* floors = (SHARED u64*)(shared + 2 * Tile<EACH>::CHUNK);
    const Picking picking = {n, shape.k, shape.similarity_min, 1, shape.reach, shape.n_weights, shape.weight_lowest,
                             bonus, counts + (u64)source * 2 * shape.n_weights};
    empty_lists<EACH>(floors, lists, row_first, n, shape.k, place);
    for (u32 column_first = 0; column_first < n; column_first += SIDE) {
        float sums[EACH][EACH];
        multiply<EACH>(values, n, row_first, values, n, column_first, shape.dim, chunks, place.thread_idx, sums);
        pick_tile<EACH, true>(sums, chunks, floors, lists, row_first, n, column_first, picking, place);
    }
}

// Links the rows of sources: the `k` best of each row and the counts of weights of each source.
//
// `rows` is `[n, dim]`, `offsets` `[n_sources + 1]`; `tiles` `[n_blocks, 2]` names each block's source and its first
// row in it, a multiple of the side, all rows of every source once. `bonus` is `[reach + 1]`, entry 0 unused. `best` is
// `[n, k]` keys, best first, columns counted within the source. `counts` is `[n_sources, 2, n_weights]`, zero at first.
// 1 <= k <= 32. Sides of 64 (small sources) and 128 (large ones) give the same bytes.
KERNEL(link_rows_64, 256, IN(0, float, rows), IN(1, u32, offsets), IN(2, u32, tiles), IN(3, float, bonus),
       OUT(4, u64, best), OUT(5, u32, counts), VALUE(6, LinkShape, shape)) {
    ENTER(place, shared);
    link_tile<4>(rows, offsets, tiles, bonus, best, counts, shape, shared, place);
}

KERNEL(link_rows_128, 256, IN(0, float, rows), IN(1, u32, offsets), IN(2, u32, tiles), IN(3, float, bonus),
       OUT(4, u64, best), OUT(5, u32, counts), VALUE(6, LinkShape, shape)) {
    ENTER(place, shared);
    link_tile<8>(rows, offsets, tiles, bonus, best, counts, shape, shared, place);
}

// -------------------------------------------------------------------------------------------------------- medians

FUNCTION u64 counted(GLOBAL const u32* counts, u32 n_weights, u32 at, u32 end) {
    return at < end ? (u64)counts[n_weights + at] << 32 | counts[at] : 0;
}

// The median weight of each source's pairs: the mean of the two middle ones, rounded down.
//
// A block a source, 256 threads, 256 bytes of shared memory: each warp sums a run of the counters, then the warp
// whose run holds a middle rank looks for it. `counts` is as `link_rows_*` leaves it, `medians` `[n_sources]`; a source
// without a pair gets `weight_lowest`. Bytes: 16 a weight and source at most, all from L2.
KERNEL(link_medians, 256, IN(0, u32, counts), OUT(1, i32, medians), VALUE(2, MedianShape, shape)) {
    ENTER(place, shared);
    SHARED u64* sums = (SHARED u64*)shared;
    SHARED u32* middles = shared + 2 * (TILE_THREADS / WARP);
    const u32 n_warps = TILE_THREADS / WARP, n_weights = shape.n_weights;
    GLOBAL const u32* own = counts + (u64)place.block_idx * 2 * n_weights;
    const u32 run = (n_weights + n_warps - 1) / n_warps;
    const u32 start = smaller(place.warp * run, n_weights), end = smaller(start + run, n_weights);
    u64 sum = 0;
    for (u32 at = start + place.lane; at < end; at += WARP) sum += counted(own, n_weights, at, end);
    sum = warp_sum(sum);
    if (place.lane == 0) sums[place.warp] = sum;
    if (place.thread_idx < 2) middles[place.thread_idx] = 0;
    block_sync();
    u64 before = 0, n_pairs = 0;
    for (u32 warp = 0; warp < n_warps; warp++) {
        before += warp < place.warp ? sums[warp] : (u64)0;
        n_pairs += sums[warp];
    }
    for (u32 which = 0; which < 2; which++) {
        const u64 rank = which == 0 ? (n_pairs - 1) / 2 : n_pairs / 2;
        if (n_pairs == 0 || rank < before || rank >= before + sum) continue;
        u64 passed = before;
        for (u32 first = start; first < end; first += WARP) {
            const u64 up_to = passed + warp_sum_up_to(counted(own, n_weights, first + place.lane, end), place.lane);
            const u32 votes = warp_ballot(up_to > rank);
            if (votes != 0) {
                if (place.lane == 0) middles[which] = first + lowest(votes);
                break;
            }
            passed = warp_read(up_to, WARP - 1);
        }
    }
    block_sync();
    if (place.thread_idx == 0) {
        // Both middles are lowest + something: the half of their sum is rounded on what is not negative.
        medians[place.block_idx] = shape.weight_lowest + (i32)((middles[0] + middles[1]) / 2);
    }
}

// -------------------------------------------------------------------------------------------- queries against rows

template <u32 EACH>
FUNCTION void nearest_tile(GLOBAL const float* queries, GLOBAL const float* rows, GLOBAL u64* best,
                           NearestShape shape, SHARED u32* shared, Place place) {
    enum { SIDE = Tile<EACH>::SIDE };
    const u32 split = place.block_idx % shape.n_splits, query_first = place.block_idx / shape.n_splits * SIDE;
    const u32 start = split * shape.split_rows;
    const u32 n_split = start < shape.n_rows ? smaller(shape.split_rows, shape.n_rows - start) : 0;
    GLOBAL u64* lists = best + (u64)split * shape.n_queries * shape.k;
    SHARED float* chunks = (SHARED float*)shared;
    SHARED u64* floors = (SHARED u64*)(shared + 2 * Tile<EACH>::CHUNK);
    const Picking picking = {shape.n_rows, shape.k, shape.similarity_min, shape.skip_own, 0, 0, 0, rows, 0};
    empty_lists<EACH>(floors, lists, query_first, shape.n_queries, shape.k, place);
    for (u32 column = 0; column < n_split; column += SIDE) {
        float sums[EACH][EACH];
        multiply<EACH>(queries, shape.n_queries, query_first, rows, shape.n_rows, start + column, shape.dim, chunks,
                       place.thread_idx, sums);
        pick_tile<EACH, false>(sums, chunks, floors, lists, query_first, shape.n_queries, start + column, picking,
                               place);
    }
}

// The `k` nearest rows of each query among each split of the rows.
//
// `queries` is `[n_queries, dim]`, `rows` `[n_rows, dim]`, `best` `[n_splits, n_queries, k]` keys, best first. A block
// is a tile of queries and a split: n_blocks = ceil(n_queries / side) * n_splits, so that few queries still fill
// the device. 1 <= k <= 32.
KERNEL(nearest_rows_64, 256, IN(0, float, queries), IN(1, float, rows), OUT(2, u64, best),
       VALUE(3, NearestShape, shape)) {
    ENTER(place, shared);
    nearest_tile<4>(queries, rows, best, shape, shared, place);
}

KERNEL(nearest_rows_128, 256, IN(0, float, queries), IN(1, float, rows), OUT(2, u64, best),
       VALUE(3, NearestShape, shape)) {
    ENTER(place, shared);
    nearest_tile<8>(queries, rows, best, shape, shared, place);
}

// Joins the lists of the splits: `parts` `[n_splits, n_queries, k]` to `best` `[n_queries, k]`. A warp a query.
KERNEL(merge_best, 256, IN(0, u64, parts), OUT(1, u64, best), VALUE(2, MergeShape, shape)) {
    ENTER(place, shared);
    (void)shared;
    const u32 query = place.block_idx * (place.n_threads / WARP) + place.warp;
    if (query >= shape.n_queries) return;
    u64 floor = 0, listed = 0;
    for (u32 split = 0; split < shape.n_splits; split++) {
        GLOBAL const u64* part = parts + ((u64)split * shape.n_queries + query) * shape.k;
        floor = insert_above(listed, floor, place.lane < shape.k ? part[place.lane] : 0, shape.k, place.lane);
    }
    if (place.lane < shape.k) best[(u64)query * shape.k + place.lane] = listed;
}
