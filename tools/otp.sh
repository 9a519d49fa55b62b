#!/usr/bin/env bash
# Runs the tests of erlang/raddle under the Erlang/OTP of another release of Debian, in a folder that debootstrap fills.
#
#   tools/otp.sh FOLDER [SUITE]
#
# SUITE is trixie if not given, which has OTP 27. FOLDER is filled unless it has an erl already, so a second call is fast. Needs
# root, debootstrap, and cargo for the native library, which is built here and taken along.
set -euo pipefail

cd "$(dirname "$0")/.."
folder=$(realpath -m "${1:?usage: tools/otp.sh FOLDER [SUITE]}")
suite=${2:-trixie}

if [ ! -x "$folder/usr/bin/erl" ]; then
    debootstrap --variant=minbase --include=make,erlang-base,erlang-crypto,erlang-dev,erlang-eunit,erlang-mnesia,erlang-syntax-tools,erlang-tools "$suite" "$folder"
fi
make -s -C erlang/raddle native PROFILE="${PROFILE:-release}"

inside=$folder/root/raddle
rm -rf "$inside"
mkdir -p "$inside/test"
cp -r erlang/raddle/Makefile erlang/raddle/src erlang/raddle/priv "$inside"
cp erlang/raddle/test/*.* "$inside/test"

if ! mountpoint -q "$folder/proc"; then
    mount -t proc proc "$folder/proc"
    trap 'umount "$folder/proc"' EXIT
fi
# Without the tests of Elixir, which is not there.
chroot "$folder" make -s -C /root/raddle run-tests SUITES='raddle_tests, raddle_use_tests, raddle_nodes_tests, raddle_disk_tests, raddle_allow_tests'
