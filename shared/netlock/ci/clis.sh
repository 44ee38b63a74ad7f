#!/usr/bin/env bash
# Installs the coding agents that the tests run under the lock, at the versions
# they were tried with. usage: clis.sh DIRECTORY
set -euo pipefail
claude=2.1.328
codex=0.169.0

dir=$(realpath -m "$1")
mkdir -p "$dir"
if [ "$(cat "$dir/versions" 2>/dev/null)" = "$claude $codex" ]; then exit 0; fi
command -v npm >/dev/null || apt-get install -qq -y --no-install-recommends nodejs npm >/dev/null
# No install scripts: the platform packages hold the programs.
npm install --prefix "$dir" --no-audit --no-fund --ignore-scripts --loglevel=error --no-save \
	"@anthropic-ai/claude-code@$claude" "@openai/codex@$codex"
chmod -R a+rX "$dir"
echo "$claude $codex" >"$dir/versions"
