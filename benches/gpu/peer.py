"""sentence-transformers on the same card, over the same texts: sentences a second, best of several batch sizes.

    peer.py MODEL_FOLDER TEXTS_FILE DEVICE VECTORS_FILE

Prints one JSON object and writes the vectors of the first 512 texts. Weights and arithmetic have 16 bits on a card.
"""
import json, pathlib, sys, time

import torch
from sentence_transformers import SentenceTransformer, __version__

FIRST = 512


def main():
    folder, texts_file, device, vectors_file = sys.argv[1:5]
    torch_device = device if device.startswith("cuda") else "cpu"
    dtype = torch.float16 if torch_device != "cpu" else torch.float32
    model = SentenceTransformer(folder, device=torch_device, model_kwargs={"dtype": dtype}, local_files_only=True)
    texts = pathlib.Path(texts_file).read_text().splitlines()

    def encode(some, batch):
        vectors = model.encode(some, batch_size=batch, normalize_embeddings=True, show_progress_bar=False)
        if torch_device != "cpu":
            torch.cuda.synchronize()
        return vectors

    vectors = encode(texts[:FIRST], 64)
    pathlib.Path(vectors_file).write_bytes(vectors.astype("<f4").tobytes())
    rates = {}
    for batch in [64, 256, 1024] if torch_device != "cpu" else [32]:
        encode(texts[: min(len(texts), 4 * batch)], batch)
        started = time.perf_counter()
        encode(texts, batch)
        rates[batch] = round(len(texts) / (time.perf_counter() - started), 1)
    best = max(rates, key=rates.get)
    print(json.dumps({"step": "peer", "peer": f"sentence-transformers {__version__}, torch {torch.__version__}",
                      "dtype": str(dtype), "texts": len(texts), "batch": best, "texts_a_second": rates[best],
                      "by_batch": rates}))


main()
