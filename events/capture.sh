#!/usr/bin/env bash
# Writes http/, sqs/ and schedule/ anew: deploys the stacks on the emulator, puts events/record in the place of the
# functions and starts each by its trigger. See README.md for what is captured and what is not.
source "$(dirname "$0")/../infra/tool.sh"

dir=$tools/recorder
mkdir -p "$dir"
(cd "$root" && CGO_ENABLED=0 GOOS=linux GOARCH=$(host_arch) go build -trimpath -tags lambda.norpc -o "$dir/bootstrap" ./events/record)
python3 -m zipfile -c "$dir/recorder.zip" "$dir/bootstrap"
exec "$root/cookbook/09-emulator/run.sh" -recorder "$dir/recorder.zip" -events "$root/events"
