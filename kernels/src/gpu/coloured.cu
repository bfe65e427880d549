// Leiden on one large graph, a colour at a time: the steps of kernels/src/cpu/coloured (its rules are the contract).
//
// The host (coloured/card.rs) launches one kernel after another; whatever a kernel reads that others write was written
// by an earlier launch, but for sums, counters and stores of one same value. So no order of threads changes a result.
//
// A node is taken by a warp, which sums the weights of its edges by community in a hash table in shared memory: 512
// slots of 12 bytes a warp, 24 KiB a block of four. A hub, of more than 256 edges, is taken by a block of 256 threads
// with a table in global memory.
//
// Bytes of a full sweep over m directed edges: 12 m (column, weight, label) and about 60 n; of 2*10^7 edges and 10^6
// nodes 300 MB: 0.07 ms at 4.3 TB/s if all were read in a row. Labels are read at random, 32 bytes for 4, but their 4 MB
// lie in L2. Launches: 17 a colour and sweep (one choice, eight trials of two), about 2.5 us each; with 64 colours and
// six sweeps 16 ms: launches, not bytes, are the limit of a graph of this size.
// Operations: two products of 128 bits a neighbouring community. Memory: 80 bytes a node and the graph.
#include "port.h"

enum {
    COLOURED_NONE = 0xffffffffu,
    COLOURED_WINDOW = 64,
    COLOURED_WARPS = 4,
    COLOURED_SLOTS = 512,
    COLOURED_HUB_THREADS = 256,
};

// The numbers of a launch; Rust's twin is `Shape` in coloured/card.rs.
struct ColouredShape {
    i64 pull;
    i64 push;
    u32 n;        // nodes of the level
    u32 first;    // the launch is about order[first .. first + n_nodes]
    u32 n_nodes;
    u32 salt;     // mixed already
    u32 wide;     // weights are 64 bits wide
    u32 slots;    // of a hub's table, a power of two
    u32 trial;    // its parity says which half of `joining` and `leaving` is summed up
    u32 last;     // no trial follows
};

FUNCTION u32 coloured_mix(u32 x) {
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}

FUNCTION i64 coloured_weight(GLOBAL const u32* weights, u32 edge, u32 wide) {
    return wide ? ((GLOBAL const i64*)weights)[edge] : (i64)(i32)weights[edge];
}

// ---------------------------------------------------------------------------------------------------------- colours

FUNCTION u32 coloured_ones(u64 x) { return ones((u32)x) + ones((u32)(x >> 32)); }
FUNCTION u32 coloured_lowest(u64 x) { return (u32)x != 0 ? lowest((u32)x) : 32 + lowest((u32)(x >> 32)); }

// Every open node picks a colour that no neighbour has. A warp a node; `salt` is that of the round.
KERNEL(coloured_pick, 128, IN(0, u32, offsets), IN(1, u32, columns), IN(2, u32, colours), IN(3, u32, open),
       OUT(4, u32, picks), VALUE(5, ColouredShape, shape)) {
    ENTER(place, shared);
    (void)shared;
    const u32 node = place.block_idx * COLOURED_WARPS + place.warp;
    if (node >= shape.n || open[node] == 0) return;
    const u32 number = coloured_mix(node ^ shape.salt);
    for (u32 window = 0;; window += COLOURED_WINDOW) {
        u64 taken = 0;
        for (u32 edge = offsets[node] + place.lane; edge < offsets[node + 1]; edge += WARP) {
            const u32 within = colours[columns[edge]] - window;
            if (within < COLOURED_WINDOW) taken |= (u64)1 << within;
        }
        for (u32 step = WARP / 2; step > 0; step /= 2) taken |= warp_read_xor(taken, step);
        u64 left = ~taken;
        if (left == 0) continue;
        for (u32 skip = number % coloured_ones(left); skip > 0; skip--) left &= left - 1;
        if (place.lane == 0) picks[node] = window + coloured_lowest(left);
        return;
    }
}

KERNEL(coloured_give, 256, IN(0, u32, open), IN(1, u32, picks), OUT(2, u32, colours), VALUE(3, ColouredShape, shape)) {
    ENTER(place, shared);
    (void)shared;
    const u32 node = place.block_idx * place.n_threads + place.thread_idx;
    if (node < shape.n && open[node] != 0) colours[node] = picks[node];
}

