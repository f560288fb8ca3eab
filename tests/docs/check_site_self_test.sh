#!/usr/bin/env bash
# check_site_self_test.sh <source folder>: docs/site/check_links.py finds each kind of dead link.
set -euo pipefail
command -v python3 >/dev/null || { echo 'skipped: there is no python3'; exit 77; }
checker=$1/docs/site/check_links.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/site/folder"

# check <pass|fail> <what>, the page on standard input
check() {
  cat >"$work/site/index.html"
  local result=pass
  python3 "$checker" "$work/site" >"$work/log" 2>&1 || result=fail
  [[ $result == "$1" ]] || { echo "expected $1: $2"; cat "$work/log"; exit 1; }
}
echo '<h1 id="there">there</h1>' >"$work/site/other.html"
echo '<p>index' >"$work/site/folder/index.html"
check pass 'links that are right' <<'P'
<p id="here"><a href="other.html#there">a</a> <a href="#here">b</a> <a href="folder/">c</a> <a href="https://x.org/y">d</a>
P
check fail 'no such file' <<<'<a href="missing.html">a</a>'
check fail 'no such anchor' <<<'<a href="other.html#missing">a</a>'
check fail 'no such anchor of its own' <<<'<a href="#missing">a</a>'
check fail 'a picture that is not there' <<<'<img src="missing.svg">'
check fail 'a script from the network' <<<'<script src="https://x.org/y.js"></script>'
check fail 'a file outside of the site' <<<"<a href=\"../log\">a</a>"
