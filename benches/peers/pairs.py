"""All pairs against faiss-cpu and the machine's own matrix product, taken in turns on the same cores.

    benches/peers/setup target/peers faiss-cpu numpy
    cargo build --release -p strata-benches --bin pairs
    target/peers/bin/python benches/peers/pairs.py target/release/pairs
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import time

ARGUMENTS = argparse.ArgumentParser()
ARGUMENTS.add_argument("program")
ARGUMENTS.add_argument("--rows", type=int, default=50_000)
ARGUMENTS.add_argument("--dim", type=int, default=384)
ARGUMENTS.add_argument("--k", type=int, default=16)
ARGUMENTS.add_argument("--threads", type=int, default=2)
ARGUMENTS.add_argument("--rounds", type=int, default=3)
ASKED = ARGUMENTS.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(ASKED.threads)
# The matrix product that faiss brings does not know newer processors, and falls to code without wide vectors.
if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text():
    os.environ.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")

import faiss  # noqa: E402  (threads are set before it loads)
import numpy  # noqa: E402

faiss.omp_set_num_threads(ASKED.threads)
# From 1.15 on it multiplies by its own loops below 128,000 queries; its matrix product is several times faster here.
faiss.cvar.distance_compute_blas_threshold = 20


def ours(folder):
    """One run of our program."""
    asked = [f"--{name}={getattr(ASKED, name)}".split("=") for name in ("rows", "dim", "k", "threads")]
    command = [ASKED.program, *sum(asked, []), "--repetitions", "1", "--write", folder, "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def product(n=4096):
    """The rate of a large square product, in GFLOP/s and by the time the processors worked."""
    left = numpy.random.default_rng(1).standard_normal((n, n), dtype=numpy.float32)
    started, cpu_started = time.perf_counter(), time.process_time()
    left @ left
    cpu = time.process_time() - cpu_started
    return 2 * n**3 / (time.perf_counter() - started) / 1e9, 2 * n**3 / cpu / 1e9


def peer(rows):
    """Seconds of a flat search, and what it found."""
    index = faiss.IndexFlatIP(ASKED.dim)
    started, cpu_started = time.perf_counter(), time.process_time()
    index.add(rows)
    scores, found = index.search(rows, ASKED.k + 1)
    return time.perf_counter() - started, time.process_time() - cpu_started, scores, found


def differing(rows, scores, found, folder):
    """Rows whose neighbours differ by more than rounding does."""
    our_scores = numpy.fromfile(folder / "scores.f32", numpy.float32).reshape(ASKED.rows, ASKED.k)
    our_found = numpy.fromfile(folder / "neighbours.u32", numpy.uint32).reshape(ASKED.rows, ASKED.k)
    others = found != numpy.arange(ASKED.rows)[:, None]
    n_differing = 0
    for row in range(ASKED.rows):
        their = found[row][others[row]][: ASKED.k]
        their_scores = scores[row][others[row]][: ASKED.k]
        same_scores = numpy.allclose(their_scores, our_scores[row], rtol=0, atol=2e-6)
        odd = numpy.setdiff1d(our_found[row], their)
        # A row that only one of the two has must be a tie with the last that both could take.
        ties = numpy.abs(rows[odd] @ rows[row] - their_scores[-1]) <= 2e-6
        n_differing += not (same_scores and ties.all())
    return n_differing


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rounds = []
        for _ in range(ASKED.rounds):
            our = ours(name)
            rows = numpy.fromfile(folder / "rows.f32", numpy.float32).reshape(ASKED.rows, ASKED.dim)
            seconds, cpu_seconds, scores, found = peer(rows)
            sgemm, sgemm_cpu = product()
            rounds.append(
                {
                    "ours_seconds": our["seconds"][0],
                    "faiss_seconds": round(seconds, 4),
                    "ours_gflops": our["gflops"],
                    "multiply_gflops": our["multiply_gflops"],
                    "sgemm_gflops": round(sgemm, 1),
                    "times_faiss": round(seconds / our["seconds"][0], 3),
                    # On a busy machine compare these, with one thread: waiting is not in them.
                    "ours_cpu_seconds": our["cpu_seconds"][0],
                    "faiss_cpu_seconds": round(cpu_seconds, 2),
                    "times_faiss_cpu": round(cpu_seconds / our["cpu_seconds"][0], 3),
                    "ours_cpu_gflops": round(our["flop_executed"] / our["cpu_seconds"][0] / 1e9, 1),
                    "sgemm_cpu_gflops": round(sgemm_cpu, 1),
                    "ours_peak_bytes": our["peak_bytes"],
                }
            )
        best = {key: min(one[key] for one in rounds) for key in ("ours_seconds", "faiss_seconds")}
        peak = max(max(one["sgemm_gflops"], one["multiply_gflops"]) for one in rounds)
        fastest = max(one["ours_gflops"] for one in rounds)
        result = {
            "bench": "pairs",
            "peers": {"faiss": faiss.__version__, "numpy": numpy.__version__},
            "threads": ASKED.threads,
            "rounds": rounds,
            "times_faiss_best_of_each": round(best["faiss_seconds"] / best["ours_seconds"], 3),
            "executed_share_of_peak": round(fastest / peak, 3),
            "rows_bytes": 4 * ASKED.rows * ASKED.dim,
            "faiss_process_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "rows_that_differ": differing(rows, scores, found, folder),
        }
        print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
