#!/usr/bin/env bash
# Tests stores in PostgreSQL: installs Debian's server if it is missing, starts a private one in a temporary folder, without network,
# as a user without privileges, runs the tests of stores and campaigns on it, and restarts it in the middle. With arguments, runs that
# command instead, with RADDLE_POSTGRES (the URL) and RADDLE_POSTGRES_RESTART (a command that restarts the server).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

find_server() {
    bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
    [ -n "$bin" ] && [ -x "$bin/initdb" ]
}
if ! find_server; then
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
    echo "installing with apt-get: postgresql" >&2
    "${as_root[@]}" apt-get install -y -q --no-install-recommends postgresql >&2
    find_server
fi

# The server refuses to run as root.
as_user=()
[ "$(id -u)" -ne 0 ] || as_user=(runuser -u postgres --)
folder=$("${as_user[@]}" mktemp -d /tmp/raddle-postgres.XXXXXX)
server() { (cd / && "${as_user[@]}" "$bin/pg_ctl" -s -w -D "$folder/data" -l "$folder/log" "$@"); }
trap 'server -m immediate stop || true; rm -rf "$folder"' EXIT
# No other user can enter the folder with the socket.
(cd / && "${as_user[@]}" "$bin/initdb" --username=raddle --auth=trust --no-sync --pgdata="$folder/data" >"$folder/initdb" 2>&1) ||
    { cat "$folder/initdb" >&2; exit 1; }
echo "listen_addresses = ''
unix_socket_directories = '$folder'
fsync = off" | "${as_user[@]}" tee -a "$folder/data/postgresql.conf" >/dev/null
server start

export RADDLE_POSTGRES="postgres://raddle@${folder//\//%2F}/postgres"
export RADDLE_POSTGRES_RESTART="cd / && ${as_user[*]} $bin/pg_ctl -s -w -m immediate -D $folder/data -l $folder/log restart"
if [ $# -gt 0 ]; then
    "$@"
    exit
fi
cargo test -q -p raddle-store --features postgres --test store
