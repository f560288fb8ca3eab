#!/usr/bin/env bash
# check_language.sh <source folder> [--count]: comments, texts, public names, names of tests and pages in
# the words of docs/language.md. A comment opens with its subject and has at most 100 columns. The words
# are in language_words.txt; language_allowed.txt has what may stay, in one file or (*) anywhere. --count
# prints the lines of that file for all there is, without a reason.
set -u
root=$1
count=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
cd "$root" || exit 2

files() {
  if git rev-parse --is-inside-work-tree > /dev/null 2>&1 && [[ -z ${PERFMODEL_NO_GIT:-} ]]; then
    git ls-files -- "$@"
  else
    find "$@" -type f 2> /dev/null
  fi
}

allowed=tests/structure/language_allowed.txt
[[ -f $allowed ]] || allowed=/dev/null
files include tools examples validation tests docs README.md CONTRIBUTING.md |
  grep -E '\.(hpp|cpp|cu|cuh|md)$' | grep -vE '^docs/(language\.md|decisions/)' | LC_ALL=C sort |
  LC_ALL=C xargs awk -v words="$here/language_words.txt" -v allowed="$allowed" -v count="$count" '
function trim(s) { sub(/^[ \t]+/, "", s); sub(/[ \t]+$/, "", s); return s }
function read_words(   l, f, n, i, p) {
  while ((getline l < words) > 0) {
    if (l ~ /^#/ || split(l, f, " \\| ") < 3) continue
    n = split(f[2], p, ";")
    for (i = 1; i <= n; i++) {
      p[i] = trim(p[i])
      if (f[1] != "name") { text[++texts] = "(^|[^a-z0-9_])(" p[i] ")($|[^a-z0-9_])"; of[texts] = p[i]; say[p[i]] = f[3] }
      if (f[1] != "text") { name[++names] = "^(" p[i] ")$"; in_name[names] = p[i]; say[p[i]] = f[3] }
    }
  }
  for (i = 1; i <= texts; i++) any = any (i > 1 ? "|" : "") text[i]
  for (i = 1; i <= names; i++) any_name = any_name (i > 1 ? "|" : "") "(" substr(name[i], 2, length(name[i]) - 2) ")"
}
function read_allowed(   l, f) {
  while ((getline l < allowed) > 0) {
    if (l ~ /^#/ || split(l, f, " \\| ") < 3) continue
    may[trim(f[1]) "|" trim(f[2])] += f[3]
  }
}
function found(word, instead,   key) {
  key = FILENAME "|" word
  ++seen[key]
  if (count != "") return
  if (seen[key] <= may[key]) return
  if (++anywhere[word] <= may["*|" word]) return
  printf "%s:%d: \"%s\": say: %s: %s\n", FILENAME, FNR, word, instead, trim($0)
  ++faults
}
function look(t,   i) {
  t = tolower(t)
  if (t !~ any) return
  for (i = 1; i <= texts; i++) if (t ~ text[i]) found(of[i], say[of[i]])
}
function look_at_names(c,   n, w, m, p, i, j, k) {
  n = split(c, w, /[^A-Za-z0-9_]+/)
  for (i = 1; i <= n; i++) {
    m = split(tolower(w[i]), p, "_")
    for (j = 1; j <= m; j++) {
      if (!(p[j] in checked)) {
        checked[p[j]] = ""
        for (k = 1; k <= names; k++) if (p[j] ~ name[k]) checked[p[j]] = in_name[k]
      }
      if (checked[p[j]] != "") found(checked[p[j]], say[checked[p[j]]])
    }
  }
}
BEGIN { read_words(); read_allowed() }
FNR == 1 { in_test = FILENAME ~ /^tests\//; case_name = 0; fence = 0; detail = 0; page = FILENAME ~ /\.md$/; header = FILENAME ~ /^(include|tools\/library)\//; texts_too = header || FILENAME ~ /^tools\/napkin\//; block = 0 }
in_test {
  if ($0 ~ /^ *(TEST_CASE|TEMPLATE_TEST_CASE|SECTION)\(/) case_name = 1
  if (case_name) look($0)
  if ($0 ~ /\{ *$/) case_name = 0
  next
}
page {
  if ($0 ~ /^ *```/) { fence = !fence; next }
  if (fence) next
  line = $0
  gsub(/`[^`]*`/, " ", line)
  gsub(/\]\([^)]*\)/, "]", line)
  gsub(/https?:[^ )]*/, " ", line)
  look(line)
  next
}
/^#include/ { next }
/^namespace detail/ { detail = 1 }
/^}.*namespace detail/ { detail = 0 }
{
  line = $0; code = ""; comment = ""
  while (match(line, /"([^"\\]|\\.)*"|\047(\\.|[^\047\\])\047|\/\/.*$/)) {
    code = code substr(line, 1, RSTART - 1) " "
    token = substr(line, RSTART, RLENGTH)
    line = substr(line, RSTART + RLENGTH)
    if (token ~ /^\/\//) comment = token
    else if (texts_too && length(token) > 12 && token ~ / /) look(token)
  }
  code = code line
  if (header && !detail) look_at_names(code)
  if (comment == "") { block = 0; next }
  if (length($0) > 100 && $0 !~ /https?:/) found("over 100 columns", "at most 100 columns")
  opening = comment ~ /^\/\/\/</ || !block
  block = code ~ /^[ \t]*$/
  if (opening && comment ~ /^\/\/[\/!]?<? *(Of|That|Where|Whose|As|The same|Who|Which|of|that|where|whose|as|the same)[ ,.]/)
    if (comment ~ /^\/\/\/</ || comment ~ /^\/\/[\/!]? *[A-Z]/) found("opening", "begin with the subject")
  gsub(/https?:[^ ]*/, " ", comment)
  look(comment)
}
END {
  if (count != "") {
    for (key in seen) { split(key, f, "|"); print f[1] " | " substr(key, length(f[1]) + 2) " | " seen[key] " |" }
    exit 0
  }
  for (key in may) {
    total += may[key]
    there = key ~ /^[*]/ ? anywhere[substr(key, 3)] : seen[key]
    if (there < may[key]) stale += may[key] - there
  }
  printf "%d places are allowed (%d of them are no longer there), %d are not\n", total, stale, faults
  exit faults > 0
}'
status=$?
[[ $status == 0 ]] || { echo "the words are in docs/language.md"; exit 1; }
