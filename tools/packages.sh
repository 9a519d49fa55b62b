#!/usr/bin/env bash
# Builds the wheel and the Debian package from one release build, installs each into a clean place, and lets it find a bug there.
#
#   tools/packages.sh [FOLDER]         packages are left in FOLDER, target/packages if not given
#
# Needs python3 with venv, dpkg-deb and gcc, and a network for maturin (PyPI) and cargo-deb (the crate registry), unless they are in
# PATH. Installs nothing outside of FOLDER. PROFILE=quick builds without optimization and without the part for Erlang, to try the script.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
out=${1:-target/packages}
profile=${PROFILE:-release}
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$out"
out=$(cd "$out" && pwd)
most=$((20 * 1000 * 1000))

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Everything is built once; both packages take these programs.
cargo build --locked --profile "$profile" -p raddle-cli
binary=$target/$profile/raddle
size=$(stat -c %s "$binary")
printf 'raddle: %d bytes\n' "$size"
[ "$profile" != release ] || [ "$size" -lt "$most" ] || fail "raddle has $size bytes, and $most are allowed"

# The program with the bug, and a home in which nothing of this machine is found.
clean=$(mktemp -d)
trap 'rm -rf "$clean"' EXIT
cp examples/account/account.c "$clean/"

# Finds the bug with the `raddle` of a folder, replays it and writes a page; the user has no Rust.
try() {
    local folder=$1 home
    home=$(mktemp -d -p "$clean")
    (
        cd "$home"
        export HOME=$home PATH=$folder:/usr/bin:/bin
        unset RADDLE_CACHE RADDLE_KEY XDG_DATA_HOME XDG_CACHE_HOME
        [ "$(command -v raddle)" = "$folder/raddle" ] || fail "raddle is not the one in $folder"
        raddle --version
        raddle doctor c
        status=0
        raddle run --record bug.json "$clean/account.c" >found || status=$?
        [ "$status" -eq 1 ] || fail "raddle run ends with status $status"
        status=0
        raddle replay bug.json >/dev/null || status=$?
        [ "$status" -eq 1 ] || fail "raddle replay ends with status $status"
        raddle report bug.json -o bug.html
        grep -q '<!doctype html>' bug.html || fail "raddle report has written no page"
    )
}

wheel() {
    local maturin=maturin
    if ! command -v maturin >/dev/null; then
        python3 -m venv "$out/maturin"
        "$out/maturin/bin/pip" install -q 'maturin>=1.9,<2'
        maturin=$out/maturin/bin/maturin
    fi
    rm -f "$out"/raddle-*.whl
    "$maturin" build --profile "$profile" --out "$out" --target-dir "$target"
    rm -rf "$clean/venv"
    python3 -m venv "$clean/venv"
    "$clean/venv/bin/pip" install -q --no-index "$out"/raddle-*.whl
    try "$clean/venv/bin"
    printf 'wheel: %s\n' "$(stat -c '%n, %s bytes' "$out"/raddle-*.whl)"
}

debian() {
    if ! cargo deb --version >/dev/null 2>&1; then
        # Without optimization: it runs once.
        cargo install --debug --locked --root "$out/tools" --target-dir "$target/tools" cargo-deb
        export PATH=$out/tools/bin:$PATH
    fi
    # What the package has besides the programs.
    rm -rf "$root/target/deb"
    mkdir -p "$root/target/deb"
    "$binary" man "$root/target/deb/man"
    "$binary" completions bash >"$root/target/deb/raddle.bash"
    "$binary" completions zsh >"$root/target/deb/_raddle"
    "$binary" completions fish >"$root/target/deb/raddle.fish"
    rm -f "$out"/raddle_*.deb
    cargo deb --no-build --no-strip --profile "$profile" -p raddle-cli --output "$out/"
    rm -rf "$clean/root"
    dpkg-deb -x "$out"/raddle_*.deb "$clean/root"
    for file in usr/share/man/man1/raddle-run.1.gz usr/share/bash-completion/completions/raddle usr/bin/cargo-raddle; do
        [ -f "$clean/root/$file" ] || fail "the Debian package has no $file"
    done
    try "$clean/root/usr/bin"
    printf 'deb: %s\n' "$(stat -c '%n, %s bytes' "$out"/raddle_*.deb)"
}

wheel
debian
