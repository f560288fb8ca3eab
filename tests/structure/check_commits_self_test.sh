#!/usr/bin/env bash
# check_commits.sh accepts good subjects and refuses each kind of bad one.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command -v git >/dev/null || { echo 'skipped: there is no git'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
repository() { git -C "$work/repository" "$@"; }
git init -q "$work/repository"
repository commit -q --allow-empty -m 'Anything goes before the base.'
base=$(repository rev-parse HEAD)

# check <exit status> <what> <subject or ''>
check() {
  local status=0
  repository reset -q --hard "$base"
  [[ -z $3 ]] || repository commit -q --allow-empty -m "$3"
  bash "$here/check_commits.sh" "$work/repository" "$base" >"$work/log" 2>&1 || status=$?
  if [[ $status -ne $1 ]]; then
    echo "expected $1, got $status: $2"
    cat "$work/log"
    exit 1
  fi
}
check 0 'no commit' ''
check 0 'a good subject' 'serving: count queued prefills in TTFT'
check 0 'two areas' 'plan, serving: report queued requests'
check 0 'a path as area' 'tests/cli: pass the source folder'
check 0 '72 characters' "docs: $(printf 'x%.0s' {1..66})"
check 1 '73 characters' "docs: $(printf 'x%.0s' {1..67})"
check 1 'a final period' 'docs: add a page.'
check 1 'no area' 'Add a page'
check 1 'an area in capitals' 'Docs: add a page'
check 1 'no space' 'docs:add a page'
check 1 'a noun' 'docs: outputs of a plan'
check 1 'an article' 'docs: a page on ITL'
check 1 'a past participle' 'docs: added a page'
check 1 'a gerund' 'docs: adding a page'

repository reset -q --hard "$base"
repository checkout -q -b side
repository commit -q --allow-empty -m 'docs: add a page'
repository checkout -q -
repository commit -q --allow-empty -m 'docs: add another page'
repository merge -q --no-ff side -m 'Merge of the side branch.'
bash "$here/check_commits.sh" "$work/repository" "$base" >"$work/log" || { cat "$work/log"; exit 1; }

for case in "$work/repository 0123456789012345678901234567890123456789" "$work $base"; do
  status=0
  # shellcheck disable=SC2086
  bash "$here/check_commits.sh" $case >/dev/null || status=$?
  [[ $status -eq 77 ]] || { echo "expected 77, got $status: $case"; exit 1; }
done
echo 'check_commits.sh tells good subjects from bad ones'
