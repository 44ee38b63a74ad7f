#!/usr/bin/env bash
# Builds the sandbox's image and pushes it by digest.
#
#   infra/image.sh build [--debootstrap]               → company-sandbox:<version> in this machine's engine
#   infra/image.sh push  [--debootstrap] [REPOSITORY]  → prints REPOSITORY@sha256:…, the value for -c image=…
#   infra/image.sh lambda                              → the image in which the SAM CLI runs functions
#
# Without REPOSITORY it is company-sandbox in your account's ECR, made if it is missing. --debootstrap builds without a
# registry to pull from, of Debian's packages, for this machine's architecture; needs root. ARCH=arm64 or amd64 chooses
# the architecture of the other way; default arm64, as the stacks'.
source "$(dirname "$0")/tool.sh"

name=company-sandbox
suite=bookworm

usage() { sed -n '2,10p' "$0" | cut -c3- >&2; exit 2; }

# version names what the image is made of: unchanged sources make no new image.
version() {
  (cd "$root" && find functions/sandbox shared go.mod -type f ! -name '*_test.go' -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)
}

# supervisor ARCH PATH: the static entry point.
supervisor() {
  (cd "$root" && CGO_ENABLED=0 GOOS=linux GOARCH=$1 go build -trimpath -buildvcs=false -ldflags "-s -w -buildid=" -o "$2" ./functions/sandbox)
}

# The image's settings, the same as in the Containerfile.
changes=(
  --change 'ENTRYPOINT ["/usr/local/bin/sandbox"]'
  --change 'WORKDIR /'
  --change 'ENV COMPANY_AGENT_UID=10001 COMPANY_AGENT_GID=10001'
)

# debootstrapped ARCH: a minimal Debian with git and CA certificates, packed once.
debootstrapped() {
  local tar=$tools/sandbox-$suite-$1.tar dir=$tools/sandbox-$suite-$1
  [ -s "$tar" ] && { echo "$tar"; return; }
  packages debootstrap ca-certificates
  say "making a Debian of packages (once, about a minute)"
  rm -rf "$dir"
  debootstrap --variant=minbase --include=git,ca-certificates "$suite" "$dir" >"$tools/debootstrap.log" 2>&1 ||
    { tail -5 "$tools/debootstrap.log" >&2; return 1; }
  rm -rf "$dir"/var/cache/apt/* "$dir"/var/lib/apt/lists/* "$dir"/usr/share/{doc,man,info,locale}/* "$dir"/var/log/*
  echo 'agent:x:10001:10001::/nonexistent:/usr/sbin/nologin' >>"$dir/etc/passwd"
  echo 'agent:x:10001:' >>"$dir/etc/group"
  mkdir -p "$dir/sandbox"
  # No program of the image gives its caller another user.
  find "$dir" -xdev -perm /6000 -type f -exec chmod a-s {} +
  tar -C "$dir" -cf "$tar.part" . && mv "$tar.part" "$tar"
  rm -rf "$dir"
  echo "$tar"
}

build_debootstrap() {
  local arch tar base=$name-base:$suite container
  arch=$(host_arch)
  tar=$(debootstrapped "$arch")
  docker image inspect "$base" >/dev/null 2>&1 || docker import "$tar" "$base" >/dev/null
  supervisor "$arch" "$tools/supervisor-$arch"
  container=$(docker create "$base" /usr/local/bin/sandbox)
  docker cp -q "$tools/supervisor-$arch" "$container:/usr/local/bin/sandbox" >&2
  docker commit "${changes[@]}" "$container" "$1" >/dev/null
  docker rm "$container" >/dev/null
}

build_containerfile() {
  docker buildx build --platform "linux/${ARCH:-arm64}" --load -f "$root/functions/sandbox/Containerfile" -t "$1" "$root" >&2
}

# build WAY: the tag of the built image; nothing is built twice.
build() {
  docker_up
  local tag
  tag=$name:$(version)
  if ! docker image inspect "$tag" >/dev/null 2>&1; then
    "build_$1" "$tag"
  fi
  echo "$tag"
}

# repository: the account's own, made if it is missing, and signed in to.
repository() {
  local account region host
  account=$(aws sts get-caller-identity --query Account --output text)
  region=${AWS_REGION:-$(aws configure get region)}
  host=$account.dkr.ecr.$region.amazonaws.com
  aws ecr describe-repositories --region "$region" --repository-names $name >/dev/null 2>&1 ||
    aws ecr create-repository --region "$region" --repository-name $name --image-tag-mutability IMMUTABLE \
      --image-scanning-configuration scanOnPush=true >/dev/null
  aws ecr get-login-password --region "$region" | docker login --username AWS --password-stdin "$host" >&2
  echo "$host/$name"
}

push() {
  local tag=$1 target=$2 digest
  docker tag "$tag" "$target:${tag#*:}"
  docker push --quiet "$target:${tag#*:}" >&2
  digest=$(docker image inspect "$tag" --format '{{range .RepoDigests}}{{println .}}{{end}}' | grep "^$target@" | head -1)
  [ -n "$digest" ] || { say "the registry gave no digest"; return 1; }
  echo "$digest"
}

# lambda: what the SAM CLI needs of an image when it brings its own runtime interface: a shell, certificates, folders.
lambda() {
  docker_up
  packages busybox-static ca-certificates
  local tag=lambda-provided-local:al2023 dir=$tools/lambda-image
  if ! docker image inspect $tag >/dev/null 2>&1; then
    rm -rf "$dir"
    mkdir -p "$dir"/{bin,tmp,opt,etc/ssl/certs,var/task,var/runtime,var/rapid}
    chmod 1777 "$dir/tmp"
    cp /bin/busybox "$dir/bin/busybox"
    "$dir/bin/busybox" --list | while read -r command; do [ "$command" = busybox ] || ln -s busybox "$dir/bin/$command"; done
    cp -L /etc/ssl/certs/ca-certificates.crt "$dir/etc/ssl/certs/"
    tar -C "$dir" -c . | docker import - $tag >/dev/null
    rm -rf "$dir"
  fi
  echo $tag
}

command=${1:-}
shift || true
way=containerfile
[ "${1:-}" = --debootstrap ] && { way=debootstrap; shift; }
case $command in
  build) build $way ;;
  push)
    tag=$(build $way)
    push "$tag" "${1:-$(repository)}"
    ;;
  lambda) lambda ;;
  *) usage ;;
esac
