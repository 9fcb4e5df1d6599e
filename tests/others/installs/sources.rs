//! Which driver is really measured: one built from this machine, or out of a user's folder.

use std::fs;
use std::path::PathBuf;

use crate::fake_support::{Lab, QUICK, code, stderr, stdout};
use crate::support::said;
use adapter::manifest::discover;

/// A Go module behind a `replace`, a package by `file:`.
#[test]
fn what_a_driver_is_built_from_is_built_again_when_it_changes() {
    let lab = Lab::new();
    let source = lab.path("source").display().to_string();
    fs::create_dir_all(lab.path("source/.git")).expect("a folder");
    lab.write("source/driver", "first");
    lab.fake("own", &[QUICK, "op_ns=100000"]);
    let manifest =
        format!("local = '=> *(/\\S+)'\ninstall = [['sh', '-c', 'cp {source}/driver built']]\n");
    lab.rewrite("own", |text| text.to_owned() + &manifest);
    lab.write("adapters/own/deps", &format!("replace driver => {source}\n"));
    let installed = || {
        let output = lab.run(["adapters", "install", "own"]);
        assert_eq!(code(&output), 0, "{}", said(&output));
        let built = format!("own@1.0.0: built from {source} as it is now, not from the registry\n");
        assert!(stderr(&output).contains(&built), "{}", said(&output));
        PathBuf::from(stdout(&output).trim())
    };
    let built = |folder: &PathBuf| fs::read_to_string(folder.join("built")).expect("a file");
    let first = installed();
    lab.write("source/.git/HEAD", "a commit changes nothing that is built");
    assert_eq!((installed(), built(&first).as_str()), (first.clone(), "first"));
    lab.write("source/driver", "other");
    let second = installed();
    assert_eq!(built(&second), "other");
    let rows = stdout(&lab.run(["environments", "list"]));
    assert!(rows.contains("outdated") && rows.contains("current"), "{rows}");
    let output = lab.experiment(&["own"], &["--rounds", "1"]);
    let lock = lab.record()["arms"][0]["lock_sha256"].clone();
    assert!(lock.is_string(), "whoever resumes has to have the same: {}", said(&output));
    fs::remove_dir_all(lab.path("source")).expect("it is there");
    let output = lab.run(["adapters", "install", "own"]);
    assert_eq!(code(&output), 5, "{}", said(&output));
}

