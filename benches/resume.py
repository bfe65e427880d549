#!/usr/bin/env python3
"""Kills an import again and again, lets the last one end, and compares the store with that of an undisturbed import.

    cargo build --workspace --release
    benches/resume.py --strata target/release/strata [--mb 50] [--kills 10] [--seed 1]

Writes a ChatGPT-shaped export into a temporary folder, imports it with hashed vectors, and compares, byte by byte, what
`strata export` says of both stores.
"""
import argparse
import filecmp
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

WORDS = [f"word{n}" for n in range(4000)] + "the of and to in is it for on that we a with as are".split() * 90


def sentence(rng):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(5, 25))).capitalize() + "."


def conversation(rng, number):
    mapping, parent = {}, None
    for n in range(rng.randint(4, 40)):
        node = f"m{number}-{n}"
        text = " ".join(sentence(rng) for _ in range(rng.randint(1, 8)))
        message = {
            "id": node,
            "author": {"role": ("user", "assistant")[n % 2]},
            "create_time": 1.6e9 + number * 3600 + n * 60,
            "content": {"content_type": "text", "parts": [text]},
        }
        mapping[node] = {"id": node, "message": message, "parent": parent, "children": []}
        if parent:
            mapping[parent]["children"].append(node)
        parent = node
    start = 1.6e9 + number * 3600
    name = f"conv-{number}"
    return {"title": f"Talk {number}", "create_time": start, "update_time": start + 3000, "mapping": mapping,
            "current_node": parent, "conversation_id": name, "id": name}


def write_export(path, n_bytes, seed):
    rng, number, written = random.Random(seed), 0, 0
    with open(path, "w") as file:
        while written < n_bytes:
            written += file.write(("[" if number == 0 else ",") + json.dumps(conversation(rng, number)))
            number += 1
        file.write("]")
    return number


def exported(strata, store, path):
    with open(path, "wb") as out:
        subprocess.run([strata, "export", "--canonical", "--store", store], check=True, stdout=out)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strata", required=True)
    parser.add_argument("--mb", type=int, default=50)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        export = root / "conversations.json"
        n = write_export(export, args.mb * 1_000_000, args.seed)
        command = [args.strata, "import", "--embedder", "hashed", "--json", str(export), "--store"]
        started = time.monotonic()
        subprocess.run(command + [str(root / "whole")], check=True, stdout=subprocess.DEVNULL)
        whole = time.monotonic() - started
        print(f"undisturbed: {n} conversations, {export.stat().st_size} bytes, {whole:.1f} s")
        for kill in range(args.kills):
            wait = rng.uniform(0.02, 0.98) * whole / args.kills
            child = subprocess.Popen(command + [str(root / "killed")], stdout=subprocess.DEVNULL)
            try:
                child.wait(wait)
                print(f"import {kill + 1} ended before it was killed")
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
                print(f"import {kill + 1} killed after {wait:.1f} s")
        last = subprocess.run(command + [str(root / "killed")], check=True, capture_output=True, text=True)
        totals = json.loads(last.stdout)["totals"]
        print(f"last import: {totals['sources']} stored, {totals['unchanged']} were there")
        subprocess.run([args.strata, "verify", "--store", str(root / "killed")], check=True, stdout=subprocess.DEVNULL)
        whole_lines = exported(args.strata, root / "whole", root / "whole.jsonl")
        killed_lines = exported(args.strata, root / "killed", root / "killed.jsonl")
        n_bytes = whole_lines.stat().st_size
        if not filecmp.cmp(whole_lines, killed_lines, shallow=False):
            sys.exit("the two exports differ")
        print(f"the two exports are equal: {n_bytes} bytes")


if __name__ == "__main__":
    main()
