#!/usr/bin/env bash
# Installs what tests need besides a Rust toolchain and gcc: a Chromium, for the page of `raddle report`.
#
#   tools/install.sh
#
# Does nothing if it is there. Debian and Ubuntu only, as root or with sudo; elsewhere it says what is missing and fails.
set -euo pipefail

for name in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" >/dev/null; then
        exit 0
    fi
done
if ! command -v apt-get >/dev/null; then
    echo "error: no Chromium, and no apt-get to install it with" >&2
    exit 1
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -q
"${as_root[@]}" apt-get install -y -q --no-install-recommends chromium
