#!/usr/bin/env bash
# All that `go test` leaves to CI: the attack program in every environment, the
# long races, the agents and tools, the budgets. Needs root and the
# distribution's packages, which it installs; takes some five minutes on two cores.
#   NETLOCK_WORK  where to build and log (default: a new directory)
#   NETLOCK_RACE  seconds that each race goes on (default and least in CI: 60)
set -euo pipefail
cd "$(dirname "$0")"
[ "$(id -u)" = 0 ] || { echo 'ci.sh needs root: it starts containers and other users'"'"' programs'; exit 2; }
begin=$SECONDS
export NETLOCK_RACE=${NETLOCK_RACE:-60} DEBIAN_FRONTEND=noninteractive
work=${NETLOCK_WORK:-$(mktemp -d /tmp/netlock-ci.XXXXXX)}
mkdir -p "$work"
chmod 755 "$work"
work=$(realpath "$work")
say() { printf 'netlock ci %4ss: %s\n' $((SECONDS - begin)) "$*"; }

missing=()
for need in gcc:gcc curl:curl git:git node:nodejs /usr/bin/python3:python3 cpio:cpio qemu-system-x86_64:qemu-system-x86 dockerd:docker.io iptables:iptables; do
	command -v "${need%%:*}" >/dev/null || missing+=("${need#*:}")
done
[ -e /usr/include/stdlib.h ] || missing+=(libc6-dev)
if ((${#missing[@]})); then
	say "installing ${missing[*]}"
	apt-get update -qq
	apt-get install -qq -y --no-install-recommends "${missing[@]}" >"$work/apt.log" 2>&1 || { tail -20 "$work/apt.log"; exit 1; }
fi

say 'building'
ci/clis.sh "$work/clis" >"$work/clis.log" 2>&1 &
clis=$!
CGO_ENABLED=0 go test -c -tags attack -o "$work/netlock.test" .
gcc -static -O1 -Wall -Werror -pthread -o "$work/attack" testdata/attack/*.c
chmod 755 "$work/netlock.test" "$work/attack"
wait $clis || { cat "$work/clis.log"; exit 1; }
export NETLOCK_ATTACK=$work/attack NETLOCK_CLIS=$work/clis

failed=()
# A test binary runs beside its testdata; every setting has a log of its own.
tests() { # log, tests, command before
	local log=$1 which=$2
	shift 2
	"$@" "$work/netlock.test" -test.v -test.timeout 8m -test.run "$which" >"$work/$log.log" 2>&1
}
as_user() { NETLOCK_TEST_ROLE=become NETLOCK_TEST_ARGS="0 1000 $*" "$work/netlock.test"; }

say 'budgets, agents and tools'
tests budget '^(TestBudget|TestSupervisorMemory)$' env || failed+=(budget)
tests agents '^(TestClaudeCode|TestCodex|TestTools|TestStaticGo)$' env || failed+=(agents)

say "attacks, races of $NETLOCK_RACE s: host as root and as a user, containers, Linux 5.10"
attacks='^(TestAttackMatrix|TestAttackRaces|TestSelfTest)$'
tests host-root "$attacks" env &
root=$!
tests host-user "$attacks" as_user &
user=$!
ci/docker.sh "$work" >"$work/docker.log" 2>&1 &
docker=$!
ci/kernel510.sh "$work" >"$work/vm.log" 2>&1 &
vm=$!
wait $root || failed+=(host-root)
wait $user || failed+=(host-user)
wait $docker || failed+=(docker docker-caps docker-ptrace docker-user)
wait $vm || failed+=(vm kernel510)

for log in budget agents host-root host-user docker-caps docker-ptrace docker-user kernel510; do
	[ -e "$work/$log.log" ] || continue
	echo "--- $log"
	grep -E '=== SETTING|kernel [0-9]|attack matrix:|race: .* in [0-9]+ s|unlocked |resident|held: |closed: |_test.go:[0-9]+: refused|refused: |: <nil> in' "$work/$log.log" |
		grep -vE ' (true|false) ' | sed -E 's/^ *[a-z_]+_test\.go:[0-9]+: /  /' | cut -c1-180 || true
done
logs=("$work"/{budget,agents,host-root,host-user,docker-caps,docker-ptrace,docker-user,kernel510}.log)
passed=$(cat "${logs[@]}" 2>/dev/null | grep -c '^ *--- PASS') || true
lost=$(cat "${logs[@]}" 2>/dev/null | grep -c '^ *--- FAIL') || true
if ((${#failed[@]})); then
	for log in "${failed[@]}"; do
		echo "=== $log"
		grep -aE -A12 'HOLE|FAIL|over its budget|failed:|panic|error' "$work/$log.log" 2>/dev/null | grep -v '^ok ' | head -60 || true
	done
	((lost > 0)) || lost=1
fi
if ((lost == 0)) && [ -z "${NETLOCK_WORK:-}" ]; then
	rm -rf "$work"
else
	say "logs in $work"
fi
say 'done'
echo "netlock: $passed passed, $lost failed"
((lost == 0))
