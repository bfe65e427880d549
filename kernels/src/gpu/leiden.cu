// Leiden communities of many small graphs: one warp a document, the labels of the processor's document rules bit for
// bit (cpu/leiden/serial.rs). Every decision compares exact 64-bit integers with ties by number; sums and minima of
// integers do not depend on who came first; so no order of lanes shows.
//
// Sketch, for a document of n sentences and e directed edges (111 and 1,530 in the mean of real ones).
//   shared       35 bytes a sentence and 40 a document: sums, masses, cuts and numbers of the level at hand (layout
//                below). 48 KiB hold 1,400 sentences, 227 KiB (H100, H200) 6,640.
//   device       6 bytes an edge (u16 neighbour, i32 weight), read from L2; 2 bytes a sentence of labels
//   operations   a visit of a node reads its edges three times in steps of 32 (add up, compare, clear), a move once
//                more. A document makes about 1,700 visits and 15,500 steps over edges on the processor; here
//                1,700 * (3 * 1.1 steps of about 60 cycles + 2 reductions of 10 shuffles) = 700,000 cycles,
//                hidden by 16 to 32 warps a multiprocessor: about 0.03 ms a document and multiprocessor.
// No coarse graph is built: a node of a level is a run of sentences in `order`, and its edges are theirs.
//
// The host refuses (and leaves to the processor) documents whose numbers do not fit: see `narrow` in cpu/leiden/rule.rs;
// `push` 0; sums of weights above 2^31 - 1; more than 65,535 sentences.
#include "port.h"

enum : u32 { NO_ID = 0xffffu, GROUP = 8, STARTS_EDGES = 2048, STARTS_MAX = 4 };

// What one launch shares. `rounds_max` is at least 1.
struct LeidenShape {
    u64 seed;
    i64 push;
    u32 by_degree;
    u32 rounds_max;
};

// The state of a document in shared memory. `count` (nodes of a community) and `part_mass` (mass of a part) are one
// array: the first is used while nodes move, the second while parts form.
struct Board {
    SHARED i32* sum;        // weight by community or part; 0 between visits
    SHARED i32* mass;       // of a node
    SHARED i32* total;      // mass of a community
    SHARED i32* cut;        // weight of a node or part to the rest of its community
    SHARED i32* part_mass;  // count
    SHARED u16* node;       // node of the level that a sentence is in
    SHARED u16* label;      // community of a node
    SHARED u16* part;       // part of a node
    SHARED u16* order;      // sentences, those of a node beside each other
    SHARED u16* start;      // where a node's sentences start in `order`; n + 1
    SHARED u16* number;     // node of the first level that a sentence is
    SHARED u16* base;       // communities of the first level's nodes between rounds
    SHARED u8* flag;        // waits for a visit; or is a part of its own that nobody joined
};

// The document: `n` sentences, the edges of sentence v are `rows[v] .. rows[v + 1]`.
struct Document {
    GLOBAL const u32* rows;
    GLOBAL const u16* columns;
    GLOBAL const i32* weights;
    u32 n;
    i64 pull;
    i64 push;
    u32 lane;
};

FUNCTION Board leiden_board(SHARED u32* shared, u32 n) {
    Board board;
    board.sum = (SHARED i32*)shared;
    board.mass = board.sum + n;
    board.total = board.mass + n;
    board.cut = board.total + n;
    board.part_mass = board.cut + n;
    board.node = (SHARED u16*)(board.part_mass + n);
    board.label = board.node + n;
    board.part = board.label + n;
    board.order = board.part + n;
    board.number = board.order + n;
    board.base = board.number + n;
    board.start = board.base + n;
    board.flag = (SHARED u8*)(board.start + n + 1);
    return board;
}

