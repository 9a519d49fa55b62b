#!/usr/bin/env bash
# Faults of campaigns: a killed process, a full disk, and a restarted PostgreSQL server. Each time, the campaign is resumed and compared
# with one that was not disturbed. With --soak MINUTES, runs one campaign for so long and prints its memory every minute.
#
#   RADDLE=PROGRAM tools/campaigns.sh [--soak MINUTES]
#
# Uses RADDLE, or target/debug/raddle. The test of the full disk needs root, for a small tmpfs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
raddle=$(realpath "${RADDLE:-target/debug/raddle}")
work=$(mktemp -d)
trap 'umount "$work/small" 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir "$work/bin"
for program in fail/lost_update fail/abba_deadlock pass/mutexes pass/barrier; do
    "$raddle" cc -g -O1 -pthread "tests/c/$program.c" -o "$work/bin/${program#*/}"
done
cd "$work"

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}
# Everything that must be the same: no times.
state() {
    "$raddle" campaign status --json "$@" |
        python3 -c 'import json, sys
report = json.load(sys.stdin)
for target in report["targets"]:
    del target["seconds"]
for failure in report["failures"]:
    del failure["first_seen"], failure["last_seen"], failure["file"]
print(json.dumps([report["targets"], report["failures"], report["runs"]], indent=1))'
}
same() {
    diff "$1" "$2" >&2 || fail "$3: the resumed campaign differs from the undisturbed one"
    printf 'ok  %s\n' "$3"
}
limits=(--rounds 12 --runs 300)

if [ "${1:-}" = --soak ]; then
    minutes=${2:-60}
    "$raddle" campaign run bin --time "${minutes}m" --turn 1s >soak.txt 2>&1 &
    soaked=$!
    for minute in $(seq "$minutes"); do
        sleep 60
        [ -d "/proc/$soaked" ] || break
        printf '%s min  %s  %s files  %s processes\n' "$minute" "$(grep VmRSS "/proc/$soaked/status")" \
            "$(find /proc/$soaked/fd | wc -l)" "$(pgrep -cP "$soaked" || true)"
    done
    status=0
    wait "$soaked" || status=$?
    tail -n 2 soak.txt
    exit $((status > 1))
fi

"$raddle" campaign run bin "${limits[@]}" --folder undisturbed >undisturbed.txt || [ $? -eq 1 ]
state --folder undisturbed >expected

# Killed again and again.
"$raddle" campaign run bin "${limits[@]}" --folder killed >killed.txt 2>&1 &
for delay in 0.7 1.1 0.9; do
    sleep "$delay"
    kill -KILL $! 2>/dev/null || true
    wait $! 2>/dev/null || true
    "$raddle" campaign run --resume --folder killed >>killed.txt 2>&1 &
done
wait $! || true
state --folder killed >found
same expected found "killed three times"

# The disk is full, then it is not.
if [ "$(id -u)" -eq 0 ] && mkdir small && mount -t tmpfs -o size=400k tmpfs small 2>/dev/null; then
    status=0
    "$raddle" campaign run bin "${limits[@]}" --folder small/campaign >full.txt 2>&1 || status=$?
    [ "$status" -eq 2 ] || fail "a full disk: status $status: $(tail -n 3 full.txt)"
    grep -m 1 '^error' full.txt
    mount -o remount,size=64m small
    "$raddle" campaign run --resume --folder small/campaign >>full.txt 2>&1 || [ $? -eq 1 ]
    state --folder small/campaign >found
    same expected found "a full disk"
else
    printf 'NOT TESTED: a full disk; that needs root\n'
fi

# The server is restarted again and again.
if [ -n "${RADDLE_POSTGRES:-}" ]; then
    store=(--store "$RADDLE_POSTGRES" --folder remote)
    "$raddle" campaign run bin "${limits[@]}" "${store[@]}" >remote.txt 2>&1 &
    for delay in 0.8 0.8; do
        sleep "$delay"
        sh -c "$RADDLE_POSTGRES_RESTART"
    done
    wait $! || [ $? -eq 1 ] || fail "PostgreSQL restarted: $(tail -n 3 remote.txt)"
    state "${store[@]}" >found
    same expected found "PostgreSQL restarted twice"
else
    printf 'NOT TESTED: a restarted PostgreSQL server: tools/postgres.sh tools/campaigns.sh, with a raddle built with --features postgres\n'
fi
