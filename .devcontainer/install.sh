#!/usr/bin/env bash
# The packages of ./run on Debian 12, whose Catch2 is too old: version 3 is among its backports.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

echo 'deb http://deb.debian.org/debian bookworm-backports main' >/etc/apt/sources.list.d/backports.list
apt-get update
apt-get install -y --no-install-recommends ca-certificates git make python3 g++ clang libclang-rt-dev cmake ninja-build valgrind \
  clang-format-14 gnuplot-nox libboost-dev libeigen3-dev nlohmann-json3-dev libcli11-dev zlib1g-dev libbenchmark-dev \
  pkg-config mkdocs mkdocs-material doxygen doxygen-awesome-css
apt-get install -y --no-install-recommends -t bookworm-backports libcatch2-dev
