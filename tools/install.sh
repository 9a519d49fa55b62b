#!/usr/bin/env bash
# Installs the tools that tests need besides a Rust toolchain and gcc: gdb, for replays under it; Chromium,
# for the page of `raddle report`; and Erlang/OTP without its graphics, for Erlang programs. Elixir is
# installed if possible.
#
#   tools/install.sh           prints what it installs, and installs it
#   tools/install.sh --list    only prints the missing packages
#   tools/install.sh --fleet   creates the virtual environment target/fleet with Ray and the tools to check the package in fleet/
#
# Does nothing if they are installed. Supports only Debian and Ubuntu, as root or with passwordless sudo; on
# other systems it prints what is missing and fails.
set -euo pipefail

if [ "${1:-}" = --fleet ]; then
    cd "$(dirname "${BASH_SOURCE[0]}")/.."
    [ -x target/fleet/bin/python ] || python3 -m venv target/fleet
    target/fleet/bin/pip install --quiet --editable 'fleet[dev]'
    exit 0
fi

missing=()
command -v gdb >/dev/null || missing+=(gdb)
browser=
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" >/dev/null; then
        browser=$name
    fi
done
[ -n "$browser" ] || missing+=(chromium)
command -v erlc >/dev/null || missing+=(erlang-base erlang-dev)
if command -v dpkg >/dev/null; then
    for package in erlang-eunit erlang-mnesia; do
        dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
    done
fi
wanted=()
command -v elixirc >/dev/null || wanted+=(elixir)
[ "$((${#missing[@]} + ${#wanted[@]}))" -gt 0 ] || exit 0
if [ "${1:-}" = --list ]; then
    echo "${missing[@]}" "${wanted[@]}"
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    [ "${#missing[@]}" -gt 0 ] || exit 0
    echo "error: missing ${missing[*]}, and there is no apt-get" >&2
    echo "help: install them with the package manager of this system" >&2
    exit 1
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
install() {
    [ "$#" -eq 0 ] || "${as_root[@]}" apt-get install -y -q --no-install-recommends "$@"
}
echo "installing with apt-get:" "${missing[@]}" "${wanted[@]}" >&2
"${as_root[@]}" apt-get update -q
if ! install "${missing[@]}" "${wanted[@]}"; then
    install "${missing[@]}"
    echo "warning: ${wanted[*]} cannot be installed" >&2
fi