FUNCTION bool coloured_outranks(u32 a, u32 b, u32 salt) {
    const u32 x = coloured_mix(a ^ salt), y = coloured_mix(b ^ salt);
    return x > y || (x == y && a > b);
}

// Of neighbours that picked the same, all but the highest lose. A warp a node; `salt` is that of the level.
KERNEL(coloured_lose, 128, IN(0, u32, offsets), IN(1, u32, columns), IN(2, u32, colours), IN(3, u32, open),
       OUT(4, u32, lost), VALUE(5, ColouredShape, shape)) {
    ENTER(place, shared);
    (void)shared;
    const u32 node = place.block_idx * COLOURED_WARPS + place.warp;
    if (node >= shape.n || open[node] == 0) return;
    bool loses = false;
    for (u32 edge = offsets[node] + place.lane; edge < offsets[node + 1]; edge += WARP) {
        const u32 other = columns[edge];
        loses = loses || (colours[other] == colours[node] && coloured_outranks(other, node, shape.salt));
    }
    loses = warp_any(loses);
    if (place.lane == 0) lost[node] = loses;
}

KERNEL(coloured_keep, 256, IN(0, u32, lost), OUT(1, u32, colours), OUT(2, u32, open), OUT(3, u32, n_open),
       VALUE(4, ColouredShape, shape)) {
    ENTER(place, shared);
    (void)shared;
    const u32 node = place.block_idx * place.n_threads + place.thread_idx;
    if (node >= shape.n || open[node] == 0) return;
    if (lost[node] == 0) {
        open[node] = 0;
        return;
    }
    colours[node] = COLOURED_NONE;
    atomic_add(n_open, 1u);
}

// ------------------------------------------------------------------------------------------------------ hash tables

// Open addressing; `W` is a pointer to words of shared or of global memory. A sum is two words, the low one first.
template <typename W>
struct ColouredTable {
    W sums;
    W keys;
    u32 mask;
};

// The lanes of a warp or the threads of a block that work on one node together.
struct ColouredGroup {
    u32 at;
    u32 n;
    bool block;
};

FUNCTION void group_sync(ColouredGroup group) {
    if (group.block) {
        block_sync();
    } else {
        warp_sync();
    }
}

template <typename W>
FUNCTION void table_clear(ColouredTable<W> table, ColouredGroup group) {
    for (u32 slot = group.at; slot <= table.mask; slot += group.n) {
        table.keys[slot] = COLOURED_NONE;
        table.sums[2 * slot] = 0;
        table.sums[2 * slot + 1] = 0;
    }
    group_sync(group);
}

template <typename W>
FUNCTION void table_add(ColouredTable<W> table, u32 key, i64 weight) {
    u32 slot = (key * 0x9e3779b9u >> 12) & table.mask;
    for (;;) {
        const u32 found = atomic_claim(&table.keys[slot], (u32)COLOURED_NONE, key);
        if (found == COLOURED_NONE || found == key) break;
        slot = (slot + 1) & table.mask;
    }
#if defined(__METAL_VERSION__)
    // A carry out of the low word is seen by exactly one of the adds.
    const u32 low = (u32)weight, found = atomic_add(&table.sums[2 * slot], low);
    const u32 high = (u32)((u64)weight >> 32) + (found + low < found ? 1 : 0);
    if (high != 0) atomic_add(&table.sums[2 * slot + 1], high);
#else
    atomic_add_64((u64*)&table.sums[2 * slot], (u64)weight);
#endif
}

template <typename W>
FUNCTION i64 table_sum(ColouredTable<W> table, u32 slot) {
    return (i64)((u64)table.sums[2 * slot + 1] << 32 | table.sums[2 * slot]);
}

// At least twice as many slots as edges.
FUNCTION ColouredTable<SHARED u32*> table_in_shared(SHARED u32* shared, u32 warp, u32 degree) {
    u32 slots = WARP;
    while (slots < 2 * degree) slots *= 2;
    const ColouredTable<SHARED u32*> table = {
        shared + warp * 2 * COLOURED_SLOTS, shared + (COLOURED_WARPS * 2 + warp) * COLOURED_SLOTS, slots - 1};
    return table;
}

FUNCTION ColouredTable<GLOBAL u32*> table_in_global(GLOBAL u32* tables, u32 block, u32 slots) {
    GLOBAL u32* sums = tables + (u64)block * 3 * slots;
    const ColouredTable<GLOBAL u32*> table = {sums, sums + 2 * (u64)slots, slots - 1};
    return table;
}

