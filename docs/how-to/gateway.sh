#!/usr/bin/env bash
# A gateway: posts every *.ndjson file of a folder to Coincide, oldest name first, and removes it when it is delivered.
#
#     gateway.sh http://127.0.0.1:8010 /var/spool/coincide          runs for ever
#     gateway.sh http://127.0.0.1:8010 /var/spool/coincide --once   ends when the folder is empty
#
# COINCIDE_KEY has the key, where one is needed. It needs bash, curl and GNU split. Your program writes one JSON object a line to a file under another name and renames it
# to *.ndjson when it is complete, so that no half file is posted. Names that sort by time keep the order.
# A file of which Coincide refused some lines is kept as NAME.ndjson.refused, with the answer in NAME.ndjson.answer.
set -euo pipefail

url=${1:?"usage: gateway.sh URL FOLDER [--once]"}
folder=${2:?"usage: gateway.sh URL FOLDER [--once]"}
once=${3:-}
answer=$(mktemp)
headers=$(mktemp)
trap 'rm -f "$answer" "$headers"' EXIT
failures=0

pause() { # wait for Retry-After if Coincide gave one, else 1, 2, 4 ... 60 s
  local seconds
  seconds=$(sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9]\{1,5\}\).*/\1/p' "$headers" | tail -n 1)
  : "${seconds:=$((failures < 6 ? 1 << failures : 60))}"
  failures=$((failures + 1))
  echo "not delivered ($1), next attempt in $seconds s" >&2
  sleep "$seconds"
}

split_in_two() { # FILE.ndjson becomes FILE-0.ndjson and FILE-1.ndjson
  local stem=${1%.ndjson}
  split --lines=$((($(wc -l <"$1") + 1) / 2)) --numeric-suffixes --suffix-length=1 "$1" "$stem-"
  for half in 0 1; do mv "$stem-$half" "$stem-$half.ndjson"; done
  rm "$1"
}

keep() { # for a person to look at
  cp "$answer" "$1.answer"
  mv "$1" "$1.refused"
}

deliver() {
  : >"$headers"
  local status
  status=$(curl --silent --max-time 30 --dump-header "$headers" --output "$answer" --write-out '%{http_code}' \
    --config <(printf '%s' "${COINCIDE_KEY:+header = \"Authorization: Bearer $COINCIDE_KEY\"}") \
    --header 'Content-Type: application/x-ndjson' --header 'Expect:' \
    --data-binary "@$1" "$url/v1/detections") || status=000
  case $status in
    202) if grep -q '"refused":0' "$answer"; then rm "$1"; else keep "$1"; fi ;;
    400 | 415 | 422) keep "$1" ;;
    413) if [ "$(wc -l <"$1")" -gt 1 ]; then split_in_two "$1"; else keep "$1"; fi ;;
    *)
      pause "$status"
      return
      ;;
  esac
  failures=0
}

while true; do
  next=$(find "$folder" -maxdepth 1 -name '*.ndjson' | LC_ALL=C sort | head -n 1)
  if [ -n "$next" ]; then
    deliver "$next"
  elif [ "$once" = --once ]; then
    exit 0
  else
    sleep 1
  fi
done
