//! The runner of `cargo test` can only skip a test that was marked when it was compiled: the cfg
//! `mdyn_uri` says whether the tests that need a server have one.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(mdyn_uri)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=MDYN_URI");
    if std::env::var_os("MDYN_URI").is_some() {
        println!("cargo::rustc-cfg=mdyn_uri");
    }
}
