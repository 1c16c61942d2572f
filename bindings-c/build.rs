//! Gives the shared library its SONAME: until 1.0 the full version, because any release may change
//! the interface. `dlclose` leaves it where it is, because its threads go on.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets CARGO_PKG_VERSION");
    match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos" | "ios") => {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libtrunkline.{version}.dylib");
        }
        Ok("windows") => {}
        _ => println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtrunkline.so.{version},-z,nodelete"),
    }
}
