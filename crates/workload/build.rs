//! Embeds the workloads of the repository: `BUILTINS` has the text of each file in the folders of
//! `workloads/`, which are its groups. Those of `check` belong to `mongodyno check`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const GROUPS: [&str; 3] = ["applications", "studies", "instruments"];

fn main() {
    let folder = Path::new("../../workloads").canonicalize().expect("the workloads' folder");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<(&str, PathBuf)> = Vec::new();
    for group in GROUPS {
        let entries = std::fs::read_dir(folder.join(group)).expect("a folder").flatten();
        let is_yaml = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "yaml");
        let paths = entries.map(|entry| entry.path()).filter(is_yaml);
        files.extend(paths.map(|path| (group, path)));
    }
    files.sort_by_key(|(_, path)| path.file_stem().map(std::ffi::OsStr::to_os_string));
    let mut text = "pub const BUILTINS: &[Builtin] = &[\n".to_owned();
    for (group, path) in files {
        let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        let path = path.to_string_lossy();
        let _ = writeln!(
            text,
            "Builtin {{ name: {name:?}, group: {group:?}, text: include_str!({path:?}) }},"
        );
    }
    let _ = writeln!(text, "];\n\n/// In the order of a list.");
    let _ = writeln!(text, "pub const GROUPS: &[&str] = &{GROUPS:?};");
    let out = std::env::var("OUT_DIR").expect("cargo names it");
    std::fs::write(Path::new(&out).join("builtins.rs"), text).expect("a file");
}
