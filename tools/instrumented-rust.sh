# Sourced by scripts that put Rust tests under control: how they are compiled, and which files come out.
# shellcheck shell=bash

# The stable compiler can call ThreadSanitizer's hooks if LLVM's passes are named. The standard library is not compiled anew, so
# it has no hooks; its waits are seen all the same, as calls of the system. Frame pointers lead from a lock to the user's line.
INSTRUMENTED="-Cpasses=forceattrs -Cpasses=tsan-module -Cpasses=tsan -Cllvm-args=-force-attribute=sanitize_thread \
-Cllvm-args=-tsan-instrument-func-entry-exit=0 -Cllvm-args=-tsan-instrument-read-before-write=1 \
-Clink-arg=-Wl,--unresolved-symbols=ignore-all -Cforce-frame-pointers=yes"

RADDLE_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Compiles the tests of a package with the arguments of `cargo test`, and prints the files that hold them.
test_programs() {
    # With a target of their own, build scripts and macros are compiled without the hooks.
    RUSTFLAGS="--cap-lints allow $INSTRUMENTED" cargo test --quiet --no-run --target x86_64-unknown-linux-gnu \
        --message-format=json "$@" |
        jq -r 'select(.reason == "compiler-artifact" and .profile.test and .executable) | .executable'
}

# The names of the tests in a file, which needs the runtime to be started at all.
test_names() {
    local libraries=("$RADDLE_ROOT"/target/release/build/raddle-cli-*/out/native/release/libraddle_native.so)
    LD_PRELOAD=${libraries[0]} "$1" --list --format terse 2>/dev/null | sed -n 's/: test$//p'
}
