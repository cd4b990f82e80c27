#!/bin/sh
# Each new commit's subject has at most 72 characters. Where the history is cut off, what is there is looked at.
rule=054bdd7164ae # the last commit before this rule
git rev-parse --quiet --verify "$rule^{commit}" >/dev/null 2>&1 && since="$rule.." || since='-1'
long=$(git log --no-merges --format='%h %s' "$since" 2>/dev/null | awk 'length($0) - length($1) - 1 > 72')
[ -z "$long" ] || { printf 'subjects of more than 72 characters; the why belongs in the body:\n%s\n' "$long"; exit 1; }
