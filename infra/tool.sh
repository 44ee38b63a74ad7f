# shellcheck shell=bash
# Sourced by the scripts of this repository: finds or installs what they need, below .tools. Nothing is taken from a
# container registry.
set -euo pipefail
# So that what fails within $(…) ends there, and the script with it.
shopt -s inherit_errexit 2>/dev/null || { echo "bash from version 4.4 on is needed; this is $BASH_VERSION" >&2; exit 1; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tools=$root/.tools
mkdir -p "$tools"
export NODE_NO_WARNINGS=1 JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION="${JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION:-20}"

say() { echo "$*" >&2; }

# fail SENTENCE: the script's end, or its function's within $(…).
fail() { say "${0##*/}: $*"; exit 1; }

# host_arch: this machine's architecture in Go's words.
host_arch() {
  case $(uname -m) in
    x86_64) echo amd64 ;;
    aarch64 | arm64) echo arm64 ;;
    *) fail "no support for $(uname -m)" ;;
  esac
}

# venv NAME PACKAGE…: the programs of a Python environment, made once for these packages.
venv() {
  local dir=$tools/$1
  shift
  if [ "$(cat "$dir/.packages" 2>/dev/null || true)" != "$*" ]; then
    say "installing $* (once)"
    rm -rf "$dir"
    python3 -m venv "$dir" >&2 || fail "python3 makes no virtual environment; on Debian and Ubuntu, install python3-venv"
    "$dir/bin/pip" install --quiet --disable-pip-version-check "$@" >&2
    echo "$*" >"$dir/.packages"
  fi
  echo "$dir/bin"
}

# cdk_cli: the CDK's command. A later major version does not read what this CDK writes.
cdk_cli() {
  local version=2.1148.1 dir=$tools/cdk
  command -v npm >/dev/null || fail "there is no npm; install Node.js from version 22 on"
  if [ "$(cat "$dir/.version" 2>/dev/null || true)" != $version ]; then
    say "installing aws-cdk@$version (once)"
    rm -rf "$dir"
    mkdir -p "$dir"
    npm install --silent --no-fund --no-audit --prefix "$dir" "aws-cdk@$version" >&2
    echo $version >"$dir/.version"
  fi
  echo "$dir/node_modules/.bin/cdk"
}

# packages NAME…: Debian packages that are not there yet; needs root.
packages() {
  local name missing=()
  for name in "$@"; do
    dpkg -s "$name" >/dev/null 2>&1 || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    fail "${missing[*]} must be installed: by you, or by this script as root on Debian or Ubuntu"
  fi
  say "installing ${missing[*]} (once)"
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# docker_up: an engine that answers. Where none does, one is installed and started; needs root.
docker_up() {
  docker info >/dev/null 2>&1 && return
  [ "$(id -u)" = 0 ] || fail "no container engine answers this user: start Docker, or name its socket in DOCKER_HOST; root has one installed"
  command -v dockerd >/dev/null || packages docker.io iptables
  local options
  # The second is for machines whose kernel has no overlay file system to give.
  for options in "" "--storage-driver=vfs"; do
    say "starting dockerd $options"
    # shellcheck disable=SC2086
    nohup dockerd $options >"$tools/dockerd.log" 2>&1 </dev/null &
    local pid=$! _
    for _ in $(seq 60); do
      docker info >/dev/null 2>&1 && return
      kill -0 $pid 2>/dev/null || break
      sleep 1
    done
    kill $pid 2>/dev/null || true
  done
  fail "no container engine answers and dockerd does not start; see $tools/dockerd.log"
}
