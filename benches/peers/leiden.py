"""Leiden on many small graphs by igraph, networkit and leidenalg: one thread, the clustering calls only.

usage: leiden.py GRAPHS LABELS_FOLDER [peer ...]

GRAPHS is what benches/leiden.rs writes: a line «document nodes» before the edges «u v weight» of each document.
Writes one file a peer, a line of labels a document, and prints one JSON object a peer: documents a second, the best
of three runs, by the processor time of this process.
"""

import json
import sys
import time

RUNS = 3


def read(path):
    documents = []
    for line in open(path):
        fields = line.split()
        if fields[0] == "document":
            documents.append((int(fields[1]), [], []))
        else:
            documents[-1][1].append((int(fields[0]), int(fields[1])))
            documents[-1][2].append(float(fields[2]))
    return documents


def igraph_peers(documents):
    import igraph

    graphs = []
    for n, edges, weights in documents:
        graph = igraph.Graph(n=n, edges=edges)
        graph.es["weight"] = weights
        graphs.append(graph)

    def run(n_iterations):
        leiden = {"objective_function": "modularity", "weights": "weight", "n_iterations": n_iterations}
        return [graph.community_leiden(**leiden) for graph in graphs]

    yield "igraph -1", lambda: run(-1), lambda found: found.membership
    yield "igraph 2", lambda: run(2), lambda found: found.membership


def networkit_peers(documents):
    import networkit

    networkit.setNumberOfThreads(1)
    graphs = []
    for n, edges, weights in documents:
        graph = networkit.Graph(n, weighted=True)
        for (u, v), weight in zip(edges, weights):
            graph.addEdge(u, v, weight)
        graphs.append(graph)

    def run(iterations):
        found = []
        for graph in graphs:
            leiden = networkit.community.ParallelLeiden(graph, iterations=iterations)
            leiden.run()
            found.append(leiden.getPartition())
        return found

    yield "networkit 3", lambda: run(3), lambda found: found.getVector()


def leidenalg_peers(documents):
    import igraph
    import leidenalg

    graphs = [(igraph.Graph(n=n, edges=edges), weights) for n, edges, weights in documents[:300]]

    def run():
        kind = leidenalg.ModularityVertexPartition
        return [leidenalg.find_partition(graph, kind, weights=weights, n_iterations=-1) for graph, weights in graphs]

    yield "leidenalg -1", run, lambda found: found.membership


PEERS = {"igraph": igraph_peers, "networkit": networkit_peers, "leidenalg": leidenalg_peers}


def main():
    graphs, folder, names = sys.argv[1], sys.argv[2], sys.argv[3:] or list(PEERS)
    documents = read(graphs)
    for name in names:
        try:
            peers = list(PEERS[name](documents))
        except ImportError as error:
            print(json.dumps({"peer": name, "skipped": str(error)}))
            continue
        for label, run, labels_of in peers:
            best = float("inf")
            for _ in range(RUNS if name != "leidenalg" else 1):
                start = time.process_time()
                found = run()
                best = min(best, time.process_time() - start)
            path = f"{folder}/{label.replace(' ', '_')}.labels"
            with open(path, "w") as out:
                for partition in found:
                    print(*labels_of(partition), file=out)
            rate = len(found) / best
            print(json.dumps({"peer": label, "documents": len(found), "docs_per_processor_s": rate, "labels": path}), flush=True)


if __name__ == "__main__":
    main()