// A place to go to: the one of larger gain is better, of equal ones the lower label.
struct ColouredPlace {
    Wide gain;
    i64 weight;
    u32 label;
};

FUNCTION bool place_better(ColouredPlace a, ColouredPlace b) {
    if (a.label == COLOURED_NONE) return false;
    if (b.label == COLOURED_NONE || wide_less(b.gain, a.gain)) return true;
    return wide_equal(a.gain, b.gain) && a.label < b.label;
}

// The best place of the group and the sum of `own`, in all lanes of warp 0 (of a warp: in all lanes).
FUNCTION void group_best(ColouredGroup group, Place at, SHARED u32* shared, LOCAL ColouredPlace& best, LOCAL i64& own) {
    for (u32 step = WARP / 2; step > 0; step /= 2) {
        ColouredPlace other;
        other.gain = wide_warp_read_xor(best.gain, step);
        other.weight = warp_read_xor(best.weight, step);
        other.label = warp_read_xor(best.label, step);
        if (place_better(other, best)) best = other;
    }
    own = warp_sum(own);
    if (!group.block) return;
    SHARED u64* words = (SHARED u64*)shared + at.warp * 5;
    if (at.lane == 0) {
        words[0] = (u64)wide_high(best.gain);
        words[1] = wide_low(best.gain);
        words[2] = (u64)best.weight;
        words[3] = best.label;
        words[4] = (u64)own;
    }
    block_sync();
    own = 0;
    for (u32 warp = 0; warp < group.n / WARP; warp++) {
        SHARED const u64* theirs = (SHARED const u64*)shared + warp * 5;
        ColouredPlace other;
        other.gain = wide_of((i64)theirs[0], theirs[1]);
        other.weight = (i64)theirs[2];
        other.label = (u32)theirs[3];
        if (warp == 0 || place_better(other, best)) best = other;
        own += (i64)theirs[4];
    }
    block_sync();
}

// ----------------------------------------------------------------------------------------------------- local moving

// Adds up masses by label.
KERNEL(coloured_masses, 256, IN(0, u32, labels), IN(1, i64, mass), OUT(2, u64, sums), VALUE(3, ColouredShape, shape)) {
    ENTER(place, shared);
    (void)shared;
    const u32 node = place.block_idx * place.n_threads + place.thread_idx;
    if (node < shape.n) atomic_add_64(&sums[labels[node]], (u64)mass[node]);
}

template <typename W>
FUNCTION void choose_community(u32 node, ColouredGroup group, Place at, SHARED u32* shared, ColouredTable<W> table,
                               GLOBAL const u32* offsets, GLOBAL const u32* columns, GLOBAL const u32* weights,
                               GLOBAL const i64* mass,
                               GLOBAL const u32* labels, GLOBAL const i64* community, GLOBAL u64* joining,
                               GLOBAL u64* leaving, GLOBAL u32* active,
                               GLOBAL u32* to, GLOBAL i64* weight_from, GLOBAL i64* weight_to, ColouredShape shape) {
    const bool visited = active[node] != 0;
    group_sync(group);
    if (!visited) return;
    if (group.at == 0) active[node] = 0;
    table_clear(table, group);
    for (u32 edge = offsets[node] + group.at; edge < offsets[node + 1]; edge += group.n) {
        table_add(table, labels[columns[edge]], coloured_weight(weights, edge, shape.wide));
    }
    group_sync(group);
    const u32 from = labels[node];
    const i64 cost = shape.push * mass[node];
    ColouredPlace best = {wide_from(0), 0, COLOURED_NONE};
    i64 own = 0;
    for (u32 slot = group.at; slot <= table.mask; slot += group.n) {
        const u32 label = table.keys[slot];
        if (label == COLOURED_NONE) continue;
        const i64 weight = table_sum(table, slot);
        if (label == from) {
            own = weight;
            continue;
        }
        const ColouredPlace there = {wide_gain(shape.pull, weight, cost, community[label]), weight, label};
        if (place_better(there, best)) best = there;
    }
    group_best(group, at, shared, best, own);
    if (group.at != 0) return;
    const i64 rest = community[from] - mass[node];
    const Wide stay = wide_gain(shape.pull, own, cost, rest);
    if (best.label != COLOURED_NONE && !wide_less(stay, best.gain)) best.label = COLOURED_NONE;
    const Wide top = best.label == COLOURED_NONE ? stay : best.gain;
    if (wide_less(top, wide_from(0)) && rest > 0 && community[node] == 0) {
        best.label = node;
        best.weight = 0;
    }
    if (best.label == COLOURED_NONE) return;
    to[node] = best.label;
    weight_from[node] = own;
    weight_to[node] = best.weight;
    atomic_add_64(&joining[best.label], (u64)mass[node]);
    atomic_add_64(&leaving[from], (u64)mass[node]);
}

