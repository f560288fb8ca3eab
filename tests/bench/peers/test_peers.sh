#!/usr/bin/env bash
# test_peers.sh: runs test_peers.py. Skipped without Python.
set -euo pipefail
command -v python3 >/dev/null || { echo 'skipped: there is no python3'; exit 77; }
PYTHONDONTWRITEBYTECODE=1 exec python3 "$(dirname "${BASH_SOURCE[0]}")/test_peers.py"
