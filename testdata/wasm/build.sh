#!/bin/sh
# Builds every .wat into a .wasm with wabt's wat2wasm and lists the digests.
set -eu
cd "$(dirname "$0")"
for f in *.wat; do wat2wasm "$f" -o "${f%.wat}.wasm"; done
sha256sum *.wasm > SHA256SUMS
