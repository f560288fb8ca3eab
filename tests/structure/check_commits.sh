#!/usr/bin/env bash
# check_commits.sh <source folder> [base]: the subject of each commit since the base is
# `area: imperative`, at most 72 characters, without a final period. Merges are not counted. Skipped
# without git, and in a clone that lacks the base.
set -euo pipefail
cd "$1"
base=${2:-d89e1c1e9a43b96d27c0d2f3362f278751b33bf4}  # the last commit before this rule

if ! command -v git >/dev/null || ! git -c safe.directory='*' rev-parse --git-dir >/dev/null 2>&1; then
  echo 'skipped: not a git checkout'
  exit 77
fi
git() { command git -c safe.directory='*' "$@"; }
if ! git cat-file -e "$base^{commit}" 2>/dev/null; then
  echo "skipped: this clone lacks $base"
  exit 77
fi

# fault_of <subject>: what is wrong with it, or nothing
fault_of() {
  local subject=$1 area='[a-z0-9][a-z0-9_./-]*' verb
  if ((${#subject} > 72)); then
    echo "${#subject} characters, 72 allowed"
  elif [[ $subject == *. ]]; then
    echo 'ends with a period'
  elif [[ ! $subject =~ ^$area(,\ $area)*:\ [A-Za-z] ]]; then
    echo 'not "area: imperative"'
  else
    verb=${subject#*: }
    verb=${verb%%[ ,;:]*}
    case ${verb,,} in
      embed | exceed | feed | need | proceed | seed | shed | speed | succeed | bring | ring | string) ;;
      a | an | the | its | no | one | two | three | all | each | more | new)
        echo "\"$verb\" is no verb" ;;
      *ss | *us | *as | *is) ;;
      *ing | *ed | *s)
        echo "\"$verb\" is no imperative" ;;
    esac
  fi
}

status=0 commits=0
while IFS=$'\t' read -r hash subject; do
  [[ -n $hash ]] || continue
  commits=$((commits + 1))
  fault=$(fault_of "$subject")
  if [[ -n $fault ]]; then
    printf '%s "%s": %s\n' "$hash" "$subject" "$fault"
    status=1
  fi
done < <(git log --no-merges --format='%h%x09%s' "$base..HEAD")
echo "$commits commits since ${base:0:7}"
exit "$status"
