//! Embeds the workloads of the repository: `BUILTINS` has the text of each file in `workloads/`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    let folder = Path::new("../../workloads").canonicalize().expect("the workloads' folder");
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = std::fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.path());
    let is_yaml = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "yaml");
    let mut files: Vec<PathBuf> = entries.filter(is_yaml).collect();
    files.sort_by_key(|path| path.file_stem().map(std::ffi::OsStr::to_os_string));
    let mut text = "pub const BUILTINS: &[Builtin] = &[\n".to_owned();
    for path in files {
        let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        let path = path.to_string_lossy();
        let _ = writeln!(text, "Builtin {{ name: {name:?}, text: include_str!({path:?}) }},");
    }
    text += "];\n";
    let out = std::env::var("OUT_DIR").expect("cargo names it");
    std::fs::write(Path::new(&out).join("builtins.rs"), text).expect("a file");
}
