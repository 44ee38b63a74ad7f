#!/usr/bin/env bash
# Records what the real agents print, for the tests of their parsers. Run it when a version in clis.sh changes.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(ci/clis.sh)
mkdir -p testdata/stream
PATH=$bin:$PATH go test -tags record -run TestRecord -count 1 .