#define COLOURED_CHOOSE_ARGUMENTS                                                                             \
    IN(0, u32, offsets), IN(1, u32, columns), IN(2, u32, weights), IN(3, i64, mass), IN(4, u32, order),           \
        IN(5, u32, labels), IN(6, i64, community), OUT(7, u64, joining), OUT(8, u64, leaving), OUT(9, u32, active), \
        OUT(10, u32, to), OUT(11, i64, weight_from), OUT(12, i64, weight_to)

// The active nodes of a colour choose. A warp a node of at most 256 edges.
KERNEL(coloured_choose, 128, COLOURED_CHOOSE_ARGUMENTS, VALUE(13, ColouredShape, shape)) {
    ENTER(place, shared);
    const u32 idx = place.block_idx * COLOURED_WARPS + place.warp;
    if (idx >= shape.n_nodes) return;
    const u32 node = order[shape.first + idx];
    const ColouredGroup group = {place.lane, WARP, false};
    choose_community(node, group, place, shared, table_in_shared(shared, place.warp, offsets[node + 1] - offsets[node]),
                     offsets, columns, weights, mass, labels, community, joining, leaving, active, to, weight_from,
                     weight_to, shape);
}

// The same of hubs: a block a node, as many blocks as there are tables.
KERNEL(coloured_choose_hubs, 256, COLOURED_CHOOSE_ARGUMENTS, OUT(13, u32, tables), VALUE(14, ColouredShape, shape)) {
    ENTER(place, shared);
    const ColouredGroup group = {place.thread_idx, place.n_threads, true};
    for (u32 idx = place.block_idx; idx < shape.n_nodes; idx += place.n_blocks) {
        choose_community(order[shape.first + idx], group, place, shared,
                         table_in_global(tables, place.block_idx, shape.slots), offsets, columns, weights, mass, labels,
                         community, joining, leaving, active, to, weight_from, weight_to, shape);
    }
}

// Whether a choice pays even if all others that want to join came first and all that want to leave left first.
KERNEL(coloured_hold, 256, IN(0, i64, mass), IN(1, u32, order), IN(2, u32, labels), IN(3, i64, community),
       IN(4, i64, joining), IN(5, i64, leaving), IN(6, u32, to), IN(7, i64, weight_from), IN(8, i64, weight_to),
       OUT(9, u32, holds), VALUE(10, ColouredShape, shape)) {
    ENTER(place, shared);
    (void)shared;
    const u32 idx = place.block_idx * place.n_threads + place.thread_idx;
    if (idx >= shape.n_nodes) return;
    const u32 node = order[shape.first + idx], target = to[node], from = labels[node];
    if (target == COLOURED_NONE) return;
    const u64 half = (u64)(shape.trial & 1) * shape.n;
    const i64 cost = shape.push * mass[node];
    const i64 full = community[target] + joining[half + target] - mass[node];
    const i64 bare = community[from] - leaving[half + from];
    const Wide go = wide_gain(shape.pull, weight_to[node], cost, full);
    const Wide stay = wide_gain(shape.pull, weight_from[node], cost, bare);
    holds[node] = wide_less(stay, go);
}

