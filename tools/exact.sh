#!/usr/bin/env bash
# Compares strategies with their definitions, on generated programs.
#
#   tools/exact.sh [PROGRAMS [SEED [FIRST]]]      1000 programs of seed 1, from number 0, by default
#
# `tools/exact` generates programs of the lab's language and enumerates their schedules and partial orders. It
# shares no code with Raddle. The comparison covers DFS (number of schedules, of each partial order too), DPOR
# (partial orders, each once), "no schedule is left" (true after all runs, false with one missing), the exact
# probabilities of random walk, PCT, BasicPOS and POS (equal as fractions, for every partial order) and 3,000
# runs of each (chi-square within six standard deviations), the orders that RAPOS can reach, and UPO's
# estimate (equal) and uniformity (chi-square) once it has seen everything.
#
# Prints a line for each program with a mismatch, which is kept in target/exact, then a table. The exit status
# is 1 if there is one. About ten minutes for 1,000 programs. The numbers depend only on the seed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cargo build --quiet --package raddle-cli --bin raddle
cargo build --quiet --package exact
target=${CARGO_TARGET_DIR:-target}
exec "$target/debug/exact" --raddle "$target/debug/raddle" --folder "$target/exact" \
    --programs "${1:-1000}" --seed "${2:-1}" --first "${3:-0}"
