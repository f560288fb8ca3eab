#!/usr/bin/env bash
# The man page: groff reads it without a warning, and every command and option is in it. man_page.sh <napkin>
. "$(dirname "$0")/lib.bash"
page=$("$napkin" --man) || fail '--man'
if command -v groff >/dev/null; then
  warnings=$(groff -ww -man -Tascii <<<"$page" 2>&1 >/dev/null)
  [[ -z $warnings ]] || fail "groff: ${warnings:0:300}"
else
  echo 'without groff: warnings are not checked'
fi
plain=${page//\\-/-}
for command in $("$napkin" --help | awk '/^[A-Z].*:$/ { on = $0 != "Options:" && $0 != "Examples:" } on && /^  [a-z]/ { print $1 }'); do
  grep -qxF ".B $command" <<<"$plain" || fail "no $command"
done
for query in serving step; do
  for option in $("$napkin" $query --help | grep -oE '^  --[a-z0-9-]+'); do
    grep -qE "^\.B (.*, )?$option(,|$)" <<<"$plain" || fail "no $option of $query"
  done
done
[[ $plain == *"napkin $("$napkin" --version | cut -d' ' -f2)"* ]] || fail 'no version'
finish
