#!/usr/bin/env bash
# Mutation testing of the crates with guarantees: changes one expression after the other and runs the crate's
# tests. A surviving mutant is code that no test checks.
#
#   tools/mutants.sh                                        raddle-strategies and raddle-engine (hours)
#   tools/mutants.sh crates/raddle-strategies/src/rpro.rs   the given files
#
# Installs cargo-mutants if it is missing. Results are in target/mutants.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo mutants --version >/dev/null 2>&1 || cargo install --locked cargo-mutants
mkdir -p target
filters=()
for file; do filters+=(--file "$file"); done
exec cargo mutants --package raddle-strategies --package raddle-engine --test-workspace=false --no-shuffle \
    --output target/mutants --timeout 120 "${filters[@]}"
