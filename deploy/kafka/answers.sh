#!/usr/bin/env bash
# answers.sh HOST PORT [SECONDS]: does a Kafka broker answer there? Exit status 0 if so, within 3 seconds unless told otherwise.
# It starts no Java. It asks for the versions of the protocol, the one request that needs none agreed first, and reads the answer's head.
set -u
host=$1 port=$2 within_s=${3:-3}

ask() {
  exec 3<>"/dev/tcp/$host/$port" || return 1
  # length 10, ApiVersions (18) in version 0, correlation "ping", no client id
  printf '\x00\x00\x00\x0a\x00\x12\x00\x00ping\xff\xff' >&3
  # length, correlation, error code 0; od writes them in digits, for a shell's words have no zero bytes
  [[ $(head -c 10 <&3 | od -A n -t x1 | tr -d ' \n') =~ ^[0-9a-f]{8}70696e670000$ ]]
}

# A broker that hangs still takes connections. Whoever waits for it is ended from outside.
ask 2>/dev/null &
asking=$!
(sleep "$within_s"; kill "$asking" 2>/dev/null) >/dev/null 2>&1 &
watching=$!
wait "$asking"
answered=$?
kill "$watching" 2>/dev/null
exit "$answered"