FUNCTION u64 leiden_mix(u64 z) {
    z += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

FUNCTION u64 leiden_key(u64 seed, u32 start, u32 round, u32 level) {
    return leiden_mix(seed ^ leiden_mix(((u64)start << 40) + ((u64)round << 20) + (u64)level));
}

// Place p of the order is node (start + p * stride) mod m.
struct Affine {
    u32 start;
    u32 stride;
};

FUNCTION Affine leiden_affine(u64 key, u32 m) {
    Affine affine = {0, 0};
    if (m <= 1) return affine;
    const u64 bits = leiden_mix(key);
    affine.start = (u32)(((bits & 0xffffffffu) * m) >> 32);
    affine.stride = 1 + (u32)(((bits >> 32) * (m - 1)) >> 32);
    for (;;) {
        u32 a = affine.stride, b = m;
        while (b != 0) {
            const u32 rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1) return affine;
        affine.stride = affine.stride + 1 == m ? 1 : affine.stride + 1;
    }
}

FUNCTION i64 leiden_gain(Document document, i32 weight, i64 pushed, i32 mass) {
    return document.pull * weight - pushed * mass;
}

// The weighted degree of each sentence into `to`.
FUNCTION void leiden_degrees(Document document, SHARED i32* to) {
    for (u32 v = document.lane; v < document.n; v += WARP) {
        i32 degree = 0;
        for (u32 e = document.rows[v]; e < document.rows[v + 1]; e++) degree += document.weights[e];
        to[v] = degree;
    }
}

// Numbers the sentences in the order of a start: by (degree, sentence), or a seeded one.
FUNCTION void leiden_number(Document document, Board board, u64 seed, u32 start) {
    const u32 n = document.n, lane = document.lane;
    if (start == 0) {
        leiden_degrees(document, board.sum);
        warp_sync();
        for (u32 v = lane; v < n; v += WARP) {
            const i32 degree = board.sum[v];
            u32 before = 0;
            for (u32 u = 0; u < n; u++) before += board.sum[u] < degree || (board.sum[u] == degree && u < v) ? 1 : 0;
            board.number[v] = (u16)before;
        }
    } else {
        const Affine affine = leiden_affine(leiden_key(seed, start, 0, 0), n);
        for (u32 p = lane; p < n; p += WARP) {
            board.number[(u32)((affine.start + (u64)p * affine.stride) % n)] = (u16)p;
        }
    }
    warp_sync();
}

// The first level of a round: the sentences by number, in the communities of `base`.
FUNCTION void leiden_first_level(Document document, Board board, u32 by_degree) {
    const u32 n = document.n, lane = document.lane;
    leiden_degrees(document, board.cut);
    warp_sync();
    for (u32 v = lane; v < n; v += WARP) {
        const u32 node = board.number[v];
        board.node[v] = (u16)node;
        board.order[node] = (u16)v;
        board.mass[node] = by_degree ? board.cut[v] : 1;
    }
    for (u32 i = lane; i < n; i += WARP) {
        board.start[i] = (u16)i;
        board.label[i] = board.base[i];
        board.sum[i] = 0;
    }
    if (lane == 0) board.start[n] = (u16)n;
    warp_sync();
}

// The best of the lanes: the largest gain, then the lowest id. A lane without an offer has the id NO_ID.
FUNCTION u32 leiden_best(LOCAL i64& gain, u32 id) {
    const i64 top = warp_max(gain);
    id = warp_min(gain == top ? id : (u32)NO_ID);
    gain = top;
    return id;
}

// Takes an offer if it is better than the lane's own.
FUNCTION void leiden_offer(LOCAL i64& top, LOCAL u32& to, i64 gain, u32 id) {
    if (gain > top || (gain == top && id < to)) {
        top = gain;
        to = id;
    }
}

// Visits a node: moves it to where it gains most. Returns what that gained; 0 if it stays.
FUNCTION i64 leiden_visit(Document document, Board board, u32 m, u32 node) {
    const u32 lane = document.lane, own = board.label[node], from = board.start[node], end = board.start[node + 1];
    const i32 mass = board.mass[node];
    const i64 pushed = document.push * mass;
    for (u32 k = from; k < end; k++) {
        const u32 v = board.order[k];
        for (u32 e = document.rows[v] + lane; e < document.rows[v + 1]; e += WARP) {
            const u32 other = board.node[document.columns[e]];
            if (other != node) atomic_add(&board.sum[board.label[other]], document.weights[e]);
        }
    }
    warp_sync();
    const i64 stay = leiden_gain(document, board.sum[own], pushed, board.total[own] - mass);
    i64 top = stay;
    u32 to = NO_ID;
    for (u32 k = from; k < end; k++) {
        const u32 v = board.order[k];
        for (u32 e = document.rows[v] + lane; e < document.rows[v + 1]; e += WARP) {
            const u32 other = board.node[document.columns[e]];
            if (other == node) continue;
            const u32 label = board.label[other];
            if (label == own) continue;
            leiden_offer(top, to, leiden_gain(document, board.sum[label], pushed, board.total[label]), label);
        }
    }
    to = leiden_best(top, to);
    if (top == stay) to = own;
    if (top < 0 && board.part_mass[own] > 1) {
        u32 free = NO_ID;
        for (u32 i = lane; i < m; i += WARP) {
            if (free == NO_ID && board.part_mass[i] == 0) free = i;
        }
        to = warp_min(free);
        top = 0;
    }
    warp_sync();
    for (u32 k = from; k < end; k++) {
        const u32 v = board.order[k];
        for (u32 e = document.rows[v] + lane; e < document.rows[v + 1]; e += WARP) {
            board.sum[board.label[board.node[document.columns[e]]]] = 0;
        }
    }
    if (to == own) {
        warp_sync();
        return 0;
    }
    warp_sync();
    if (lane == 0) {
        board.label[node] = (u16)to;
        board.total[own] -= mass;
        board.total[to] += mass;
        board.part_mass[own] -= 1;
        board.part_mass[to] += 1;
    }
    warp_sync();
    for (u32 k = from; k < end; k++) {
        const u32 v = board.order[k];
        for (u32 e = document.rows[v] + lane; e < document.rows[v + 1]; e += WARP) {
            const u32 other = board.node[document.columns[e]];
            if (board.label[other] != to) board.flag[other] = 1;
        }
    }
    warp_sync();
    return top - stay;
}

// The weight of each node to the rest of its community.
FUNCTION void leiden_cuts(Document document, Board board, u32 m) {
    const u32 lane = document.lane;
    for (u32 i = lane; i < m; i += WARP) board.cut[i] = 0;
    warp_sync();
    for (u32 v = lane; v < document.n; v += WARP) {
        const u32 node = board.node[v], own = board.label[node];
        i32 cut = 0;
        for (u32 e = document.rows[v]; e < document.rows[v + 1]; e++) {
            const u32 other = board.node[document.columns[e]];
            if (other != node && board.label[other] == own) cut += document.weights[e];
        }
        if (cut != 0) atomic_add(&board.cut[node], cut);
    }
    warp_sync();
}

// Moves nodes until none gains and none would rather be alone; leaves the cuts. Adds up moves and gains.
FUNCTION void leiden_move(Document document, Board board, u32 m, LOCAL u32& n_moves, LOCAL i64& gained) {
    const u32 lane = document.lane;
    for (u32 i = lane; i < m; i += WARP) {
        board.total[i] = 0;
        board.part_mass[i] = 0;
        board.flag[i] = 1;
    }
    warp_sync();
    for (u32 i = lane; i < m; i += WARP) {
        const u32 label = board.label[i];
        atomic_add(&board.total[label], board.mass[i]);
        atomic_add(&board.part_mass[label], 1);
    }
    warp_sync();
    for (;;) {
        bool visited = true;
        while (visited) {
            visited = false;
            for (u32 at = 0; at < m;) {
                // From the start of the group at hand: within it an earlier node may have become active again.
                const u32 waiting = warp_ballot(at + lane < m && board.flag[at + lane] != 0);
                if (waiting == 0) {
                    at += WARP;
                    continue;
                }
                const u32 node = at + lowest(waiting);
                at = node - node % GROUP;
                visited = true;
                warp_sync();
                if (lane == 0) board.flag[node] = 0;
                warp_sync();
                const i64 gain = leiden_visit(document, board, m, node);
                n_moves += gain != 0 ? 1 : 0;
                gained += gain;
            }
        }
        leiden_cuts(document, board, m);
        bool woken = false;
        for (u32 i = lane; i < m; i += WARP) {
            const i32 mass = board.mass[i];
            const i32 rest = board.total[board.label[i]] - mass;
            const bool loses = leiden_gain(document, board.cut[i], document.push * mass, rest) < 0;
            board.flag[i] = loses ? 1 : 0;
            woken = woken || loses;
        }
        const bool any = warp_any(woken);
        warp_sync();
        if (!any) return;
    }
}

// Lets a lone node join the part of its community that gains most.  Returns whether it did.
FUNCTION bool leiden_join(Document document, Board board, u32 node) {
    const u32 lane = document.lane, own = board.label[node], from = board.start[node], end = board.start[node + 1];
    const i32 mass = board.mass[node], whole = board.total[own];
    const i64 pushed = document.push * mass;
    for (u32 k = from; k < end; k++) {
        const u32 v = board.order[k];
        for (u32 e = document.rows[v] + lane; e < document.rows[v + 1]; e += WARP) {
            const u32 other = board.node[document.columns[e]];
            if (other == node || board.label[other] != own) continue;
            atomic_add(&board.sum[board.part[other]], document.weights[e]);
        }
    }
    warp_sync();
    i64 top = -1;
    u32 to = NO_ID;
    for (u32 k = from; k < end; k++) {
        const u32 v = board.order[k];
        for (u32 e = document.rows[v] + lane; e < document.rows[v + 1]; e += WARP) {
            const u32 other = board.node[document.columns[e]];
            if (other == node || board.label[other] != own) continue;
            const u32 part = board.part[other];
            const i32 part_mass = board.part_mass[part];
            const bool well = leiden_gain(document, board.cut[part], document.push * part_mass, whole - part_mass) >= 0;
            if (well) leiden_offer(top, to, leiden_gain(document, board.sum[part], pushed, part_mass), part);
        }
    }
    to = leiden_best(top, to);
    const i32 between = to == NO_ID ? 0 : board.sum[to];
    warp_sync();
    for (u32 k = from; k < end; k++) {
        const u32 v = board.order[k];
        for (u32 e = document.rows[v] + lane; e < document.rows[v + 1]; e += WARP) {
            board.sum[board.part[board.node[document.columns[e]]]] = 0;
        }
    }
    if (to == NO_ID) {
        warp_sync();
        return false;
    }
    if (lane == 0) {
        board.cut[to] += board.cut[node] - 2 * between;
        board.part_mass[to] += mass;
        board.flag[node] = 0;
        board.flag[to] = 0;
    }
    warp_sync();
    // After the clearing above, which read the part of this node's neighbours and of itself.
    if (lane == 0) board.part[node] = (u16)to;
    warp_sync();
    return true;
}

// Finds the parts of the communities; returns their number. `flag`: a part of its own that nobody joined.
FUNCTION u32 leiden_refine(Document document, Board board, u32 m, Affine affine) {
    const u32 lane = document.lane;
    for (u32 i = lane; i < m; i += WARP) {
        board.part[i] = (u16)i;
        board.part_mass[i] = board.mass[i];
        board.flag[i] = 1;
    }
    warp_sync();
    u32 n_parts = m;
    u32 next = affine.start;
    for (u32 p = 0; p < m; p++) {
        const u32 node = next;
        next += affine.stride;
        next -= next >= m ? m : 0;
        if (board.flag[node] == 0 || board.cut[node] == 0) continue;
        if (leiden_join(document, board, node)) n_parts--;
    }
    warp_sync();
    return n_parts;
}

// The next level: one node a part, numbered by its lowest node, in the community it was in.
FUNCTION void leiden_aggregate(Document document, Board board, u32 m, u32 n_parts) {
    const u32 n = document.n, lane = document.lane;
    for (u32 i = lane; i < m; i += WARP) board.sum[i] = 0x7fffffff;
    warp_sync();
    for (u32 i = lane; i < m; i += WARP) atomic_min(&board.sum[board.part[i]], (i32)i);
    warp_sync();
    // `order` is about to be made anew: until then it holds the number of each part.
    u32 found = 0;
    for (u32 first = 0; first < m; first += WARP) {
        const u32 i = first + lane;
        const bool lowest_of_part = i < m && board.sum[board.part[i]] == (i32)i;
        const u32 ballot = warp_ballot(lowest_of_part);
        if (lowest_of_part) board.order[board.part[i]] = (u16)(found + ones(ballot & ((1u << lane) - 1)));
        found += ones(ballot);
    }
    warp_sync();
    for (u32 i = lane; i < m; i += WARP) {
        if (board.part[i] == i) board.cut[board.order[i]] = board.part_mass[i];
        board.sum[i] = 0x7fffffff;
    }
    warp_sync();
    for (u32 i = lane; i < m; i += WARP) {
        board.part[i] = board.order[board.part[i]];
        atomic_min(&board.sum[board.label[i]], (i32)board.part[i]);
    }
    warp_sync();
    for (u32 i = lane; i < m; i += WARP) board.start[board.part[i]] = (u16)board.sum[board.label[i]];
    warp_sync();
    for (u32 i = lane; i < n_parts; i += WARP) {
        board.label[i] = board.start[i];
        board.mass[i] = board.cut[i];
    }
    for (u32 v = lane; v < n; v += WARP) board.node[v] = board.part[board.node[v]];
    warp_sync();
    for (u32 i = lane; i < n_parts; i += WARP) {
        board.sum[i] = 0;
        board.cut[i] = 0;
    }
    warp_sync();
    for (u32 v = lane; v < n; v += WARP) atomic_add(&board.sum[board.node[v]], 1);
    warp_sync();
    u32 before = 0;
    for (u32 first = 0; first < n_parts; first += WARP) {
        const u32 i = first + lane;
        const u32 count = i < n_parts ? (u32)board.sum[i] : 0;
        const u32 up_to = warp_sum_up_to(count, lane);
        if (i < n_parts) board.start[i] = (u16)(before + up_to - count);
        before += warp_read(up_to, WARP - 1);
    }
    if (lane == 0) board.start[n_parts] = (u16)n;
    warp_sync();
    // Sentences of a node in any order: nothing depends on it.
    for (u32 v = lane; v < n; v += WARP) {
        const u32 node = board.node[v];
        board.order[board.start[node] + (u32)atomic_add(&board.cut[node], 1)] = (u16)v;
    }
    for (u32 i = lane; i < m; i += WARP) board.sum[i] = 0;
    warp_sync();
}

// One pass over all levels from the communities of `base` to better ones. Returns the number of moves.
FUNCTION u32 leiden_round(Document document, Board board, LeidenShape shape, u32 start, u32 round, LOCAL i64& gained) {
    const u32 n = document.n, lane = document.lane;
    leiden_first_level(document, board, shape.by_degree);
    u32 n_moves = 0;
    u32 m = n;
    for (u32 level = 0;; level++) {
        leiden_move(document, board, m, n_moves, gained);
        const Affine affine = leiden_affine(leiden_key(shape.seed, start, round, level), m);
        const u32 n_parts = leiden_refine(document, board, m, affine);
        if (n_parts == m) break;
        leiden_aggregate(document, board, m, n_parts);
        m = n_parts;
    }
    for (u32 i = lane; i < n; i += WARP) board.sum[i] = 0x7fffffff;
    warp_sync();
    for (u32 v = lane; v < n; v += WARP) atomic_min(&board.sum[board.label[board.node[v]]], (i32)board.number[v]);
    warp_sync();
    for (u32 v = lane; v < n; v += WARP) board.base[board.number[v]] = (u16)board.sum[board.label[board.node[v]]];
    warp_sync();
    return n_moves;
}

// `labels` of the document: the best start's communities while starts are compared, dense numbers at the end.
FUNCTION void leiden_document(Document document, Board board, LeidenShape shape, GLOBAL u16* labels) {
    const u32 n = document.n, lane = document.lane;
    const u32 n_edges = document.rows[n] - document.rows[0];
    const u32 n_starts = larger<u32>(1, smaller<u32>(STARTS_MAX, STARTS_EDGES / (n_edges + 1)));
    i64 best = 0;
    u32 best_start = 0;
    bool done = false;
    for (u32 start = 0; start < n_starts; start++) {
        leiden_number(document, board, shape.seed, start);
        for (u32 i = lane; i < n; i += WARP) board.base[i] = (u16)i;
        warp_sync();
        i64 value = 0;
        const u32 n_moves = leiden_round(document, board, shape, start, 0, value);
        if (start == 0 || value > best) {
            best = value;
            best_start = start;
            done = n_moves == 0;
            for (u32 v = lane; v < n; v += WARP) labels[v] = board.base[board.number[v]];
        }
        warp_sync();
    }
    if (best_start + 1 != n_starts) {
        leiden_number(document, board, shape.seed, best_start);
        for (u32 v = lane; v < n; v += WARP) board.base[board.number[v]] = labels[v];
        warp_sync();
    }
    for (u32 round = 1; !done && round < shape.rounds_max; round++) {
        i64 gained = 0;
        done = leiden_round(document, board, shape, best_start, round, gained) == 0;
    }
    for (u32 i = lane; i < n; i += WARP) board.sum[i] = 0x7fffffff;
    warp_sync();
    for (u32 v = lane; v < n; v += WARP) atomic_min(&board.sum[board.base[board.number[v]]], (i32)v);
    warp_sync();
    u32 found = 0;
    for (u32 first = 0; first < n; first += WARP) {
        const u32 v = first + lane;
        const u32 label = v < n ? board.base[board.number[v]] : 0;
        const bool is_first = v < n && board.sum[label] == (i32)v;
        const u32 ballot = warp_ballot(is_first);
        if (is_first) board.start[label] = (u16)(found + ones(ballot & ((1u << lane) - 1)));
        found += ones(ballot);
    }
    warp_sync();
    for (u32 v = lane; v < n; v += WARP) labels[v] = board.start[board.base[board.number[v]]];
}

// Block i takes document `documents[i]`: its sentences are `offsets[d] .. offsets[d + 1]`, the edges of sentence s
// `rows[s] .. rows[s + 1]`, neighbours are numbers within the document, `pulls[d]` is the quality's. Shared memory:
// 35 bytes a sentence of the largest document of the launch and 40.
KERNEL(leiden_documents, 32, IN(0, u32, documents), IN(1, u32, offsets), IN(2, u32, rows), IN(3, u16, columns),
       IN(4, i32, weights), IN(5, i64, pulls), OUT(6, u16, labels), VALUE(7, LeidenShape, shape)) {
    ENTER(place, shared);
    const u32 d = documents[place.block_idx];
    const u32 first = offsets[d];
    const u32 n = offsets[d + 1] - first;
    if (n == 0) return;
    const Document document = {rows + first, columns, weights, n, pulls[d], shape.push, place.lane};
    leiden_document(document, leiden_board(shared, n), shape, labels + first);
}
