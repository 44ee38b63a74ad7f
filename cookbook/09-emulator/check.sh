#!/usr/bin/env bash
# Runs the example and compares what it prints with expected.txt, where ids, commits and addresses are replaced by what
# they are. CI runs it wherever a container engine can be started.
set -euo pipefail
dir=$(cd "$(dirname "$0")" && pwd)

got=$(mktemp)
trap 'rm -f "$got"' EXIT
"$dir/run.sh" >"$got"
sed -E -i 's/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/<id>/g; s/\b[0-9a-f]{40}\b/<commit>/g; s/([0-9]+\.){3}[0-9]+:[0-9]+/<host>/g' "$got"
diff -u "$dir/expected.txt" "$got"
echo "1 passed, 0 failed"
