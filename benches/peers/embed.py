"""The other contestants of `embed`: ONNX Runtime in f32 and sentence-transformers, from the same weights.

Answers a line of JSON with a line of JSON until its input ends; started by the `embed` program with the folder of
the model and the folder of the texts. Needs: torch, sentence-transformers, onnx, onnxruntime, numpy.

ONNX Runtime gets its best: texts sorted by length, every optimisation on, the plain export and the one fused by
onnxruntime's own optimiser, threads that spin and that sleep, and the fastest of the batch sizes below for each set. Both
contestants use as many threads as RAYON_NUM_THREADS says.
"""

import itertools
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort
import torch
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer
from transformers import AutoModel

THREADS = int(os.environ.get("RAYON_NUM_THREADS") or os.cpu_count())
BATCHES = [8, 16, 32, 64]
FOLDER, TEXTS = Path(sys.argv[1]), Path(sys.argv[2])


class Rows(torch.nn.Module):
    """The last layer's rows and nothing else."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        out = self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
        return out.last_hidden_state


def export(folder):
    """Writes the model as ONNX, plain and fused; gives a session for each."""
    model = AutoModel.from_pretrained(FOLDER, attn_implementation="eager").eval()
    names = ["input_ids", "attention_mask", "token_type_ids"]
    ids = torch.ones(2, 8, dtype=torch.long)
    plain = str(folder / "plain.onnx")
    axes = {name: {0: "texts", 1: "tokens"} for name in [*names, "rows"]}
    torch.onnx.export(Rows(model), (ids, ids, ids * 0), plain, input_names=names, output_names=["rows"],
                      dynamic_axes=axes, opset_version=17, dynamo=False)
    files = {"plain": plain}
    try:
        from onnxruntime.transformers import optimizer
        config = model.config
        fused = optimizer.optimize_model(plain, model_type="bert", num_heads=config.num_attention_heads,
                                         hidden_size=config.hidden_size, opt_level=0)
        files["fused"] = str(folder / "fused.onnx")
        fused.save_model_to_file(files["fused"])
    except Exception as error:  # the optimiser is an extra: the plain one is optimised at load too
        print(f"no fused model: {error}", file=sys.stderr)
    sessions = {}
    for (name, path), spinning in itertools.product(files.items(), (True, False)):
        options = ort.SessionOptions()
        options.intra_op_num_threads = THREADS
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.add_session_config_entry("session.intra_op.allow_spinning", str(int(spinning)))
        # Threads that went on spinning after a run would take the cores from the next contestant.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        name += ", spinning" if spinning else ""
        sessions[name] = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return sessions


class Peers:
    def __init__(self):
        torch.set_num_threads(THREADS)
        self.folder = tempfile.TemporaryDirectory()
        self.sessions = export(Path(self.folder.name))
        self.stock = SentenceTransformer(str(FOLDER), device="cpu")
        self.tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(self.stock.max_seq_length)
        pooling = FOLDER / "1_Pooling/config.json"
        modes = json.loads(pooling.read_text()) if pooling.exists() else {}
        self.cls = bool(modes.get("pooling_mode_cls_token")) or modes.get("pooling_mode") == "cls"
        self.texts, self.best = {}, {}

    def prepare(self, name):
        """Reads a set, warms up, and finds each contestant's best way."""
        texts = self.texts[name] = (TEXTS / f"{name}.txt").read_text().split("\n")
        ways = [(session, batch) for session in self.sessions for batch in BATCHES]
        sample = texts[: max(BATCHES)]
        for way in ways:
            self.onnx(sample[:8], *way)
        seconds = {way: timed(lambda: self.onnx(sample, *way))[0] for way in ways}
        stock = {}
        for batch in BATCHES:
            self.stock.encode(sample[:8], batch_size=batch)
            stock[batch], _ = timed(lambda: self.stock.encode(sample, batch_size=batch))
        self.best[name] = min(seconds, key=seconds.get), min(stock, key=stock.get)
        (session, batch), stock_batch = self.best[name]
        return {"onnxruntime": f"{ort.__version__}, {session}, batches of {batch}",
                "sentence_transformers": f"torch {torch.__version__}, batches of {stock_batch}"}

    def run(self, name, peer):
        texts, (way, batch) = self.texts[name], self.best[name]
        before = cpu()
        if peer == "onnxruntime":
            seconds, (_, forward) = timed(lambda: self.onnx(texts, *way))
        else:
            seconds, _ = timed(lambda: self.stock.encode(texts, batch_size=batch, normalize_embeddings=True))
            forward = None
        return {"seconds": seconds, "cpu_seconds": cpu() - before, "forward_seconds": forward}

    def onnx(self, texts, session, batch):
        """Tokens, forward and pooling; the vectors and the seconds of the forward alone."""
        ids = [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]
        order = sorted(range(len(ids)), key=lambda text: -len(ids[text]))
        vectors, forward = None, 0.0
        for first in range(0, len(order), batch):
            some = order[first : first + batch]
            tokens = np.zeros((len(some), len(ids[some[0]])), np.int64)
            mask = np.zeros_like(tokens)
            for row, text in enumerate(some):
                tokens[row, : len(ids[text])] = ids[text]
                mask[row, : len(ids[text])] = 1
            feed = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
            started = time.perf_counter()
            rows = self.sessions[session].run(None, feed)[0]
            forward += time.perf_counter() - started
            pooled = rows[:, 0] if self.cls else np.einsum("tnd,tn->td", rows, mask.astype(np.float32))
            if vectors is None:
                vectors = np.empty((len(texts), pooled.shape[1]), np.float32)
            vectors[some] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return vectors, forward

    def cosine(self, name, vectors):
        ours = np.asarray(vectors, np.float64)
        stock = self.stock.encode(self.texts[name], normalize_embeddings=True).astype(np.float64)
        onnx = self.onnx(self.texts[name], *self.best[name][0])[0].astype(np.float64)
        return {"min": float((ours * stock).sum(1).min()), "min_onnxruntime": float((ours * onnx).sum(1).min())}

    def ceiling(self):
        """The best that a plain matrix product reaches here, in GFLOP/s by the wall and by the processors' clock."""
        best = {"gflops": 0.0, "gflops_a_cpu_second": 0.0}
        for m, k, n in [(2048, 2048, 2048), (4096, 384, 1536), (4096, 1536, 384)]:
            a, b = torch.rand(m, k), torch.rand(k, n)
            a @ b
            for _ in range(8):
                before = cpu()
                seconds, _ = timed(lambda: [a @ b for _ in range(8)])
                flop = 8 * 2e-9 * m * k * n
                best["gflops"] = max(best["gflops"], flop / seconds)
                best["gflops_a_cpu_second"] = max(best["gflops_a_cpu_second"], flop / max(cpu() - before, 1e-3))
        return {name: round(value, 1) for name, value in best.items()} | {"of": f"torch {torch.__version__}, f32"}


def timed(work):
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    # Libraries print to stdout; answers must not be mixed with what they say.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    peers = Peers()
    for line in sys.stdin:
        question = json.loads(line)
        match question["do"]:
            case "prepare":
                answer = peers.prepare(question["set"])
            case "run":
                answer = peers.run(question["set"], question["peer"])
            case "cosine":
                answer = peers.cosine(question["set"], question["vectors"])
            case "ceiling":
                answer = peers.ceiling()
        print(json.dumps(answer), file=answers, flush=True)


main()
