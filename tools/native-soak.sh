#!/usr/bin/env bash
# Runs every program of tests/c for long: programs without a bug many times under each of five strategies, and
# none may fail; programs with one until the default strategies find it, and replays it many times with the
# same result. Fails otherwise.
#
#   tools/native-soak.sh [RUNS] [REPLAYS]
#
# RUNS per strategy is 1000 and REPLAYS is 100 by default. The program raddle is taken from $RADDLE, or built.
# A replay checks each step itself; its output, with verdict and fingerprint, is compared as well.
set -euo pipefail

cd "$(dirname "$0")/.."
runs=${1:-1000}
replays=${2:-100}
strategies=(random-walk pct:depth=3 pos surw oos)
sources=$PWD/tests/c

if [ -z "${RADDLE:-}" ]; then
    cargo build --quiet --release -p raddle-cli
    RADDLE=$PWD/target/release/raddle
fi
RADDLE=$(realpath "$RADDLE")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Prints the value of a line such as `// expect: pass` at the beginning of a source.
head_line() {
    sed -n "1,5s|^// $2: ||p" "$1"
}

build() {
    local compiler=cc standard=gnu11
    if [ "$(head_line "$1" build)" = c++ ]; then
        compiler=c++ standard=c++20
    fi
    "$RADDLE" "$compiler" "-std=$standard" -g -O1 -pthread "$1" -o program
}

# Prints the value of a key in a line of JSON, if it is a plain string.
json_text() {
    sed -n "s|.*\"$2\":\"\([^\"]*\)\".*|\1|p" "$1"
}

# Executes runs that must all pass.
soak() {
    local strategy total=0
    for strategy in "${strategies[@]}"; do
        # shellcheck disable=SC2046
        if ! "$RADDLE" run $(head_line "$1" options) --strategy "$strategy" --runs "$runs" --record failing.json -- ./program \
            >report 2>&1; then
            echo "FAILED under $strategy"
            cat report
            return 1
        fi
        total=$((total + runs))
    done
    echo "$total runs passed"
}

# Finds a failing run, and replays it.
repeat() {
    local expected found status=0 same=0 replay
    expected=$(head_line "$1" expect)
    # shellcheck disable=SC2046
    "$RADDLE" run $(head_line "$1" options) --json --record failing.json -- ./program >report 2>&1 || status=$?
    found=$(json_text report kind)
    if [ "$status" != 1 ] || [ "$found" != "$expected" ]; then
        echo "FAILED: found '$found' with status $status"
        cat report
        return 1
    fi
    "$RADDLE" replay failing.json >text 2>&1 || true
    "$RADDLE" replay --json failing.json >first 2>&1 || true
    for ((replay = 0; replay < replays; replay++)); do
        status=0
        "$RADDLE" replay --json failing.json >again 2>&1 || status=$?
        if [ "$status" = 1 ] && cmp -s first again && [ "$(json_text again verdict)" = "$expected" ]; then
            same=$((same + 1))
        fi
    done
    "$RADDLE" replay failing.json >text-again 2>&1 || true
    echo "$expected found, $same of $replays replays the same, fingerprint $(json_text first fingerprint)"
    if [ "$same" != "$replays" ] || ! cmp -s text text-again; then
        diff first again || true
        diff text text-again || true
        return 1
    fi
}

wrong=0
for source in "$sources"/pass/*.c* "$sources"/fail/*.c*; do
    name=${source#"$sources/"}
    printf '%-32s ' "$name"
    build "$source"
    if [ "${name%%/*}" = pass ]; then
        soak "$source" || wrong=$((wrong + 1))
    else
        repeat "$source" || wrong=$((wrong + 1))
    fi
done
if [ "$wrong" -gt 0 ]; then
    echo "$wrong programs behave otherwise than they should"
    exit 1
fi
echo 'All as it should be.'
