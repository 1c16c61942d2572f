#!/bin/sh
# Commits the package to the repository in FOLDER, and tags it: SwiftPM finds a package only at the
# root of a repository. On Apple's platforms, it downloads the XCFramework of the release VERSION,
# whose archive has the SHA-256 CHECKSUM.
#
# repository.sh FOLDER VERSION CHECKSUM
set -eu
folder=$(cd "$1" && pwd)
version=$2
checksum=$3
project=https://github.com/trunkline-mcp/trunkline
archive=$project/releases/download/v$version/TrunklineFFI.xcframework.zip
cd "$(dirname "$0")/.."

git -C "$folder" rm -r --quiet --ignore-unmatch .
git ls-files -z Sources Tests | tar -c --null -T - | tar -x -C "$folder"
cp ../../LICENSE ../../LICENSE-APACHE ../../LICENSE-MIT "$folder"
# The license file of the crates exists when a release is built.
[ ! -e ../LICENSE-THIRD-PARTY ] || cp ../LICENSE-THIRD-PARTY "$folder"
sed "s|path: \"TrunklineFFI.xcframework\"|url: \"$archive\", checksum: \"$checksum\"|" Package.swift > "$folder/Package.swift"
grep -q "$checksum" "$folder/Package.swift"
# Links out of the package.
sed "s|](../../|]($project/blob/v$version/|g" README.md > "$folder/README.md"

git -C "$folder" add --all
git -C "$folder" -c user.name=Trunkline -c user.email=release@trunkline.dev commit --quiet --message "Version $version"
git -C "$folder" tag "$version"
