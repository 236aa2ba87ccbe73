#!/bin/sh
# Writes the generated code anew, or with --check says whether it is current. The first run builds buf: some minutes.
set -eu
cd "$(dirname "$0")/../transport/grpc"
buf="${GO:-go} tool -modfile=../../tools/go.mod buf"
if [ "${1:-}" != --check ]; then
	exec $buf generate
fi
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
$buf lint
$buf format --exit-code >/dev/null || { echo 'run: go tool -modfile=../../tools/go.mod buf format -w'; exit 1; }
$buf generate -o "$fresh"
for f in "$fresh"/mcpv1/*; do
	cmp "$f" "mcpv1/$(basename "$f")" || { echo 'the generated code is old: run tools/generate.sh'; exit 1; }
done