// Makes the choices true that hold, and sums up those that stay pending for the next trial. A warp a node.
KERNEL(coloured_move, 128, IN(0, u32, offsets), IN(1, u32, columns), IN(2, i64, mass), IN(3, u32, order),
       IN(4, u32, holds), OUT(5, u32, labels), OUT(6, u64, community), OUT(7, u64, joining), OUT(8, u64, leaving),
       OUT(9, u32, active), OUT(10, u32, to), OUT(11, u32, n_moved), VALUE(12, ColouredShape, shape)) {
    ENTER(place, shared);
    (void)shared;
    const u32 idx = place.block_idx * COLOURED_WARPS + place.warp;
    if (idx >= shape.n_nodes) return;
    const u32 node = order[shape.first + idx], target = to[node], from = labels[node];
    if (target == COLOURED_NONE) return;
    const u64 half = (u64)(shape.trial & 1) * shape.n, other_half = shape.n - half;
    const bool held = holds[node] != 0;
    warp_sync();
    if (held) {
        for (u32 edge = offsets[node] + place.lane; edge < offsets[node + 1]; edge += WARP) {
            if (labels[columns[edge]] != target) active[columns[edge]] = 1;
        }
    }
    if (place.lane != 0) return;
    joining[half + target] = 0;
    leaving[half + from] = 0;
    if (held) {
        labels[node] = target;
        atomic_add_64(&community[target], (u64)mass[node]);
        atomic_add_64(&community[from], (u64)-mass[node]);
        atomic_add(n_moved, 1u);
        to[node] = COLOURED_NONE;
    } else if (shape.last == 0 && (coloured_mix(node ^ shape.salt) & 1) == 0) {
        atomic_add_64(&joining[other_half + target], (u64)mass[node]);
        atomic_add_64(&leaving[other_half + from], (u64)mass[node]);
    } else {
        active[node] = 1;
        to[node] = COLOURED_NONE;
    }
}

// ------------------------------------------------------------------------------------------------------- refinement

// The weight between each node and the rest of its community. A warp a node.
KERNEL(coloured_cut, 128, IN(0, u32, offsets), IN(1, u32, columns), IN(2, u32, weights), IN(3, u32, labels),
       OUT(4, i64, cut), VALUE(5, ColouredShape, shape)) {
    ENTER(place, shared);
    (void)shared;
    const u32 node = place.block_idx * COLOURED_WARPS + place.warp;
    if (node >= shape.n) return;
    i64 sum = 0;
    for (u32 edge = offsets[node] + place.lane; edge < offsets[node + 1]; edge += WARP) {
        if (labels[columns[edge]] == labels[node]) sum += coloured_weight(weights, edge, shape.wide);
    }
    sum = warp_sum(sum);
    if (place.lane == 0) cut[node] = sum;
}

FUNCTION bool well_connected(i64 whole, i64 mass, i64 cut, ColouredShape shape) {
    return !wide_less(wide_gain(shape.pull, cut, shape.push * mass, whole - mass), wide_from(0));
}

template <typename W>
FUNCTION void choose_part(u32 node, ColouredGroup group, Place at, SHARED u32* shared, ColouredTable<W> table,
                          GLOBAL const u32* offsets, GLOBAL const u32* columns, GLOBAL const u32* weights,
                          GLOBAL const i64* mass,
                          GLOBAL const u32* labels, GLOBAL const i64* whole, GLOBAL const u32* parts,
                          GLOBAL const i64* part_mass, GLOBAL const i64* cut,
                          GLOBAL const u32* joined, GLOBAL u64* joining, GLOBAL u32* to, GLOBAL i64* weight_to,
                          ColouredShape shape) {
    const u32 label = labels[node];
    if (joined[node] != 0 || cut[node] == 0 || !well_connected(whole[label], mass[node], cut[node], shape)) return;
    table_clear(table, group);
    for (u32 edge = offsets[node] + group.at; edge < offsets[node + 1]; edge += group.n) {
        const u32 other = columns[edge];
        if (labels[other] == label) table_add(table, parts[other], coloured_weight(weights, edge, shape.wide));
    }
    group_sync(group);
    const i64 cost = shape.push * mass[node];
    ColouredPlace best = {wide_from(0), 0, COLOURED_NONE};
    i64 own = 0;
    for (u32 slot = group.at; slot <= table.mask; slot += group.n) {
        const u32 part = table.keys[slot];
        if (part == COLOURED_NONE) continue;
        const i64 weight = table_sum(table, slot);
        const ColouredPlace there = {wide_gain(shape.pull, weight, cost, part_mass[part]), weight, part};
        if (wide_less(there.gain, wide_from(0)) || !place_better(there, best)) continue;
        if (well_connected(whole[label], part_mass[part], cut[part], shape)) best = there;
    }
    group_best(group, at, shared, best, own);
    if (group.at != 0 || best.label == COLOURED_NONE) return;
    to[node] = best.label;
    weight_to[node] = best.weight;
    atomic_add_64(&joining[best.label], (u64)mass[node]);
}

