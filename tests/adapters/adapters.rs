//! Every adapter of the repository: its own tests, the contract, other versions of its driver.
//! Adapters are found by their folders; one whose toolchain is missing is skipped.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::declared::as_declared;
use crate::fake_support::real::lab_with;
use crate::fake_support::{Lab, code, stderr};
use crate::support::{block_on, mongodyno, root, said, scratch, server, skip, start_version};
use adapter::adapter_process::AdapterProcess;
use adapter::environment::Environment;
use adapter::installation::Installation;
use adapter::manifest::{Manifest, discover};
use adapter::protocol::Hello;
use base::clock::Epoch;
use measure::arms;
use server::ServerHandle;

#[derive(Clone, Copy)]
enum Try {
    /// It installs and reports itself.
    Starts,
    /// The contract, without a server.
    Offline,
    /// The contract on the absorber.
    Absorber,
    /// The tests of the adapter, and the contract on the last server that speaks with every driver
    /// since 2012.
    OldServer,
}

/// The adapter whose driver comes from a registry that tests do not ask. The package `bare` holds
/// its harness to the contract.
const WITHOUT_DRIVER: &str = "csharp";

/// It has no message that servers from 5.1 on understand.
const OLD_SERVER_ALONE: &str = "cpp";

/// Further arms to try, of languages whose registry tests ask: those with another API or another
/// installation. One of each API is held to the contract. Rust has one: each is a build of the
/// whole driver.
const OLD_VERSIONS: [(&str, &[(&str, Try)]); 5] = [
    (
        "go",
        &[
            ("go@2.0.0", Try::Offline),
            ("go@1.17.6", Try::Starts),
            ("go@1.4.6", Try::Starts),
            ("go@1.0.4", Try::Offline),
        ],
    ),
    (
        "java",
        &[
            ("java@4.11.5", Try::Starts),
            ("java:mongo-java-driver@3.12.14", Try::Offline),
            ("java:mongo-java-driver@2.14.3", Try::Absorber),
            ("java:mongo-java-driver@2.14.3/api=mongo", Try::Offline),
        ],
    ),
    (
        "node",
        &[
            ("node@6.20.0", Try::Starts),
            ("node@4.17.2", Try::Starts),
            ("node@4.17.2/api=callback", Try::OldServer),
            ("node@3.7.4/api=callback", Try::Starts),
            ("node@3.7.4", Try::OldServer),
            ("node@2.2.36", Try::OldServer),
            ("node@2.0.55", Try::Absorber),
            ("node@1.4.3", Try::OldServer),
            ("node@1.4.3/runtime=0.11.14", Try::Starts),
            ("node:mongolian@0.1.18", Try::OldServer),
        ],
    ),
    (
        "python",
        &[
            ("python@4.10.1", Try::Starts),
            ("python@4.20.0/api=asyncio", Try::OldServer),
            ("python@3.13.0", Try::Offline),
            ("python@3.6.1", Try::Absorber),
        ],
    ),
    ("rust", &[("rust@2.8.2", Try::Offline)]),
];

/// Calls `act` for every adapter that this machine can run, and reports all failures.
fn for_each_adapter(test: &str, mut act: impl FnMut(&Manifest) -> Result<(), String>) {
    let mut wrong = Vec::new();
    let manifests = discover(None).expect("manifests that can be read");
    for manifest in manifests.into_iter().filter(|it| it.name != WITHOUT_DRIVER) {
        if let Err(missing) = manifest.probe() {
            skip(&format!("{test}: {}", manifest.name), &missing.reason);
            continue;
        }
        if let Err(reason) = act(&manifest) {
            wrong.push(format!("{}: {reason}", manifest.name));
        }
    }
    assert!(wrong.is_empty(), "{test}\n{}", wrong.join("\n\n"));
}

