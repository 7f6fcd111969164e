#!/bin/sh
# Builds the tools and plugins of each language and lists their digests. The
# compilers are exactly these; other versions make other bytes. On Debian 12:
#
#   C                apt-get install clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32
#   Rust 1.96        apt-get install rustc-web cargo-web rust-web-src lld-19 (its
#                    library has to be built too: two minutes, once)
#   Zig 0.14.1       pip install ziglang==0.14.1
#   AssemblyScript   npm install --ignore-scripts assemblyscript@0.28.20
#
# CARGO, RUSTC, RUST_SRC, ZIG and ASC say where those are that are not found.
# With names of languages only these are built.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# need NAME VERSION COMMAND...: stops unless COMMAND prints that version.
need() {
	name=$1 version=$2
	shift 2
	got=$("$@" 2>/dev/null) || got=nothing
	case "$got" in
	*"$version"*) ;;
	*)
		echo "build.sh needs $name ($version), found: $got; the head of this file says how to get it" >&2
		exit 1
		;;
	esac
}

c() {
	need clang "version 19.1.7" clang-19 --version
	need wasm-ld "LLD 19.1.7" wasm-ld-19 --version
	# Linked without -O, with which clang would run whatever wasm-opt there is.
	for of in tool:c plugin:c-extism; do
		for f in "${of%:*}" count json; do
			clang-19 --target=wasm32-wasi -std=c17 -Wall -Wextra -Werror -O2 -msimd128 -mbulk-memory -c -o "$work/$f.o" "c/$f.c"
		done
		clang-19 --target=wasm32-wasi -mexec-model=reactor -Wl,--strip-all -o "${of#*:}.wasm" "$work/${of%:*}.o" "$work/count.o" "$work/json.o"
	done
}

rust() {
	cargo=${CARGO:-/usr/bin/cargo} rustc=${RUSTC:-/usr/bin/rustc}
	src=${RUST_SRC:-/usr/src/rustc-1.96.0}
	need rustc "rustc 1.96.0" "$rustc" --version
	need cargo "cargo 1.96.0" "$cargo" --version
	need wasm-ld "LLD 19.1.7" wasm-ld-19 --version
	need rust-web-src Cargo.lock ls "$src/library"
	for of in :rust plugin:rust-extism; do
		(
			cd rust
			CARGO_TARGET_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/wagent/rust RUSTC=$rustc RUSTC_BOOTSTRAP=1 \
				RUSTFLAGS="-C target-feature=+simd128 -Z location-detail=none" \
				"$cargo" build --quiet --release --locked --offline --target wasm32-unknown-unknown \
				-Z build-std=std,panic_abort -Z build-std-features= \
				--config 'source.crates-io.replace-with="std"' --config "source.std.directory=\"$src/library/vendor\"" \
				--config 'target.wasm32-unknown-unknown.linker="wasm-ld-19"' --features "${of%:*}"
		)
		cp "${XDG_CACHE_HOME:-$HOME/.cache}/wagent/rust/wasm32-unknown-unknown/release/tool.wasm" "${of#*:}.wasm"
	done
}

assemblyscript() {
	asc=${ASC:-asc}
	need asc "Version 0.28.20" "$asc" --version
	for of in tool:assemblyscript plugin:assemblyscript-extism; do
		"$asc" "assemblyscript/${of%:*}.ts" -O2 --noAssert --enable simd --runtime incremental --use abort= -o "${of#*:}.wasm"
	done
}

zig() {
	zig=${ZIG:-python3 -m ziglang}
	need ziglang 0.14.1 $zig version
	$zig build-exe zig/tool.zig -fno-entry -rdynamic -target wasm32-freestanding -O ReleaseSmall -fstrip \
		-mcpu=mvp+bulk_memory+simd128+sign_ext+nontrapping_fptoint+mutable_globals \
		--cache-dir "$work/zig" --global-cache-dir "$work/zig" -femit-bin="$work/zig.wasm"
	cp "$work/zig.wasm" zig.wasm
}

[ $# -gt 0 ] || set -- c rust assemblyscript zig
for language; do "$language"; done
chmod 644 *.wasm
sha256sum *.wasm > SHA256SUMS
