// Runs the kernels of nearest.cu: links sources, or finds the nearest rows of queries.
#include "job.h"
#include "../src/gpu/nearest.cu"

enum Mode : u32 { LINK_64, LINK_128, NEAREST_64, NEAREST_128 };

static void link(Job& job, bool wide) {
    const Input<float> rows = job.input<float>("rows");
    const Input<u32> offsets = job.input<u32>("offsets");
    const Input<float> bonus = job.input<float>("bonus");
    const LinkShape shape = job.value<LinkShape>("shape");
    const u32 side = wide ? 128 : 64, n_sources = (u32)offsets.n() - 1;
    std::vector<u32> found;
    for (u32 source = 0; source < n_sources; source++) {
        for (u32 row = 0; row < offsets[source + 1] - offsets[source]; row += side) {
            found.push_back(source);
            found.push_back(row);
        }
    }
    Output<u32> tiles = job.work<u32>("tiles", found.size());
    for (size_t i = 0; i < found.size(); i++) tiles[i] = found[i];
    Output<u64> best = job.output<u64>("best", (size_t)offsets[n_sources] * shape.k);
    Output<i32> medians = job.output<i32>("medians", n_sources);
    Output<u32> counts = job.work<u32>("counts", (size_t)n_sources * 2 * shape.n_weights);
    counts.fill(0);
    const unsigned n_tiles = (unsigned)found.size() / 2;
    if (wide) {
        launch(n_tiles, TILE_THREADS, 4 * Tile<8>::SHARED_WORDS, [&] {
            CALL(link_rows_128, rows.data(), offsets.data(), tiles.data(), bonus.data(), best.data(), counts.data(),
                 shape);
        });
    } else {
        launch(n_tiles, TILE_THREADS, 4 * Tile<4>::SHARED_WORDS, [&] {
            CALL(link_rows_64, rows.data(), offsets.data(), tiles.data(), bonus.data(), best.data(), counts.data(),
                 shape);
        });
    }
    const MedianShape median_shape = {shape.n_weights, shape.weight_lowest};
    launch(n_sources, TILE_THREADS, 256, [&] { CALL(link_medians, counts.data(), medians.data(), median_shape); });
}

static void nearest(Job& job, bool wide) {
    const Input<float> queries = job.input<float>("queries");
    const Input<float> rows = job.input<float>("rows");
    const NearestShape shape = job.value<NearestShape>("shape");
    const size_t n_keys = (size_t)shape.n_queries * shape.k;
    Output<u64> best = job.output<u64>("best", n_keys);
    Output<u64> parts = job.work<u64>("parts", n_keys * shape.n_splits);
    const u32 side = wide ? 128 : 64, n_blocks = (shape.n_queries + side - 1) / side * shape.n_splits;
    if (wide) {
        launch(n_blocks, TILE_THREADS, 4 * Tile<8>::SHARED_WORDS,
               [&] { CALL(nearest_rows_128, queries.data(), rows.data(), parts.data(), shape); });
    } else {
        launch(n_blocks, TILE_THREADS, 4 * Tile<4>::SHARED_WORDS,
               [&] { CALL(nearest_rows_64, queries.data(), rows.data(), parts.data(), shape); });
    }
    const MergeShape merge_shape = {shape.n_queries, shape.k, shape.n_splits};
    launch((shape.n_queries + 7) / 8, TILE_THREADS, 0,
           [&] { CALL(merge_best, parts.data(), best.data(), merge_shape); });
}

static void run(Job& job) {
    const u32 mode = job.value<u32>("mode");
    if (mode == LINK_64 || mode == LINK_128) {
        link(job, mode == LINK_128);
    } else {
        nearest(job, mode == NEAREST_128);
    }
}

int main(int n, char** arguments) { return run_job(n, arguments, run); }
