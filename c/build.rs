//! Sets the shared library's soname to its major version.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
    if matches!(target.as_str(), "linux" | "freebsd" | "android") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libwireline.so.{major}");
    }
}
