#!/usr/bin/env bash
# Runs functions with their events in the SAM CLI: on the template that the example of cookbook/09-emulator deploys,
# against the emulator that it leaves running meanwhile. Installs what it needs and pulls no image.
#
#   events/local.sh                         every function with its events, and the API; what they should answer is checked
#   events/local.sh invoke FUNCTION EVENT   one function with one event, such as: invoke api http/products-list.json
#   events/local.sh -hold                   sets up, prints how to call the SAM CLI by hand, and waits for Ctrl-C
#
# Each sets up for itself, in about a minute; while one with -hold waits, invoke uses what that has set up.
source "$(dirname "$0")/../infra/tool.sh"

usage() { sed -n '2,9p' "$0" | cut -c3- >&2; exit 2; }

held=$tools/events.held # what -hold has set up
mode=${1:-all}
case $mode,$# in
  all,0 | -hold,1) ;;
  invoke,3)
    function=$2 event=$3
    [[ $function =~ ^(api|dispatch|execute|sweep|migrate)$ ]] || fail "$function is no function; they are api, dispatch, execute, sweep and migrate"
    [ -f "$event" ] || event=$root/events/$event
    [ -f "$event" ] || fail "there is no event $3; they are in the folders of events/, such as http/products-list.json"
    ;;
  *) usage ;;
esac

work=$(mktemp -d)
holder='' server='' built=''
cleanup() {
  [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server"; } || true
  [ -z "$holder" ] || { kill -INT "$holder" 2>/dev/null && wait "$holder"; } || true
  # The SAM CLI's image, rapid-…, before the one that it is made of.
  [ -z "$built" ] || docker images --format '{{.Repository}}:{{.Tag}}' "$built" | sort -r | xargs -r docker rmi -f >/dev/null 2>&1 || true
  [ "$mode" != -hold ] || rm -f "$held"
  rm -rf "$work"
}
trap cleanup EXIT

# set_up: writes to the file held how to reach the emulator.
set_up() {
  "$root/infra/image.sh" lambda >/dev/null
  "$root/cookbook/09-emulator/run.sh" -hold >"$work/place" &
  holder=$!
  until grep -q ^READY=1 "$work/place" 2>/dev/null; do
    kill -0 $holder || fail "the emulator did not start"
    sleep 1
  done
  # shellcheck disable=SC1091
  source "$work/place"
  # The emulator's address goes into the image, for the SAM CLI passes only variables that the template names. The
  # image's name is one of its own: the SAM CLI keeps what it builds on an image by name.
  built=lambda-emulator-$$
  local container
  container=$(docker create lambda-provided-local:al2023 none)
  docker commit --change "ENV AWS_ENDPOINT_URL=$AWS_ENDPOINT_URL" "$container" "$built:al2023" >/dev/null
  docker rm "$container" >/dev/null
  { grep -v ^READY "$work/place"; echo "IMAGE=$built:al2023"; echo "HOLDER=$$"; } >"$held.$$"
  mv "$held.$$" "$1"
}

sam=$(venv sam aws-sam-cli==1.170.0)/sam
HOLDER=''
# shellcheck disable=SC1090
[ "$mode" != invoke ] || [ ! -f "$held" ] || source "$held"
if [ -z "$HOLDER" ] || ! kill -0 "$HOLDER" 2>/dev/null; then
  here=$work/held
  [ "$mode" != -hold ] || here=$held
  set_up "$here"
  # shellcheck disable=SC1090
  source "$here"
fi

credentials=(AWS_ACCESS_KEY_ID=company-emulator AWS_SECRET_ACCESS_KEY=company-emulator AWS_EC2_METADATA_DISABLED=true SAM_CLI_TELEMETRY=0)
export "${credentials[@]}"
options=(--config-file "$root/samconfig.toml" --template "$TEMPLATE" --env-vars "$VARIABLES" --region us-east-1 --skip-pull-image --invoke-image "$IMAGE")
bucket=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["api"]["COMPANY_ARTIFACTS_BUCKET"])' "$VARIABLES")

# complete EVENT: with a token that the function accepts, and an address that CloudFormation's answer may go to.
complete() { sed "s|Bearer TOKEN|Bearer $LOCAL_TOKEN|; s|RESPONSE_URL|$AWS_ENDPOINT_URL/$bucket/answer|" "$1"; }

if [ "$mode" = invoke ]; then
  complete "$event" >"$work/event.json"
  "$sam" local invoke "$function" "${options[@]}" -e "$work/event.json"
  exit
fi

if [ "$mode" = -hold ]; then
  (cd "$root/events" && find . -name '*.json') | while read -r event; do
    mkdir -p "$work/events/$(dirname "$event")"
    complete "$root/events/$event" >"$work/events/$event"
  done
  echo "export ${credentials[*]}"
  echo "$sam local invoke api ${options[*]} -e $work/events/http/products-list.json"
  echo "$sam local start-api ${options[*]}"
  say "the events are in $work/events; in another terminal also: events/local.sh invoke api http/products-list.json"
  say "Ctrl-C ends it"
  wait "$holder"
  exit
fi

passed=0
# check FUNCTION EVENT WANT: the answer matches the extended regular expression.
check() {
  local answer
  complete "$root/events/$2" >"$work/event.json"
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

check migrate deploy/create.json '^"?schema|^null|^""$|^$'
check api http/openapi.json '"statusCode": ?200'
check api http/products-list.json '"statusCode": ?200'
check api http/products-create.json '"statusCode": ?201'
check api http/wiki-path.json '"statusCode": ?404'
check api http/no-token.json '"statusCode": ?401'
check api http/sandbox-claim.json '"statusCode": ?40[13]'
check dispatch sqs/attempt.json '"batchItemFailures": ?\[\]'
check dispatch sqs/stopped.json '"batchItemFailures": ?\[\]'
check dispatch sqs/malformed.json '"itemIdentifier"'
check execute sqs/work.json '"batchItemFailures": ?\[\]'
check sweep schedule/tick.json '^null$|^$'

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
