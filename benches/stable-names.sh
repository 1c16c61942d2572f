#!/bin/sh
# For RUSTC_WRAPPER: symbols depend on the name and the version of their crate only. With cargo, they
# also depend on the features of the procedural macros that a crate uses, which differ between our
# packages, and rustc finds functions in a profile by their symbols.
rustc=$1
shift
for argument; do
  shift
  case $argument in
    metadata=*) argument=metadata=$CARGO_PKG_NAME-$CARGO_PKG_VERSION ;;
  esac
  set -- "$@" "$argument"
done
exec "$rustc" "$@"
