#!/bin/sh
# Runs every fuzz target for FUZZTIME each and stops at the first finding.
set -eu
cd "$(dirname "$0")/.."
grep -rlE --include='*_test.go' '^func Fuzz' . | while read -r file; do
	dir=$(dirname "$file")
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file" | while read -r target; do
		echo "== $dir $target"
		"${GO:-go}" test -run '^$' -fuzz "^$target\$" -fuzzminimizetime 5x -fuzztime "${FUZZTIME:-15s}" "$dir"
	done
done
