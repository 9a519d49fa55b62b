#!/usr/bin/env bash
# Plants each fault of tools/faults in a worktree of HEAD, runs the test that must catch it, and expects that test
# to fail. The exit status is 1 if a fault is not caught by its test, does not apply or does not compile.
#
#   tools/faults.sh                 all faults (about 8 s each)
#   tools/faults.sh 'pct-*' upo-*   those whose names match
#   tools/faults.sh --table         print docs/design/faults.md
#
# A fault is a patch whose first lines describe it ("Fault: ..") and name its test ("Test: <arguments of cargo
# test>"). Not part of CI. FAULTS_TARGET is the target directory, target/faults if unset; the worktree is `tree` in it
# and stays there, so that the next call compiles only what changed.
set -euo pipefail
cd "$(dirname "$0")/.."
field() { sed -n "s/^$1: //p" "$2" | head -1; }

if [ "${1-}" = --table ]; then
    printf '%s\n' '# Planted faults' '' \
        'Each row is a patch in `tools/faults`. `tools/faults.sh` applies it and expects the test to fail; all of them have failed.' \
        '`tools/faults.sh --table` prints this table.' '' \
        '| fault | what is wrong | caught by `cargo test` |' '|---|---|---|'
    for patch in tools/faults/*.patch; do
        printf '| %s | %s | `%s` |\n' "$(basename "$patch" .patch)" "$(field Fault "$patch")" "$(field Test "$patch")"
    done
    exit
fi

root=$PWD
export CARGO_TARGET_DIR=${FAULTS_TARGET:-$root/target/faults}
export CARGO_INCREMENTAL=1 CARGO_PROFILE_DEV_DEBUG=0
tree=$CARGO_TARGET_DIR/tree
git worktree prune
[ -e "$tree/.git" ] || git worktree add --quiet --detach "$tree" HEAD
git -C "$tree" checkout --quiet --force --detach "$(git rev-parse HEAD)"
cd "$tree"
survived=0
count=0
[ $# -gt 0 ] || set -- '*'
for pattern; do
    for patch in "$root"/tools/faults/$pattern.patch; do
        name=$(basename "$patch" .patch)
        read -ra arguments <<<"$(field Test "$patch")"
        count=$((count + 1))
        if ! git apply "$patch"; then
            echo "BROKEN    $name: it does not apply"
            survived=$((survived + 1))
        elif ! cargo test --quiet --no-run "${arguments[@]}" >"$CARGO_TARGET_DIR.log" 2>&1; then
            echo "BROKEN    $name: it does not compile, see $CARGO_TARGET_DIR.log"
            cp "$CARGO_TARGET_DIR.log" "$CARGO_TARGET_DIR.$name.log"
            survived=$((survived + 1))
        elif output=$(timeout 120 cargo test --quiet "${arguments[@]}" 2>&1); then
            echo "SURVIVED  $name: $(grep -c '^test result: ok' <<<"$output") test runs passed"
            survived=$((survived + 1))
        elif grep -q '^test result: FAILED\|^error: test failed' <<<"$output"; then
            echo "caught    $name"
        else
            echo "HUNG      $name: no result in 120 s"
            survived=$((survived + 1))
        fi
        git checkout --quiet -- .
    done
done
echo "$((count - survived)) of $count faults caught"
[ "$survived" = 0 ]