/// The builds of the C# driver 1.8 and 1.9 from its public source report 0.0.0.
#[test]
fn the_versions_of_a_users_folder_are_the_names_of_its_folders() {
    let lab = Lab::new();
    lab.fake("built", &[QUICK, "op_ns=100000", "version=0.0.0"]);
    let option = "options.from = 'where'\n[[generations]]\nversions = '.'\n\
                  options.from = { default = 'folder', match = '.', wants = 'folder' }\n";
    lab.rewrite("built", |text| text.to_owned() + option);
    let versions = ["1.8.0", "1.8.1", "1.9.0", "1.9.1"];
    let drivers = versions.map(|version| format!("built@{version}"));
    let output = lab.experiment(&drivers.each_ref().map(String::as_str), &["--rounds", "1"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let record = lab.record();
    let reports = "built@1.8.0: its driver reports version \"0.0.0\"; the version is its folder's";
    assert!(stderr(&output).contains(reports), "{}", said(&output));
    assert_eq!(record["arms"][0]["reports"], "0.0.0", "{record:#}");
    let arms = record["arms"].as_array().expect("arms").iter();
    let measured = arms.filter(|arm| arm["is_aa"] == false).map(|arm| arm["version"].clone());
    assert_eq!(measured.collect::<Vec<_>>(), versions, "{record:#}");
}

/// Assemblies of 1.9.2 in the folder of another version.
#[test]
fn a_folder_whose_name_contradicts_its_driver_is_lost() {
    let lab = Lab::new();
    let option = "options.from = 'where'\n[[generations]]\nversions = '.'\n\
                  options.from = { default = 'folder', match = '.', wants = 'folder' }\n";
    for (name, reported) in [("right", "1.9.2.235"), ("wrong", "1.9.2")] {
        lab.fake(name, &[QUICK, "op_ns=100000", &format!("version={reported}")]);
        lab.rewrite(name, |text| text.to_owned() + option);
    }
    let output = lab.experiment(&["right@1.9.2", "wrong@1.7.0.4714"], &["--rounds", "1"]);
    let expected = "wrong@1.7.0.4714 is lost in this round: its driver reports version 1.9.2, and \
                    1.7.0.4714 is the name of its folder";
    assert!(stderr(&output).contains(expected), "{}", said(&output));
    let lost = lab.runs().iter().filter(|run| !run["failed"].is_null()).count();
    assert_eq!(lost, 1, "{}", said(&output));
}

/// The forms in which the tools of each ecosystem name a driver on this machine.
#[test]
fn manifests_know_the_paths_that_a_driver_is_built_from() {
    let manifests = discover(None).expect("manifests");
    for (name, text, path) in [
        ("go", "replace go.mongodb.org/mongo-driver/v2 => /src/driver\n", "/src/driver"),
        ("go", "\tgo.mongodb.org/mongo-driver v1.17.0 => /src/driver\n)", "/src/driver"),
        ("go", "-replace=go.mongodb.org/mongo-driver=/src/driver", "/src/driver"),
        ("node", r#"  "mongodb": "file:/src/driver","#, "/src/driver"),
        ("node", "file:///src/mongodb-7.9.0.tgz", "/src/mongodb-7.9.0.tgz"),
        ("python", "pymongo @ file:///src/driver\n", "/src/driver"),
        ("python", "-e /src/driver\n", "/src/driver"),
        ("python", "/src/pymongo-4.20.0-cp311.whl", "/src/pymongo-4.20.0-cp311.whl"),
        ("rust", r#"mongodb = { path = "/src/driver" }"#, "/src/driver"),
        ("c", "git clone --depth 1 --branch 1.30.0 /src/driver source", "/src/driver"),
        ("c", "-DFETCHCONTENT_SOURCE_DIR_DRIVER=x -Dlib_DIR=/src/driver", "/src/driver"),
        ("cpp", "git clone --depth 1 file:///src/driver source", "/src/driver"),
        ("java", "<url>file:///src/repository</url>", "/src/repository"),
        ("java", "<systemPath>/src/driver.jar</systemPath>", "/src/driver.jar"),
        ("perl", "/src/MongoDB-v2.2.2.tar.gz", "/src/MongoDB-v2.2.2.tar.gz"),
        ("php", r#"{"type": "path", "url": "/src/driver"}"#, "/src/driver"),
        ("php", "pecl install file:///src/mongodb-1.15.0.tgz", "/src/mongodb-1.15.0.tgz"),
        ("ruby", "/src/mongo-2.20.0.gem", "/src/mongo-2.20.0.gem"),
    ] {
        let manifest = manifests.iter().find(|it| it.name == name).expect(name);
        let pattern = manifest.local.as_ref().expect("a pattern");
        let pattern = regex_lite::Regex::new(pattern).expect("a pattern");
        let found = pattern.captures(text).and_then(|it| it.iter().skip(1).flatten().next());
        assert_eq!(found.map(|it| it.as_str()), Some(path), "{name}: {text}");
    }
    for manifest in &manifests {
        let Some(pattern) = &manifest.local else { continue };
        let pattern = regex_lite::Regex::new(pattern).expect("a pattern");
        for (file, bytes) in manifest.files().expect("files") {
            let text = String::from_utf8_lossy(&bytes);
            let is_built = !manifest.is_beside(&file);
            assert!(!is_built || !pattern.is_match(&text), "{}: {file}", manifest.name);
        }
    }
}

/// The C# adapter's probe, without Mono and .NET: it is the first that is asked.
#[test]
fn a_folder_of_csharp_drivers_is_looked_at_before_anything_is_built() {
    let lab = Lab::new();
    let ask = |folder: &str| {
        let mut command = lab.command(["adapters", "install", "csharp@1.9.2/from=folder"]);
        let output = command.env("CSHARP_DRIVERS", folder).output().expect("it runs");
        assert_eq!(code(&output), 5, "{}", said(&output));
        stderr(&output).lines().find(|it| it.starts_with("error: ")).expect("one").to_owned()
    };
    let needs = "error: csharp needs the driver's assemblies in $CSHARP_DRIVERS/VERSION (found: ";
    assert_eq!(ask(""), format!("{needs}CSHARP_DRIVERS is not set)"));
    assert_eq!(ask("/no/such"), format!("{needs}CSHARP_DRIVERS names no folder)"));
    let folder = lab.path("drivers").display().to_string();
    fs::create_dir_all(lab.path("drivers/1.9")).expect("a folder");
    assert_eq!(ask(&folder), format!("{needs}there is no assembly in {folder}/1.9.2)"));
}
