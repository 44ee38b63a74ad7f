#!/usr/bin/env bash
# Installs the coding agents at the versions that this release was tested with, and prints the folder that holds
# claude and codex. usage: clis.sh [DIRECTORY]; the default is .tools/clis, and for root /var/cache/company-agents: root's
# agents run as other users, who may not look into the folder of this repository.
# Claude Code may not be passed on, so nothing of it is kept in this repository or in an image that is published.
set -euo pipefail
claude=2.1.328
codex=0.169.0

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
default=$root/.tools/clis
[ "$(id -u)" != 0 ] || default=/var/cache/company-agents
dir=$(realpath -m "${1:-$default}")
if [ "$(cat "$dir/versions" 2>/dev/null)" != "$claude $codex" ]; then
	command -v npm >/dev/null || { echo 'npm is needed to install the agents' >&2; exit 1; }
	mkdir -p "$dir"
	# No install scripts: the packages of the platform hold the programs, which need no node.
	npm install --prefix "$dir" --no-audit --no-fund --ignore-scripts --loglevel=error --no-save \
		"@anthropic-ai/claude-code@$claude" "@openai/codex@$codex" >&2
	mkdir -p "$dir/bin"
	(
		cd "$dir/bin" # relative links: the folder can be copied into an image
		ln -sf "$(find ../node_modules/@anthropic-ai/claude-code-*-* -maxdepth 1 -name claude -not -path '*musl*' -print -quit)" claude
		ln -sf "$(ls -d ../node_modules/@openai/codex-*/vendor/*/bin/codex | head -1)" codex
	)
	chmod -R a+rX "$dir"
	echo "$claude $codex" >"$dir/versions"
fi
echo "$dir/bin"