#define COLOURED_PART_ARGUMENTS                                                                               \
    IN(0, u32, offsets), IN(1, u32, columns), IN(2, u32, weights), IN(3, i64, mass), IN(4, u32, order),           \
        IN(5, u32, labels), IN(6, i64, whole), IN(7, u32, parts), IN(8, i64, part_mass), IN(9, i64, cut),             \
        IN(10, u32, joined), OUT(11, u64, joining), OUT(12, u32, to), OUT(13, i64, weight_to)

// The lone nodes of a colour choose parts. A warp a node of at most 256 edges.
KERNEL(coloured_choose_part, 128, COLOURED_PART_ARGUMENTS, VALUE(14, ColouredShape, shape)) {
    ENTER(place, shared);
    const u32 idx = place.block_idx * COLOURED_WARPS + place.warp;
    if (idx >= shape.n_nodes) return;
    const u32 node = order[shape.first + idx];
    const ColouredGroup group = {place.lane, WARP, false};
    choose_part(node, group, place, shared, table_in_shared(shared, place.warp, offsets[node + 1] - offsets[node]),
                offsets, columns, weights, mass, labels, whole, parts, part_mass, cut, joined, joining, to, weight_to,
                shape);
}

KERNEL(coloured_choose_part_hubs, 256, COLOURED_PART_ARGUMENTS, OUT(14, u32, tables), VALUE(15, ColouredShape, shape)) {
    ENTER(place, shared);
    const ColouredGroup group = {place.thread_idx, place.n_threads, true};
    for (u32 idx = place.block_idx; idx < shape.n_nodes; idx += place.n_blocks) {
        choose_part(order[shape.first + idx], group, place, shared, table_in_global(tables, place.block_idx,
                    shape.slots),
                    offsets, columns, weights, mass, labels, whole, parts, part_mass, cut, joined, joining, to,
                    weight_to, shape);
    }
}

// Whether joining does not cost even if all others that want to join came first.
KERNEL(coloured_hold_part, 256, IN(0, i64, mass), IN(1, u32, order), IN(2, i64, part_mass), IN(3, i64, joining),
       IN(4, u32, to), IN(5, i64, weight_to), OUT(6, u32, holds), VALUE(7, ColouredShape, shape)) {
    ENTER(place, shared);
    (void)shared;
    const u32 idx = place.block_idx * place.n_threads + place.thread_idx;
    if (idx >= shape.n_nodes) return;
    const u32 node = order[shape.first + idx], target = to[node];
    if (target == COLOURED_NONE) return;
    const u64 half = (u64)(shape.trial & 1) * shape.n;
    const i64 full = part_mass[target] + joining[half + target] - mass[node];
    holds[node] = !wide_less(wide_gain(shape.pull, weight_to[node], shape.push * mass[node], full), wide_from(0));
}

KERNEL(coloured_join, 256, IN(0, i64, mass), IN(1, u32, order), IN(2, u32, holds), IN(3, i64, weight_to),
       OUT(4, u32, parts), OUT(5, u64, part_mass), OUT(6, u64, cut), OUT(7, u32, joined), OUT(8, u64, joining),
       OUT(9, u32, to), VALUE(10, ColouredShape, shape)) {
    ENTER(place, shared);
    (void)shared;
    const u32 idx = place.block_idx * place.n_threads + place.thread_idx;
    if (idx >= shape.n_nodes) return;
    const u32 node = order[shape.first + idx], target = to[node];
    if (target == COLOURED_NONE) return;
    const u64 half = (u64)(shape.trial & 1) * shape.n, other_half = shape.n - half;
    joining[half + target] = 0;
    if (holds[node] != 0) {
        parts[node] = target;
        joined[node] = 1;
        joined[target] = 1;
        atomic_add_64(&part_mass[target], (u64)mass[node]);
        atomic_add_64(&cut[target], cut[node] - 2 * (u64)weight_to[node]);
        to[node] = COLOURED_NONE;
    } else if (shape.last == 0 && (coloured_mix(node ^ shape.salt) & 1) == 0) {
        atomic_add_64(&joining[other_half + target], (u64)mass[node]);
    } else {
        to[node] = COLOURED_NONE;
    }
}
