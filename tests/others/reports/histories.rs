//! The histories of drivers on which the documentation rests.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{root, run};

/// Records and runs, without histograms.
#[test]
fn stored_histories_stay_readable_and_are_described() {
    let folder = root().join("docs/histories");
    let page = fs::read_to_string(folder.join("README.md")).expect("their page");
    let entries = fs::read_dir(&folder).expect("docs/histories").map(|it| it.expect("an entry"));
    let stored: Vec<PathBuf> =
        entries.map(|it| it.path()).filter(|it| it.join("experiment.json").exists()).collect();
    assert!(!stored.is_empty());
    for path in stored {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(page.contains(&format!("({name})")), "{name} has no link in README.md");
        let output = run([Path::new("report"), &path, Path::new("--format"), Path::new("json")]);
        let analysis: Value = serde_json::from_slice(&output.stdout).expect("an analysis");
        let since = analysis["since"].as_array().expect("series");
        assert!(!since.is_empty(), "{name} has a line of versions");
        for row in since {
            for change in row["changes"].as_array().expect("changes") {
                let version = change["after"].as_str().expect("a version");
                let told = row["metric"] != "throughput" || page.contains(version);
                assert!(told, "{name}: README.md says nothing of {version}");
            }
        }
        let warnings = analysis["warnings"].as_array().expect("warnings");
        let told = "the folder has no histograms (hlog)";
        let tells = |it: &Value| it.as_str().is_some_and(|it| it.starts_with(told));
        assert!(warnings.iter().any(tells), "{warnings:?}");
    }
}
