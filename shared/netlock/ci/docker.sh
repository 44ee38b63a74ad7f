#!/usr/bin/env bash
# Runs the attacks in containers with Docker's default profile, capabilities
# dropped: as root with SETUID and SETGID, with SYS_PTRACE besides, and as an
# ordinary user with none. usage: docker.sh WORK (holds netlock.test and attack)
set -euo pipefail
work=$(realpath "$1")
race=${NETLOCK_RACE:-60}

command -v dockerd >/dev/null || apt-get install -qq -y --no-install-recommends docker.io iptables >/dev/null
if ! docker info >/dev/null 2>&1; then
	# A daemon of our own, beside whatever else is on the machine.
	export DOCKER_HOST=unix://$work/docker.sock
	setsid dockerd --host "$DOCKER_HOST" --data-root "$work/docker-data" --exec-root "$work/docker-exec" \
		--pidfile "$work/docker.pid" --bridge none --iptables=false --ip-masq=false >"$work/dockerd.log" 2>&1 &
	daemon=$!
	trap 'kill $daemon 2>/dev/null; wait $daemon 2>/dev/null || true' EXIT
	for _ in $(seq 100); do docker info >/dev/null 2>&1 && break; sleep 0.3; done
fi
docker info --format '{{.ServerVersion}} {{.SecurityOptions}}' || { tail -5 "$work/dockerd.log"; exit 1; }
docker info --format '{{.SecurityOptions}}' | grep -q 'name=seccomp,profile=\(default\|builtin\)' || { echo 'docker: no default seccomp profile'; exit 1; }

image=netlock-ci-$$
root=$(mktemp -d "$work/image.XXXX")
mkdir -p "$root"/{tmp,etc,proc,dev,sys}
chmod 1777 "$root/tmp"
chmod 755 "$root"
printf 'root:x:0:0::/:/none\nuser:x:1000:1000::/:/none\n' >"$root/etc/passwd"
install -m 755 "$work/netlock.test" "$work/attack" "$root/"
tar -C "$root" -c . | docker import - "$image" >/dev/null

run() { # name, flags of docker run
	local name=$1
	shift
	timeout $((race + 240)) docker run --rm --network none "$@" --security-opt no-new-privileges \
		-e NETLOCK_ATTACK=/attack -e NETLOCK_RACE="$race" "$image" \
		/netlock.test -test.v -test.run '^(TestAttackMatrix|TestAttackRaces|TestSelfTest)$' >"$work/docker-$name.log" 2>&1
}
run caps --cap-drop ALL --cap-add SETUID --cap-add SETGID &
a=$!
run ptrace --cap-drop ALL --cap-add SETUID --cap-add SETGID --cap-add SYS_PTRACE &
b=$!
run user --cap-drop ALL --user 1000:1000 &
c=$!
failed=0
for p in $a $b $c; do wait "$p" || failed=1; done
docker image rm "$image" >/dev/null
exit $failed
