#!/usr/bin/env bash
# Installs what the example needs (an emulator of AWS, the CDK's command, a container engine, the sandbox's image) and
# runs it. Needs Go, Node.js, Python 3 and git; as root it also installs the engine and debootstrap. Nothing is taken
# from a container registry, and no AWS account is used.
#
#   cookbook/09-emulator/run.sh [-hold]
source "$(dirname "$0")/../../infra/tool.sh"

docker_up
ministack=$(venv ministack ministack==1.5.33 docker cryptography)/ministack
cdk=$(cdk_cli)
image=$("$root/infra/image.sh" build --debootstrap)
say "building infra (the first time takes minutes)"
go build -C "$root/infra" -o "$tools/infra" .
go build -C "$root" -o "$tools/emulator" ./cookbook/09-emulator
cd "$root"
exec "$tools/emulator" -ministack "$ministack" -cdk "$cdk" -infra "$tools/infra" -image "$image" "$@"
