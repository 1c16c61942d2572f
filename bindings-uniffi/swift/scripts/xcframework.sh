#!/bin/sh
# Builds TrunklineFFI.xcframework, the native library for macOS and iOS. Needs Xcode and rustup.
set -eu
cd "$(dirname "$0")/.."
root=$(cd ../.. && pwd)
out=$root/target/xcframework
rm -rf "$out" TrunklineFFI.xcframework
# In a folder with the name of the module: Xcode copies the headers of all packages of a program into
# one folder, where only one file can have the name that a module map must have.
headers=$out/headers/TrunklineFFI
mkdir -p "$headers"
cp Sources/TrunklineFFI/generated/TrunklineFFI.h "$headers/"
# A static library is linked by its place in the framework, and not by its name.
grep -v 'link "trunkline_uniffi"' Sources/TrunklineFFI/generated/module.modulemap > "$headers/module.modulemap"

# build TARGET [OPTION]...
build() {
  target=$1
  shift
  rustup target add "$target"
  cargo rustc --manifest-path "$root/Cargo.toml" --package trunkline-uniffi --lib --release --locked \
    --target "$target" --target-dir "$root/target" --crate-type staticlib "$@"
}

# unite NAME TARGET TARGET: one library for both processors
unite() {
  mkdir -p "$out/$1"
  lipo -create -output "$out/$1/libtrunkline_uniffi.a" \
    "$root/target/$2/release/libtrunkline_uniffi.a" "$root/target/$3/release/libtrunkline_uniffi.a"
}

export MACOSX_DEPLOYMENT_TARGET=13.0 IPHONEOS_DEPLOYMENT_TARGET=16.0
build aarch64-apple-darwin
build x86_64-apple-darwin
# Programs on iOS cannot start others.
for target in aarch64-apple-ios aarch64-apple-ios-sim x86_64-apple-ios; do
  build "$target" --no-default-features
done
unite macos aarch64-apple-darwin x86_64-apple-darwin
unite simulator aarch64-apple-ios-sim x86_64-apple-ios
xcodebuild -create-xcframework -output TrunklineFFI.xcframework \
  -library "$out/macos/libtrunkline_uniffi.a" -headers "$out/headers" \
  -library "$out/simulator/libtrunkline_uniffi.a" -headers "$out/headers" \
  -library "$root/target/aarch64-apple-ios/release/libtrunkline_uniffi.a" -headers "$out/headers"
