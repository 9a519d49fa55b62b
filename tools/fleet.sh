#!/usr/bin/env bash
# Checks the Python package in fleet/: format, lints, types, and its tests against a Ray cluster on this machine.
# Needs a built `raddle` (RADDLE, or target/debug/raddle), and about 2 GB of memory for Ray.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools/install.sh --fleet
bin=$PWD/target/fleet/bin
cd fleet
"$bin/ruff" format --check .
"$bin/ruff" check .
"$bin/mypy" src tests
"$bin/python" -m pytest --quiet "$@"
