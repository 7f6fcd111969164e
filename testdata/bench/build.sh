#!/bin/sh
# Builds programs.wasm from programs.c with clang 19 and lld 19
# (Debian: apt-get install clang-19 lld-19) and writes its digest.
set -eu
cd "$(dirname "$0")"
clang-19 --target=wasm32 -O2 -nostdlib -Wl,--no-entry -Wl,--strip-all -o programs.wasm programs.c
sha256sum programs.wasm > SHA256SUMS
