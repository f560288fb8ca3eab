#!/usr/bin/env python3
"""fill_outputs.py <source folder> <napkin> <page.md...>: writes the outputs of a page anew.

Each ```sh block marked <!-- snippet: run --> runs in the source folder; what it prints replaces the ```text
block marked <!-- output --> that follows. For a change that moves outputs; read the difference before a commit.
"""
import os
import re
import subprocess
import sys

source, napkin = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
pair = re.compile(r"(<!-- snippet: run -->\n```sh\n)(.*?)(```\n\n?<!-- output -->\n\n?```text\n)(.*?)(```\n)", re.S)


def run(found):
    script = found[2].replace("./run napkin", "napkin")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", 'napkin() { "$NAPKIN" "$@"; }\n' + script],
        cwd=source, env={**os.environ, "NAPKIN": napkin}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
    )
    if done.returncode:
        print(f"fails with {done.returncode}: {found[2]}", file=sys.stderr)
    return found[1] + found[2] + found[3] + done.stdout + found[5]


for page in sys.argv[3:]:
    with open(page, encoding="utf-8") as f:
        text = f.read()
    with open(page, "w", encoding="utf-8") as f:
        f.write(pair.sub(run, text))
