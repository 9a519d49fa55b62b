#!/usr/bin/env bash
# Runs unmodified programs of Debian, a C++ program with std::async, a C program with jemalloc and a Rust program with
# channels under control, and compares the output of every run with that of a run without raddle. Fails if any run differs,
# fails or hangs.
#
#   tools/debian-programs.sh [RUNS]
#
# RUNS is 200 by default. The program raddle is taken from $RADDLE, or built. Missing packages are installed,
# which needs root.
set -euo pipefail

cd "$(dirname "$0")/.."
runs=${1:-200}
sources=$PWD/tools/debian-programs

for package in pigz pbzip2 lbzip2 xz-utils:xz zstd redis-server; do
    if ! command -v "${package#*:}" >/dev/null; then
        apt-get install -y "${package%:*}" >/dev/null
    fi
done
jemalloc=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2
[ -e "$jemalloc" ] || apt-get install -y libjemalloc2 >/dev/null
if [ -z "${RADDLE:-}" ]; then
    cargo build --quiet --release -p raddle-cli
    RADDLE=$PWD/target/release/raddle
fi
RADDLE=$(realpath "$RADDLE")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
g++ -std=c++17 -O2 -pthread -o "$work/async" "$sources/async.cc"
gcc -O1 -pthread -o "$work/allocates" "$sources/allocates.c" "$jemalloc"
rustc --edition 2024 -O -o "$work/channels" "$sources/channels.rs"
cd "$work"

# Prints words with a skewed distribution, the same on every machine.
words() {
    awk -v size="$1" 'BEGIN {
        state = 7
        for (length_so_far = 0; length_so_far < size; length_so_far += length(word) + 1) {
            state = (state * 1103515245 + 12345) % 2147483648
            word = sprintf("%x", int(state / 65536) % 3001 * 12347)
            printf "%s ", word
        }
    }'
}
words 300000 >small
words 2500000 >large

failed=0
try() {
    "$@" >expected
    printf '%s: %s bytes, ' "$(basename "$1")" "$(wc -c <expected)"
    if "$RADDLE" run --runs "$runs" --expect-output expected --record failing.json -- "$@" >report 2>&1; then
        grep '^[0-9,]* run' report
    else
        failed=$((failed + 1))
        echo 'FAILED'
        cat report
    fi
}

try pigz -c -p 4 -b 32 small
try pbzip2 -c -p4 -b1 small
try lbzip2 -c -n 4 -1 small
try xz -c -0 -T 4 --block-size=32KiB small
try zstd -c -q -1 -T4 -B512K large
try "$work/async" small
try "$work/channels" small
try "$work/allocates"
try redis-server --version
exit "$failed"
