//! Prints the surface as JSON, for `cargo xtask generate`.

fn main() {
    println!("{:#}", trunkline::bridge::surface::surface());
}
