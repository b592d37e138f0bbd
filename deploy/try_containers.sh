#!/usr/bin/env bash
# Builds the images, starts the whole of docker-compose.yml under a name of its own, has a bang come out as a match, kills fusion and does
# it again, then removes all that it made. It needs a Docker engine and the ports of docker-compose.yml. KEEP=1 leaves it running.
# Exit status: 0 all held, 1 something did not, 69 there is no engine here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly UNAVAILABLE=69 READY_WITHIN_S=300 MATCH_WITHIN_S=60
compose=(docker compose --project-name coincide-try)

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "FAILED: $*"
  "${compose[@]}" ps --all >&2 || true
  "${compose[@]}" logs --tail 30 >&2 || true
  exit 1
}

# Repeat "$@" once a second until it holds, for $1 seconds at most.
wait_for() {
  local until=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < until)) || return 1
    sleep 1
  done
}

is_ready() { curl --fail --silent --max-time 3 --output /dev/null "http://127.0.0.1:$1/readyz"; }

matches() {
  curl --fail --silent --max-time 10 -H "Authorization: Bearer $key" "http://127.0.0.1:8020/v1/matches?query=bang&format=csv" |
    tail -n +2 | wc -l
}

has_more_than() { (($(matches) > $1)); }

hear_a_bang() {
  local now
  now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  printf '{"sensor": "mic-%d", "detected_at": "%s"}\n' 1 "$now" 2 "$now" 3 "$now" |
    curl --fail --silent --show-error --max-time 20 -H "Authorization: Bearer $key" -H 'Content-Type: application/x-ndjson' \
      --data-binary @- --output /dev/null http://127.0.0.1:8010/v1/detections
}

bang_is_matched() {
  local before
  before=$(matches)
  hear_a_bang || fail "ingest refused a bang"
  wait_for "$MATCH_WITHIN_S" has_more_than "$before" || fail "a bang made no match within $MATCH_WITHIN_S s, $1"
  say "a bang made a match, $1"
}

all_ready() {
  local port
  for port in 8000 8010 8020 8030 8040 8050; do
    wait_for "$READY_WITHIN_S" is_ready "$port" || fail "port $port is not ready within $READY_WITHIN_S s"
  done
}

if ! docker info >/dev/null 2>&1 || ! docker compose version >/dev/null 2>&1; then
  say "There is no Docker engine with compose here, so nothing was tried."
  exit "$UNAVAILABLE"
fi
[[ ${KEEP:-} ]] || trap '"${compose[@]}" down --volumes --remove-orphans' EXIT

"${compose[@]}" config --quiet
"${compose[@]}" build
"${compose[@]}" up --detach || fail "not everything could be started"
all_ready
key=$("${compose[@]}" run --rm --no-deps --no-TTY topics python -m services.common.access create --scope admin)
bang_is_matched "at the first start"

"${compose[@]}" kill fusion # as a crash: compose does not start again what it was told to kill
"${compose[@]}" up --detach fusion
all_ready
bang_is_matched "after fusion was killed"

docker stats --no-stream $("${compose[@]}" ps --quiet)
say "All of it held."
