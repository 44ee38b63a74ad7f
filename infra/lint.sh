#!/usr/bin/env bash
# Runs the tests of infra/, cdk-nag among them, and cfn-lint on the templates of every form of deployment that they
# synthesize. Needs no account, and no network once its tools are there. With templates as arguments, lints these.
source "$(dirname "$0")/tool.sh"

bin=$(venv cfn-lint cfn-lint==1.58.0)
if [ $# -eq 0 ]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
  go test -C "$root/infra" -count=1 . -args -keep "$out"
  go test -C "$root/infra" ./setting/... ./price/... ./doctor/...
  set -- "$out"/*/out/*.template.json
fi
# W3005: the CDK names dependencies that a reference implies.
"$bin/cfn-lint" -i W3005 -- "$@"
echo "cfn-lint: $# templates passed"
