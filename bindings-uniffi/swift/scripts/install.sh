#!/bin/sh
# Installs the native library on Linux, so that `swift build` finds it through pkg-config.
#
# install.sh LIBRARY [PREFIX], such as install.sh target/release/libtrunkline_uniffi.so
set -eu
library=$1
prefix=${2:-/usr/local}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$(dirname "$0")/../../../Cargo.toml" | head -n 1)

install -D -m 755 "$library" "$prefix/lib/libtrunkline_uniffi.so"
mkdir -p "$prefix/lib/pkgconfig"
cat > "$prefix/lib/pkgconfig/trunkline-uniffi.pc" <<END
prefix=$prefix
libdir=\${prefix}/lib

Name: trunkline-uniffi
Description: The native library of Trunkline for Swift
Version: $version
Libs: -L\${libdir} -ltrunkline_uniffi
END
# Programs find it where the linker of the system looks.
[ "$(id -u)" -ne 0 ] || ldconfig
