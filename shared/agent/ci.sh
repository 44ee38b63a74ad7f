#!/usr/bin/env bash
# What `go test ./...` leaves out, since it needs more than Go and git: the real agents against a scripted model, and the
# sandbox in a container, with this machine's engine or one that is started here. Needs root, npm and Debian's packages,
# which it installs; pulls nothing from a registry of images. Some four minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/../.."
begin=$SECONDS
say() { printf 'agent ci %4ss: %s\n' $((SECONDS - begin)) "$*"; }
export PATH="$PATH:/usr/local/go/bin"

say 'the agents'
agents=$(shared/agent/ci/clis.sh)
failed=0
check() {
	say "$1"
	shift
	"$@" || { say "failed: $*"; failed=1; }
}
check 'the real agents, in processes' env PATH="$agents:$PATH" go test -tags clis -count 1 -parallel 4 -run '^(TestReal|TestLost)' ./shared/agent
check 'the examples with the real agents' env PATH="$agents:$PATH" go test -tags clis -count 1 ./cookbook/03-claude ./cookbook/04-codex
check 'a real agent proposes a Task' env PATH="$agents:$PATH" go test -tags clis -count 1 -run '^TestAgentProposes$' ./shared/local

say 'the image'
COMPANY_TEST_IMAGE=$(infra/image.sh build --debootstrap)
export COMPANY_TEST_IMAGE
check 'the suite of the launchers, in containers' go test -tags docker -count 1 -timeout 8m -parallel 4 ./shared/sandbox/docker

check 'functions/local with containers' go test -tags docker -count 1 -run TestImage ./shared/local

say 'the image with the agents'
COMPANY_TEST_AGENTS=$(infra/image.sh build --agents --debootstrap)
export COMPANY_TEST_AGENTS
check 'the real agents, in containers' go test -tags 'docker clis' -count 1 -timeout 8m -run TestRealAgents ./shared/sandbox/docker

listed() {
	infra/image.sh sbom "$COMPANY_TEST_AGENTS" >.tools/sbom.json
	for name in '"git"' '"github.com/google/uuid"' '"@anthropic-ai/claude-code"' '"@openai/codex"'; do
		grep -q "\"name\":$name" .tools/sbom.json || { echo "the list of what is in the image lacks $name"; return 1; }
	done
}
check 'what is in it' listed
docker image rm -f "$COMPANY_TEST_AGENTS" >/dev/null

say 'done'
exit $failed
