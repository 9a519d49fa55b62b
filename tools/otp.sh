#!/usr/bin/env bash
# Runs tests of erlang/raddle under the Erlang/OTP of another Debian release, whose packages are unpacked into
# a folder.
#
#   tools/otp.sh [--litmus] FOLDER [SUITE]
#
# SUITE is trixie by default, which has OTP 27 and Elixir 1.18. FOLDER is filled unless it has been already,
# so a second call is fast. With --litmus only the litmus programs run, which takes half a minute of processor
# time in total; without it all tests do. Needs root, for a chroot, and apt-get; the packages come from apt's
# mirror. The native library is built here and copied, unless --litmus finds one.
#
# The exit status is 75 if the other release is not available.
set -euo pipefail

cd "$(dirname "$0")/.."
litmus=
if [ "${1:-}" = --litmus ]; then
    litmus=1
    shift
fi
folder=$(realpath -m "${1:?usage: tools/otp.sh [--litmus] FOLDER [SUITE]}")
suite=${2:-trixie}

unavailable() {
    echo "$*" >&2
    exit 75
}

# Unpacks packages and their dependencies. Runs none of their scripts, and does not change the system.
fill() {
    local apt=$folder/apt mirror
    # Not the mirror for security or updates, which is incomplete.
    mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' 'Component: main' | sed -n '/^[^ ]*-/d; s/^[^ ]* //p' | sort -u | head -n 1)
    [ -n "$mirror" ] || return 1
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$folder/dev" "$folder/proc" "$folder/tmp"
    : >"$apt/status"
    echo "deb [arch=$(dpkg --print-architecture)] $mirror $suite main" >"$apt/sources.list"
    cat >"$apt/conf" <<EOF
Dir::Etc::SourceList "$apt/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$apt/lists";
Dir::State::Status "$apt/status";
Dir::Cache "$apt/cache";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "20";
EOF
    APT_CONFIG=$apt/conf apt-get update -qq -o APT::Update::Error-Mode=any || return 1
    APT_CONFIG=$apt/conf apt-get install -y -qq --download-only "$@" || return 1
    for links in lib lib64 bin sbin; do
        [ -e "$folder/$links" ] || ln -s "usr/$links" "$folder/$links"
    done
    for package in "$apt"/cache/archives/*.deb; do
        dpkg-deb -x "$package" "$folder" || return 1
    done
    rm -rf "$apt"
    # Without it a VM waits forever.
    [ -c "$folder/dev/null" ] || mknod -m 666 "$folder/dev/null" c 1 3 || return 1
    [ -e "$folder/usr/bin/sh" ] || ln -s dash "$folder/usr/bin/sh"
    touch "$folder/filled-for-${litmus:-all}"
}

[ "$(id -u)" -eq 0 ] || unavailable "tools/otp.sh needs root"
command -v apt-get >/dev/null || unavailable "tools/otp.sh needs apt-get"
packages=(erlang-base)
[ -n "$litmus" ] || packages+=(coreutils dash elixir erlang-crypto erlang-dev erlang-eunit erlang-mnesia erlang-syntax-tools erlang-tools grep make sed)
if [ ! -e "$folder/filled-for-${litmus:-all}" ] && [ ! -e "$folder/filled-for-all" ]; then
    fill "${packages[@]}" >&2 || unavailable "the packages of $suite cannot be had"
fi
if [ -z "$litmus" ] || [ ! -e erlang/raddle/priv/libraddle_beam.so ]; then
    make -s -C erlang/raddle native PROFILE="${PROFILE:-release}"
fi

inside=$folder/root/raddle
mkdir -p "$inside/ebin" "$inside/test/ebin"
cp -r erlang/raddle/Makefile erlang/raddle/src erlang/raddle/priv "$inside"
cp erlang/raddle/test/*.* "$inside/test"

if [ -n "$litmus" ]; then
    # There is no shell inside, so the VM does the work of make.
    erts=$(cd "$folder" && echo usr/lib/erlang/erts-*)
    run=$(
        cat <<'EOF'
    Make = fun(Out, Files) -> [{ok, _} = compile:file(File, [debug_info, {outdir, Out}]) || File <- Files] end,
    Make("ebin", filelib:wildcard("src/*.erl")),
    Make("test/ebin", ["test/raddle_litmus.erl" | filelib:wildcard("test/litmus_*.erl")]),
    case raddle_litmus:check(30, 5) of
        [] -> io:format("OTP ~ts: ~w litmus programs are as expected~n", [erlang:system_info(otp_release), length(raddle_litmus:programs())]), halt(0);
        Wrong -> io:format("OTP ~ts: ~tp~n", [erlang:system_info(otp_release), Wrong]), halt(1)
    end.
EOF
    )
    env -i ROOTDIR=/usr/lib/erlang BINDIR="/$erts/bin" EMU=beam PROGNAME=erl HOME=/root RADDLE_CACHE=/root/raddle/test/ebin/cache \
        "$(command -v timeout)" 600 "$(command -v chroot)" "$folder" "/$erts/bin/erlexec" +S 1 -noshell -kernel logger_level none -pa /root/raddle/ebin /root/raddle/test/ebin \
        -eval "ok = file:set_cwd(\"/root/raddle\"), $run"
    exit
fi
if ! mountpoint -q "$folder/proc"; then
    mount -t proc proc "$folder/proc"
    trap 'umount "$folder/proc"' EXIT
fi
env -i PATH=/usr/bin HOME=/root LC_ALL=C.UTF-8 RADDLE_MNESIA=1 RADDLE_ELIXIR=1 \
    "$(command -v chroot)" "$folder" make -s -C /root/raddle run-tests ${SUITES:+SUITES="$SUITES"}
