#!/usr/bin/env bash
# Runs every function with its events, and the API, in the SAM CLI: on the template that the example of
# cookbook/09-emulator deploys, against the emulator that it leaves running meanwhile. Pulls no image.
source "$(dirname "$0")/../infra/tool.sh"

work=$(mktemp -d)
holder='' server=''
image=lambda-emulator-$$ # a name of its own: the SAM CLI keeps what it builds on an image by name
cleanup() {
  [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server"; } || true
  [ -z "$holder" ] || { kill -INT "$holder" 2>/dev/null && wait "$holder"; } || true
  docker images --quiet "$image" | sort -u | xargs -r docker rmi -f >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap cleanup EXIT

sam=$(venv sam aws-sam-cli==1.170.0)/sam
"$root/infra/image.sh" lambda >/dev/null
"$root/cookbook/09-emulator/run.sh" -hold >"$work/place" &
holder=$!
until grep -q ^READY=1 "$work/place" 2>/dev/null; do
  kill -0 $holder || { say "the emulator did not start"; exit 1; }
  sleep 1
done
# shellcheck disable=SC1091
source "$work/place"

# The emulator's address goes into the image, for the SAM CLI passes only variables that the template names.
container=$(docker create lambda-provided-local:al2023 none)
docker commit --change "ENV AWS_ENDPOINT_URL=$AWS_ENDPOINT_URL" "$container" "$image:al2023" >/dev/null
docker rm "$container" >/dev/null

export AWS_ACCESS_KEY_ID=company-emulator AWS_SECRET_ACCESS_KEY=company-emulator AWS_EC2_METADATA_DISABLED=true SAM_CLI_TELEMETRY=0
options=(--config-file "$root/samconfig.toml" --template "$TEMPLATE" --env-vars "$VARIABLES" --region us-east-1 --skip-pull-image --invoke-image "$image:al2023")
bucket=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["api"]["COMPANY_ARTIFACTS_BUCKET"])' "$VARIABLES")

passed=0
# invoke FUNCTION EVENT WANT: the answer matches the extended regular expression.
invoke() {
  local answer
  sed "s|Bearer TOKEN|Bearer $LOCAL_TOKEN|; s|RESPONSE_URL|$AWS_ENDPOINT_URL/$bucket/answer|" "$root/events/$2" >"$work/event.json"
  if ! answer=$("$sam" local invoke "$1" "${options[@]}" -e "$work/event.json" 2>"$work/log"); then
    tail -20 "$work/log" >&2
    return 1
  fi
  if ! grep -Eq "$3" <<<"$answer"; then
    say "$1 with $2 answered $answer, which is not $3"
    tail -20 "$work/log" >&2
    return 1
  fi
  passed=$((passed + 1))
  echo "sam local invoke $1 -e events/$2: $(cut -c1-100 <<<"$answer")"
}

invoke migrate deploy/create.json '^"?schema|^null|^""$|^$'
invoke api http/openapi.json '"statusCode": ?200'
invoke api http/products-list.json '"statusCode": ?200'
invoke api http/products-create.json '"statusCode": ?201'
invoke api http/wiki-path.json '"statusCode": ?404'
invoke api http/no-token.json '"statusCode": ?401'
invoke api http/sandbox-claim.json '"statusCode": ?40[13]'
invoke dispatch sqs/attempt.json '"batchItemFailures": ?\[\]'
invoke dispatch sqs/stopped.json '"batchItemFailures": ?\[\]'
invoke dispatch sqs/malformed.json '"itemIdentifier"'
invoke execute sqs/work.json '"batchItemFailures": ?\[\]'
invoke sweep schedule/tick.json '^null$|^$'

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$sam" local start-api "${options[@]}" --port "$port" --warm-containers LAZY >"$work/api.log" 2>&1 &
server=$!
for _ in $(seq 60); do
  curl -sf -o /dev/null "http://127.0.0.1:$port/openapi.json" && break
  sleep 1
done
# answers PATH WANT [HEADER]: the API answers with this status.
answers() {
  local got
  got=$(curl -s -o "$work/body" -w '%{http_code}' ${3:+-H "$3"} "http://127.0.0.1:$port$1")
  [ "$got" = "$2" ] || { say "start-api: $1 answered $got, not $2: $(head -c 500 "$work/body")"; tail -20 "$work/api.log" >&2; return 1; }
  passed=$((passed + 1))
  echo "sam local start-api, GET $1: $got"
}
answers /openapi.json 200
answers /company/products 401
answers /company/products 200 "Authorization: Bearer $LOCAL_TOKEN"

echo "$passed passed, 0 failed"
