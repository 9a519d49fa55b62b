#!/usr/bin/env bash
# Installs what tests need besides a Rust toolchain and gcc: gdb, for replays under it, a Chromium, for the page of
# `raddle report`, and Erlang/OTP without its graphics, for Erlang programs under control. Elixir, for programs in it, is installed
# where that is possible; it is no error if it is not.
#
#   tools/install.sh
#
# Does nothing if they are there. Debian and Ubuntu only, as root or with a sudo that asks for no password; elsewhere it says what is missing and fails.
set -euo pipefail

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
if ! command -v apt-get >/dev/null; then
    [ "${#missing[@]}" -gt 0 ] || exit 0
    echo "error: there is no ${missing[*]}, and no apt-get to install it with" >&2
    exit 1
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
install() {
    [ "$#" -eq 0 ] || "${as_root[@]}" apt-get install -y -q --no-install-recommends "$@"
}
"${as_root[@]}" apt-get update -q
if ! install "${missing[@]}" "${wanted[@]}"; then
    install "${missing[@]}"
    echo "warning: ${wanted[*]} cannot be installed" >&2
fi
