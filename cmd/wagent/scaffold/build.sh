#!/bin/sh
# Builds the example tool of `wagent init` again (Debian: clang-19 and lld-19).
set -eu
cd "$(dirname "$0")/tools"
"${CLANG:-clang-19}" --target=wasm32 -O2 -nostdlib -Wl,--no-entry -Wl,--export=_start \
	-Wl,--strip-all -o word_count.wasm word_count.c
chmod 644 word_count.wasm
sha256sum word_count.wasm >SHA256SUMS
