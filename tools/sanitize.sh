#!/usr/bin/env bash
# Checks for undefined behavior: engine and strategies under Miri, stack switching under AddressSanitizer and
# valgrind.
#
#   tools/sanitize.sh [miri] [asan] [valgrind]      all three by default
#
# Needs the nightly toolchain, for Miri with its component (`rustup component add miri rust-src --toolchain
# nightly`), and valgrind. Not part of `.ci/run`, because it takes long. Miri cannot switch stacks, so it does
# not run `crates/raddle`.
#
# Each of the other two must first find the bugs of `tools/sanitize` on a fiber, and nothing if there is none.
# Results: AddressSanitizer follows the switches of corosensei, with its feature `sanitizer`; our own switch
# does not inform it, so it is disabled there. It finds a use after free and a write past an array in a frame
# of a fiber. valgrind follows our own switch, finds the use after free, and cannot see the write: it knows no
# bounds within a stack. Neither detects the use of a frame after its function returned.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=x86_64-unknown-linux-gnu
what=("$@")
[ ${#what[@]} -gt 0 ] || what=(miri asan valgrind)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

step() {
    printf '\n== %s\n' "$*" >&2
    "$@"
}

# Runs the program of `tools/sanitize` under a command: name of the bug, `found` or `silent`, command.
expect() {
    local bug=$1 wanted=$2 status=0
    shift 2
    "$@" "$bug" >"$log" 2>&1 || status=$?
    local got=silent
    [ $status -eq 0 ] || got=found
    if [ $got != "$wanted" ]; then
        cat "$log" >&2
        echo "$bug: should be $wanted, is $got" >&2
        exit 1
    fi
    echo "$bug: $got, as it should be" >&2
}

# Miri is ten thousand times slower than the machine, so the tests do less under it (`affordable` in
# raddle-testkit), and the few that need more are ignored.
miri() {
    step cargo +nightly miri test -p raddle-engine -p raddle-strategies 2>&1 | tee "$log" >&2
    awk '/^test result:/ { passed += $4; ignored += $8 }
        END { print "under Miri: " passed " tests passed, " ignored " ignored" }' "$log" >&2
}

asan() {
    local flags="-Zsanitizer=address"
    export CARGO_TARGET_DIR=$PWD/target/asan
    (cd tools/sanitize && step env RUSTFLAGS="$flags" cargo +nightly build --quiet --features asan --target $target)
    local program=$CARGO_TARGET_DIR/$target/debug/sanitize
    expect clean silent "$program"
    expect unwind silent "$program"
    expect use-after-free found "$program"
    expect past-the-frame found "$program"
    # The tests with the most switches: handles, scopes, panics and unwinding, locals, tasks.
    step env RUSTFLAGS="$flags" cargo +nightly test --quiet -p raddle --features corosensei/sanitizer,portable-switch --target $target \
        --test std --test panics
}

valgrind() {
    export CARGO_TARGET_DIR=$PWD/target/valgrind
    (cd tools/sanitize && step cargo build --quiet)
    local check=(valgrind --quiet --error-exitcode=9 "$CARGO_TARGET_DIR/debug/sanitize")
    expect clean silent command "${check[@]}"
    expect unwind silent command "${check[@]}"
    expect use-after-free found command "${check[@]}"
}

for name in "${what[@]}"; do
    "$name"
done