/// Runs the binary. Its output is the error, unless it ends with 0.
fn succeeds(arguments: &[&str], uri: Option<&str>) -> Result<String, String> {
    let mut command = mongodyno(arguments);
    if let Some(uri) = uri {
        command.env("MDYN_URI", uri);
    }
    let output = command.output().expect("the binary runs");
    let text = format!("mongodyno {}: {}", arguments.join(" "), said(&output));
    if output.status.success() { Ok(text) } else { Err(text) }
}

#[test]
fn the_binary_carries_every_adapter_of_the_repository() {
    let folders = fs::read_dir(root().join("adapters")).expect("adapters/");
    let has_manifest = |path: &std::path::Path| path.join("adapter.toml").is_file();
    let on_disk: BTreeSet<String> = folders
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| has_manifest(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let embedded = discover(None).expect("manifests that can be read");
    let embedded: BTreeSet<String> = embedded.into_iter().map(|it| it.name).collect();
    assert_eq!(embedded, on_disk);
    assert!(!embedded.is_empty());
}

#[test]
fn own_tests() {
    let Some(newest) = server("adapters/own_tests") else { return };
    let mut old = None;
    for_each_adapter("adapters/own_tests", |it| {
        let uri = server_of(it, newest, &mut old)?;
        let uri = uri.as_str();
        succeeds(&["adapters", "test", &it.name], Some(uri))?;
        // A connection string is a secret; tools that build write down what they depend on.
        let folder = block_on(installed(&it.name))?.folder;
        let found = Command::new("grep").args(["-rlF", uri]).arg(folder).output().expect("grep");
        if found.stdout.is_empty() { Ok(()) } else { Err(format!("{uri} in {}", said(&found))) }
    });
}

#[test]
fn contract() {
    let Some(newest) = server("adapters/contract") else { return };
    let mut old = None;
    for_each_adapter("adapters/contract", |it| {
        let uri = server_of(it, newest, &mut old)?;
        succeeds(&["check", &it.name], Some(&uri))?;
        as_declared(&it.name, &greeting(&it.name)?)
    });
}

/// The newest server that an adapter's driver can talk to.
fn server_of(
    manifest: &Manifest,
    newest: &str,
    old: &mut Option<Result<ServerHandle, String>>,
) -> Result<String, String> {
    if manifest.name != OLD_SERVER_ALONE {
        return Ok(newest.to_owned());
    }
    let server = old.get_or_insert_with(|| start_version(Some("4.4"), &[]));
    server.as_ref().map(|it| it.uri().to_owned()).map_err(Clone::clone)
}

#[test]
fn a_harness_whose_driver_no_test_installs_holds_to_the_contract() {
    let bare = format!("{WITHOUT_DRIVER}:bare");
    for words in [["check", "--offline", &bare], ["adapters", "test", &bare]] {
        succeeds(&words, None).expect("it holds");
    }
}

/// Simulates a broken adapter: it changes messages to a right one, and its answers. The process
/// group ends with the adapter, for `sed` waits for the end of its input.
const BREAK: &str = r#"
sed -u -e 's/"from": *"sequence"/"from":"producer"/' \
| { "$@"; sleep 0.1; kill 0; } \
| sed -u -e 's/"positions_lost": *1/"positions_lost":0/' -e 's/"gave_up": *true/"gave_up":false/'
"#;

/// One with a consumer, and one without, whose processes start fast: what finds the faults is the
/// same code for all.
const BROKEN: [&str; 2] = ["go", "php"];

#[test]
fn broken_variants_of_an_adapter_do_not_pass() {
    let Some(uri) = server("adapters/broken") else { return };
    for_each_adapter("adapters/broken", |it| {
        if !BROKEN.contains(&it.name.as_str()) {
            return Ok(());
        }
        let installed = block_on(installed(&it.name))?;
        let words = installed.start.iter().map(String::as_str);
        let arguments = ["check", "--uri", uri, "--", "sh", "-c", BREAK, "sh"];
        let mut command = mongodyno(arguments.into_iter().chain(words));
        let said = said(&command.current_dir(&installed.folder).output().expect("the binary runs"));
        let mut wanted = vec!["FAIL  numbered_awaited: ", "FAIL  numbered_burst: "];
        // Not the end of the process, which is wrong in all of them.
        wanted.extend(["FAIL  valid/stamped: line ", "FAIL  absorber/failures: line "]);
        if !said.contains("consumer: left out") {
            wanted.extend([
                "FAIL  absorber/consumer-overwritten: line ",
                "FAIL  absorber/consumer-gone: line ",
            ]);
        }
        match wanted.iter().find(|line| !said.contains(**line)) {
            None => Ok(()),
            Some(line) => Err(format!("no {line:?} in {said}")),
        }
    });
}

/// The warm-ups of `crud` would take five minutes, and so would turns: forty of the slowest arm
/// take 3 s each round.
const FINDS: &str = "
name: finds
why: Ten languages side by side.
collections:
  items:
    documents: 1000
    document:
      _id: {type: objectid, value: key}
      number: {type: long, value: key}
      name: {type: string, length: 24}
      price: {type: double, min: 1, max: 1000}
      active: bool
      made: date
phases:
  - {operation: find_one, collection: items, warmup: 0.2, duration: 0.5}
";

/// All whose drivers tests can install; C++ has its legacy driver, for which 4.4 is new enough.
const LANGUAGES: [&str; 10] =
    ["go", "c", "cpp", "java", "node", "perl", "php", "python", "ruby", "rust"];

/// The name sorts before those of old versions: this test takes longer than all that come after.
#[test]
fn in_one_experiment_ten_languages_are_compared() {
    let lab = Lab::with_shared_cache();
    lab.write("finds.yaml", FINDS);
    let mut command = mongodyno(["run", "finds.yaml", "--quick", "--interleave", "runs"]);
    command.args(["--server", "embedded@4.4", "--out", "out"]).current_dir(lab.path(""));
    for name in LANGUAGES {
        command.args(["-d", name]);
    }
    let output = command.output().expect("the binary runs");
    assert_eq!(code(&output), 0, "{}", said(&output));
    let runs = lab.runs();
    for name in LANGUAGES {
        let of_arm = |run: &&serde_json::Value| {
            run["arm"].as_str().is_some_and(|arm| arm.split('@').next() == Some(name))
        };
        let own: Vec<_> = runs.iter().filter(of_arm).collect();
        assert!(own.len() >= 6, "{name}: {}", said(&output));
        assert!(own.iter().all(|run| run["failed"].is_null()), "{name}: {}", said(&output));
    }
}

/// Half of the old versions, and the build that takes longest: all in one test ended three minutes
/// after the other tests.
const OF_THEIR_OWN: [&str; 2] = ["node", "rust"];

/// Tests begin in the order of their names. Among the last this build ended after all others.
#[test]
fn an_old_version_of_rust_installs_and_reports_itself() {
    old_versions(|name| name == "rust");
}

#[test]
fn old_versions_install_and_report_themselves() {
    old_versions(|name| !OF_THEIR_OWN.contains(&name));
}

#[test]
fn old_versions_of_node_install_and_report_themselves() {
    old_versions(|name| name == "node");
}

fn old_versions(of: impl Fn(&str) -> bool) {
    let mut old_server = None;
    for_each_adapter("adapters/old_versions", |it| {
        let row = OLD_VERSIONS.iter().find(|(name, _)| *name == it.name && of(name));
        row.map_or(&[][..], |(_, arms)| arms).iter().try_for_each(|(driver, how)| {
            let folder = succeeds(&["adapters", "install", driver], None)?;
            match how {
                Try::Starts => {}
                Try::Offline => succeeds(&["check", "--offline", driver], None).map(drop)?,
                Try::Absorber => {
                    succeeds(&["check", driver, "--server", "absorber"], None).map(drop)?;
                }
                Try::OldServer => {
                    let server = old_server.get_or_insert_with(|| start_version(Some("4.4"), &[]));
                    let uri = server.as_ref().map_err(Clone::clone)?.uri();
                    succeeds(&["check", driver], Some(uri))?;
                }
            }
            let version = driver.split_once('@').expect("a version").1;
            let version = version.split('/').next().expect("before its options");
            let hello = greeting(driver)?;
            as_declared(driver, &hello)?;
            match &hello.driver.version {
                reported if reported == version => Ok(()),
                reported => Err(format!("{driver} reports {reported}; {folder}")),
            }
        })
    });
}

#[test]
fn a_driver_that_the_server_refuses_tells_the_servers_reason_and_what_would_work() {
    let Some(uri) = server("adapters/refused") else { return };
    let Some(lab) = lab_with("adapters/refused", &["node", "python"]) else { return };
    lab.write("finds.yaml", FINDS);
    let mut command = mongodyno(["run", "finds.yaml", "--uri", uri]);
    let old = ["-d", "node@1.4.3", "-d", "python@3.6.1"];
    let output = command.args(old).current_dir(lab.path("")).output().expect("the binary runs");
    assert_eq!(code(&output), 6, "{}", said(&output));
    let told = stderr(&output);
    let refused: Vec<&str> =
        told.lines().filter(|line| line.contains("Unsupported OP_QUERY command")).collect();
    assert_eq!(refused.len(), 2, "{told}");
    for line in refused {
        for words in ["before wire version 6", "embedded@4.4 has up to 9 and would work"] {
            assert!(line.contains(words), "{line}");
        }
    }
}

async fn installed(driver: &str) -> Result<Environment, String> {
    let manifests = discover(None).expect("manifests that can be read");
    let said = |error: base::error::Error| error.to_string();
    let arm = arms::parse(&manifests, driver).map_err(said)?;
    let installation = Installation::of(arm.manifest, &arm.asked).map_err(said)?;
    installation.run(|_| ()).await.map_err(said)?;
    installation.environment().await.map_err(said)
}

/// What the adapter says when it is started as this arm.
fn greeting(driver: &str) -> Result<Hello, String> {
    let log = scratch("adapter-logs").join(format!("{}.log", driver.replace('/', ",")));
    block_on(async {
        let environment = installed(driver).await?;
        let started = AdapterProcess::start(&environment, &log, &Epoch::start()).await;
        let mut process = started.map_err(|failure| format!("{driver}: {failure}"))?;
        let hello = process.hello.take().expect("greeted");
        process.close().await.map_err(|failure| format!("{driver}: {failure}"))?;
        // Others are words for the machine's own, or paths.
        let is_version = |it: &&String| it.starts_with(|it: char| it.is_ascii_digit());
        if let Some(runtime) = environment.options.get("runtime").filter(is_version) {
            assert_eq!(&hello.runtime.version, runtime, "{driver}");
        }
        Ok(hello)
    })
}

#[test]
fn a_version_that_does_not_exist_is_named_with_the_command_that_lists_them() {
    for_each_adapter("adapters/unknown_version", |it| {
        if !OLD_VERSIONS.iter().any(|(name, _)| *name == it.name) {
            return Ok(());
        }
        // The version has the same major number, because a package name may contain it.
        let major = it.default.split('.').next().expect("a major version");
        let driver = format!("{}@{major}.9999.0", it.name);
        let output = crate::support::run(["adapters", "install", &driver]);
        let text = said(&output);
        if output.status.code() == Some(5)
            && text.contains(&format!("has no version {major}.9999.0"))
            && text.contains(&format!("`mongodyno drivers --versions {}` lists them", it.name))
        {
            return Ok(());
        }
        Err(format!("installing {driver}: {text}"))
    });
}

/// Maven takes the home of the account for its own, whatever HOME says.
#[test]
fn a_listing_of_maven_is_found_where_home_is_another_folder() {
    let mut command = mongodyno(["drivers", "--versions", "java"]);
    let output = command.env("HOME", scratch("adapters-home")).output().expect("the binary runs");
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert!(said(&output).contains("\n 5.10.0"), "{}", said(&output));
}

#[test]
fn an_adapter_that_does_not_exist_is_a_usage_error() {
    let output = crate::support::run(["adapters", "install", "no-such-adapter"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}
