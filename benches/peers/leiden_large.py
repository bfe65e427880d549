"""Clusters the graph of the bench leiden-large with networkit and igraph: one JSON object a run.

Usage: leiden_large.py FILE NODES [networkit|igraph|networkit-fine ...]. Each run is a process of its own, so that its
peak of memory is its own. FILE is what `leiden-large --graph FILE` writes: pairs of little-endian u32.
"""

import json
import resource
import subprocess
import sys
import time

THREADS = 2


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def clocks():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), used.ru_utime + used.ru_stime


def read(path):
    import numpy

    pairs = numpy.fromfile(path, dtype="<u4")
    return pairs[0::2], pairs[1::2]


def networkit(path, n, iterations):
    import networkit as nk
    import numpy

    nk.setNumberOfThreads(THREADS)
    nk.setSeed(7, False)
    u, v = read(path)
    graph = nk.GraphFromCoo((u.astype(numpy.uint64), v.astype(numpy.uint64)), n=n)
    del u, v
    before = peak_bytes()
    started = clocks()
    found = nk.community.ParallelLeiden(graph, iterations=iterations)
    found.run()
    seconds = [after - before for before, after in zip(started, clocks())]
    peak = peak_bytes()
    partition = found.getPartition()
    value = nk.community.Modularity().getQuality(partition, graph)
    return seconds, value, partition.numberOfSubsets(), before, peak, nk.__version__


def igraph(path, n, iterations):
    import igraph as ig
    import numpy
    import random

    random.seed(7)
    u, v = read(path)
    pairs = numpy.stack([u, v], axis=1).astype(numpy.int64)
    del u, v
    graph = ig.Graph(n=n, edges=pairs)
    del pairs
    before = peak_bytes()
    started = clocks()
    found = graph.community_leiden(objective_function="modularity", n_iterations=iterations)
    seconds = [after - before for before, after in zip(started, clocks())]
    peak = peak_bytes()
    return seconds, found.modularity, len(found), before, peak, ig.__version__


RUNS = {
    "networkit": lambda path, n: networkit(path, n, 3),
    "networkit-fine": lambda path, n: networkit(path, n, 10),
    "igraph": lambda path, n: igraph(path, n, 2),
}


def main():
    path, n, names = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    if len(names) == 1:
        seconds, value, communities, before, peak, version = RUNS[names[0]](path, n)
        result = {
            "peer": names[0],
            "version": version,
            "threads": 1 if names[0] == "igraph" else THREADS,
            "seconds": round(seconds[0], 3),
            "cpu_seconds": round(seconds[1], 2),
            "quality": round(value, 6),
            "communities": communities,
            "peak_bytes": peak,
            "peak_bytes_before": before,
        }
        print(json.dumps(result), flush=True)
        return
    for name in names or ["networkit", "igraph"]:
        subprocess.run([sys.executable, __file__, path, str(n), name], check=True)


if __name__ == "__main__":
    main()
