//! Embeds the adapters of the repository: `EMBEDDED` has the bytes of each file by its path.

#[path = "src/sources.rs"]
mod sources;

use std::fmt::Write as _;
use std::path::Path;

fn main() {
    let adapters = Path::new("../../adapters").canonicalize().expect("the adapters' folder");
    println!("cargo::rerun-if-changed={}", adapters.display());
    let mut text = "static EMBEDDED: &[(&str, &[u8])] = &[\n".to_owned();
    for folder in std::fs::read_dir(&adapters).expect("a folder").flatten() {
        let adapter = folder.file_name().to_string_lossy().into_owned();
        for (name, path) in sources::files(&folder.path()).expect("files that can be read") {
            let (name, path) = (format!("{adapter}/{name}"), path.to_string_lossy());
            let _ = writeln!(text, "({name:?}, include_bytes!({path:?})),");
        }
    }
    text += "];\n";
    let out = std::env::var("OUT_DIR").expect("cargo names it");
    std::fs::write(Path::new(&out).join("embedded.rs"), text).expect("a file");
}
