//! Versions as arms: what each generation of them needs, and the driver that the machine has.

use std::fs;
use std::process::Command;

use crate::fake_support::{Lab, QUICK, code, stderr, stdout};
use crate::support::said;
use adapter::listing::Listing;
use adapter::manifest::{Releases, discover};

/// An adapter with these generations. Its driver reports the version that was asked for.
fn versioned(lab: &Lab, name: &str, generations: &str) {
    lab.fake(name, &[QUICK, "op_ns=100000", "version={version}"]);
    lab.rewrite(name, |text| format!("{text}{generations}"));
}

fn installed(lab: &Lab, driver: &str) -> String {
    let output = lab.run(["adapters", "install", driver]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    stdout(&output).trim().to_owned()
}

const OLD_NEEDS: &str = r"
[[generations]]
versions = '^1\.'
[[generations]]
versions = '^0\.'
[[generations.needs]]
run = ['no-such-toolchain']
match = '.'
wants = 'Ancient 1'
install_hint = 'dig for it'
";

#[test]
fn a_missing_toolchain_disables_its_generation_alone() {
    let lab = Lab::new();
    versioned(&lab, "two", OLD_NEEDS);
    let listed = stdout(&lab.run(["adapters", "list", "--json"]));
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    let row = listed.as_array().expect("rows").iter().find(|row| row["name"] == "two");
    assert_eq!(row.expect("a row")["state"], "can run it");
    installed(&lab, "two");
    let output = lab.run(["adapters", "install", "two@0.9"]);
    assert_eq!(code(&output), 5, "{}", said(&output));
    let expected = "error: two needs Ancient 1 (`no-such-toolchain` not found)\nhint: dig for it\n";
    assert!(stderr(&output).ends_with(expected), "{}", said(&output));
}

#[test]
fn a_toolchain_is_probed_once_for_many_versions() {
    let lab = Lab::new();
    let needs = format!(
        "[[needs]]\nrun = ['sh', '-c', 'echo 7; echo x >>{}']\nmatch = '7'\n\
         wants = 'seven'\ninstall_hint = 'x'\n",
        lab.path("probes").display()
    );
    versioned(&lab, "many", &needs);
    let output = lab.experiment(&["many@1", "many@2", "many@3"], &["--rounds", "1"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(fs::read_to_string(lab.path("probes")).expect("probes"), "x\n");
}

/// The machine has the version in the file `has`; commands would look for a registry.
fn of_the_machine(lab: &Lab) {
    let has = lab.path("has").display().to_string();
    lab.fake("own", &[QUICK, "op_ns=100000", &format!("version=$(cat {has})")]);
    lab.rewrite("own", |text| {
        let text =
            text.replace(&format!("'version=$(cat {has})'"), &format!("version=$(cat {has})"));
        format!(
            "{text}install = [['false']]\ninstall_version = [['false']]\n\
             [[generations]]\nversions = '^(system|1\\.)'\n\
             [[generations.needs]]\nrun = ['cat', '{has}']\nmatch = '^[0-9.]+'\n\
             wants = 'the driver'\ninstall_hint = 'x'\n"
        )
    });
}

#[test]
fn the_machines_driver_is_named_by_the_version_it_tells() {
    let lab = Lab::new();
    of_the_machine(&lab);
    lab.fake("even", &[QUICK, "op_ns=100000"]);
    lab.write("has", "2.5.1\n");
    let output = lab.experiment(&["own@system", "even"], &["--rounds", "1"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let arm = &lab.record()["arms"][0];
    assert_eq!((&arm["id"], &arm["version"]), (&"own@system-2.5.1".into(), &"2.5.1".into()));
    assert!(stdout(&output).contains("own@system-2.5.1"), "{}", said(&output));

    // Asked for by that name it is the same arm, as long as it is the same driver.
    let before = installed(&lab, "own@system");
    assert_eq!(installed(&lab, "own@system-2.5.1"), before);
    lab.write("has", "2.6.0\n");
    assert_ne!(installed(&lab, "own@system"), before);
    let output = lab.run(["adapters", "install", "own@system-2.5.1"]);
    assert_eq!(code(&output), 5, "{}", said(&output));
    let expected = "error: own@system-2.5.1: the driver on this machine is version 2.6.0, not \
                    2.5.1\n\
                    hint: ask for own@system-2.6.0\n";
    assert!(stderr(&output).ends_with(expected), "{}", said(&output));
    // Where a registry has it, its commands are used.
    assert_eq!(code(&lab.run(["adapters", "install", "own@1.0.0"])), 5);
}

#[test]
fn who_cannot_take_the_machines_driver_says_so() {
    let lab = Lab::new();
    lab.fake("even", &[]);
    let output = lab.run(["adapters", "install", "even@system"]);
    assert_eq!(code(&output), 2, "{}", said(&output));
    let expected = "error: even cannot take the fake-driver that a machine has\n\
                    hint: name a version: even@1.0.0\n";
    assert_eq!(stderr(&output), expected);
}

#[test]
fn a_default_may_be_the_machines_driver() {
    let lab = Lab::new();
    lab.fake("own", &[QUICK, "op_ns=100000", "version=3.1"]);
    lab.rewrite("own", |text| {
        let text = text.replace("default = \"1.0.0\"", "default = \"system\"");
        format!("{text}install = [['touch', 'built']]\n")
    });
    let output = lab.experiment(&["own"], &["--rounds", "1"]);
    assert_eq!(lab.record()["arms"][0]["id"], "own@system-3.1", "{}", said(&output));
    assert!(fs::exists(format!("{}/built", installed(&lab, "own"))).expect("a folder"));
}

/// A registry with these words, which can be made to fail.
fn listed(lab: &Lab, name: &str, releases: &str) {
    let down = lab.path("down").display().to_string();
    let releases = format!(
        "releases.command = ['sh', '-c', '[ ! -e {down} ] || {{ echo no route >&2; exit 7; }}; \
         echo {releases}']\nreleases.format = 'words'\n\
         install_version = [['touch', 'v{{version}}']]\n"
    );
    versioned(lab, name, &format!("{releases}[[generations]]\nversions = '^[1-9]'\n"));
}

const RELEASES: &str = "0.9.1 v1.0.0 1.0.1 1.1.0-rc1 1.1.0 2.0.0 2.0.1";

#[test]
fn drivers_lists_the_releases_of_a_driver() {
    let lab = Lab::new();
    listed(&lab, "many", RELEASES);
    let output = lab.run(["drivers", "--versions", "many"]);
    let expected = " 1.0.0\n 1.0.1\n 1.1.0\n 2.0.0\n 2.0.1\n5 releases of fake-driver; left out: \
                    1 for which there is no program (1.0.0), 1 prereleases; dates unknown: the \
                    registry's tool tells none\n";
    assert_eq!(stdout(&output), expected, "{}", said(&output));
    // The last listing stays, whole where the disk is full.
    let full = ["sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""];
    let output = lab.wrapped(&full, ["drivers", "--versions", "many"]).output();
    assert_eq!(code(output.as_ref().expect("it runs")), 0, "{output:?}");
    lab.write("down", "");
    let output = lab.run(["drivers", "--versions", "many"]);
    assert_eq!(code(&output), 5, "{}", said(&output));
    let told = stderr(&output);
    assert!(told.starts_with("error: cannot list the releases of fake-driver: `sh -c "), "{told}");
    assert!(told.contains("ended with exit status: 7\n  no route\nhint: "), "{told}");
    assert!(told.contains("--offline takes the last listing"), "{told}");
    let output = lab.run(["drivers", "--versions", "many", "--offline"]);
    assert_eq!(stdout(&output), expected, "{}", said(&output));
}

#[test]
fn a_listing_whose_tool_is_not_there_says_so() {
    let lab = Lab::new();
    for (name, command) in [("bare", "['mdyn-no-tool']"), ("shell", "['sh', '-c', 'mdyn-no-tool']")]
    {
        let releases = format!("releases.command = {command}\nreleases.format = 'words'\n");
        versioned(&lab, name, &releases);
        let output = lab.run(["drivers", "--versions", name]);
        assert_eq!(code(&output), 5, "{}", said(&output));
        let hint = "hint: install the tool that is not found; --offline takes the last listing";
        assert!(stderr(&output).contains(hint), "{}", said(&output));
    }
}

fn planned(lab: &Lab, drivers: &[&str], more: &[&str]) -> String {
    let output = lab.experiment(drivers, &[&["--plan"], more].concat());
    let text = stdout(&output);
    let arms = text.lines().find_map(|line| line.strip_prefix("arms      "));
    let arms = arms.and_then(|it| it.split(" again as").next());
    arms.map_or_else(|| stderr(&output), str::to_owned)
}

#[test]
fn selections_stand_in_the_plan_as_whole_versions() {
    let lab = Lab::new();
    listed(&lab, "many", RELEASES);
    for (driver, arms) in [
        ("many@1.0.0..2", "many@1.0.0, many@1.0.1, many@1.1.0, many@2.0.0, many@2.0.1, many@1.0.0"),
        ("many@1..2:minor", "many@1.0.1, many@1.1.0, many@2.0.1, many@1.0.1"),
        ("many@1/maxPoolSize=3", "many@1.1.0/maxPoolSize=3, many@1.1.0/maxPoolSize=3"),
        ("many@latest", "many@2.0.1, many@2.0.1"),
        ("many@1.0,2.0.0", "many@1.0.1, many@2.0.0, many@1.0.1"),
        ("many@0.9..1.0", "many@1.0.0, many@1.0.1, many@1.0.0"),
    ] {
        assert_eq!(planned(&lab, &[driver], &[]), arms, "{driver}");
    }
    let said = stderr(&lab.experiment(&["many@0.9..1.0"], &["--plan"]));
    let left_out = "-d many@0.9..1.0: 1 releases left out, there is a program for 1.0.0\n";
    assert!(said.contains(left_out), "{said}");
    for (driver, reason) in [
        ("many@2..1", "2..1 runs backwards: 1.1.0 comes before 2.0.0"),
        ("many@1..", "1.. names one end; latest is the newest release"),
        ("many@3..4", "there is no release \"3\""),
        ("many@0.8..2", "there is no release \"0.8\""),
    ] {
        let expected = format!(
            "error: -d {driver}: {reason}\nhint: `mongodyno drivers --versions many` lists the 5 \
             that there are (1.0.0 to 2.0.1)\n"
        );
        assert!(planned(&lab, &[driver], &[]).ends_with(&expected), "{driver}");
    }
    lab.rewrite("many", |text| {
        format!("{text}[[generations]]\npackage = 'elder'\nversions = '^0'\n")
    });
    let said = planned(&lab, &["many@0.8..2"], &[]);
    assert!(said.ends_with(" (1.0.0 to 2.0.1); many:elder has others\n"), "{said}");
    // A whole version is asked of no registry.
    lab.write("down", "");
    assert_eq!(planned(&lab, &["many@7.7.7"], &[]), "many@7.7.7, many@7.7.7");
    installed(&lab, "many@1.1.0");
    assert_eq!(planned(&lab, &["many@1"], &["--offline"]), "many@1.1.0, many@1.1.0");
    let missing = "error: --offline: many@2.0.1 not installed on this machine\n";
    assert!(planned(&lab, &["many@2.0.1"], &["--offline"]).contains(missing));
}

#[test]
fn offline_takes_what_is_installed_and_names_what_is_not() {
    let lab = Lab::new();
    listed(&lab, "many", RELEASES);
    let output = lab.run(["adapters", "install", "many@1:minor"]);
    assert_eq!(stdout(&output).lines().count(), 2, "{}", said(&output));
    lab.write("down", "");
    let offline = ["--rounds", "1", "--offline"];
    let output = lab.experiment(&["many@1..2"], &offline);
    assert_eq!(code(&output), 5, "{}", said(&output));
    let expected = "error: --offline: many@1.0.0, many@2.0.0, many@2.0.1 not installed on this \
                    machine\nhint: `mongodyno adapters install many@1.0.0` brings the first of \
                    them";
    assert!(stderr(&output).starts_with(expected), "{}", said(&output));
    let output = lab.experiment(&["many@1:minor"], &offline);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(lab.record()["arms"][2]["id"], "many@1.1.0");
}

/// Registries that no test asks: what their tools say.
#[test]
fn listings_are_read_as_the_manifests_say() {
    let manifests = discover(None).expect("manifests");
    let releases = |name: &str| {
        let manifest = manifests.iter().find(|it| it.name == name);
        manifest.and_then(|it| it.releases.as_ref()).expect("a listing")
    };
    let nuget = "| Package ID | Version | Owners | Total Downloads |\n|----|----|----|----|\n\
                 | mongocsharpdriver | 1.9.2 | mongodb | 5,000,000 |\n\
                 | MongoDB.Driver | 2.7.0 | mongodb | 1,234,567 |\n";
    for (name, text, versions) in [
        ("csharp", nuget, "1.9.2 2.7.0"),
        ("perl", "0.46 v1.8.3 v2.2.2 v2.10.0 ", "0.46 1.8.3 2.2.2 2.10.0"),
        ("php", "1.9.2 1.21.0 2.0.0beta1", "1.9.2 1.21.0"),
    ] {
        let Releases { format, newest_first, .. } = releases(name);
        let read = Listing::read(text, *format, *newest_first).releases;
        let read: Vec<&str> = read.iter().map(|it| it.version.as_str()).collect();
        assert_eq!(read.join(" "), versions, "{name}");
    }
    // The Perl program that reads MetaCPAN's answer.
    let lab = Lab::new();
    fs::create_dir(lab.path("HTTP")).expect("a folder");
    lab.write(
        "HTTP/Tiny.pm",
        r#"package HTTP::Tiny; sub new { bless {} } sub get { { success => 1, content => '{
        "releases": [{"version": "v2.10.0", "maturity": "released"},
        {"version": "v2.11.0-TRIAL", "maturity": "developer"},
        {"version": "v2.2.2", "maturity": "released"}]}' } } 1;"#,
    );
    let command = &releases("perl").command;
    let mut perl = Command::new(&command[0]);
    let output = perl.args(&command[1..]).env("PERL5LIB", lab.path("")).output().expect("perl");
    assert_eq!(stdout(&output), "v2.2.2 v2.10.0 ", "{}", said(&output));
}

#[test]
fn a_folder_of_csharp_drivers_is_their_listing() {
    let lab = Lab::new();
    for name in ["0.90.0.1", "1.10.0", "1.6.1", "1.9.2", "2.30.0", "source"] {
        fs::create_dir_all(lab.path("drivers").join(name)).expect("a folder");
    }
    let mut command = lab.command(["drivers", "--versions", "csharp"]);
    let output = command.env("CSHARP_DRIVERS", lab.path("drivers")).output().expect("it runs");
    let listed = stdout(&output);
    let versions: Vec<&str> = listed.split_whitespace().take(6).collect();
    let expected = ["1.6.1", "1.9.2", "1.10.0", "2.30.0", "4", "releases"];
    assert_eq!(versions, expected, "{}", said(&output));
}

#[test]
fn offline_leaves_out_what_is_not_installed_and_nobody_named() {
    let lab = Lab::even_and_slow();
    installed(&lab, "slow");
    let output = lab.experiment(&[], &["--rounds", "1", "--offline"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let record = lab.record();
    assert_eq!(record["arms"][0]["id"], "slow@1.0.0", "{record:#}");
    let lost = record["unavailable"].as_array().expect("adapters").iter();
    let even = lost.filter(|it| it["adapter"] == "even").map(|it| it["reason"].clone());
    let reason = "--offline: even@1.0.0 not installed on this machine";
    assert_eq!(even.collect::<Vec<_>>(), [reason], "{record:#}");
    fs::remove_dir_all(lab.path("out")).expect("it is there");
    let output = lab.experiment(&["even", "slow"], &["--offline"]);
    assert_eq!(code(&output), 5, "who is named is missed: {}", said(&output));
}

#[test]
fn a_driver_without_a_listing_takes_whole_versions() {
    let lab = Lab::new();
    versioned(&lab, "few", "");
    assert_eq!(planned(&lab, &["few@2.1"], &[]), "few@2.1, few@2.1");
    let expected = "error: few has no listing of the releases of fake-driver\n\
                    hint: name a version, as in few@1.0.0\n";
    assert!(planned(&lab, &["few@1..2"], &[]).ends_with(expected));
}

#[test]
fn a_version_that_cannot_be_had_leaves_the_others_their_comparison() {
    let lab = Lab::new();
    lab.fake("many", &[QUICK, "op_ns=100000", "version={version}"]);
    let install = "install_version = [['sh', '-c', 'echo yanked; [ {version} != 1.1.0 ]']]\n";
    lab.rewrite("many", |text| text.to_owned() + install);
    let drivers = ["many@1.1.0", "many@1.1.1", "many@1.1.2"];
    let output = lab.experiment(&drivers, &["--rounds", "1"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert!(stderr(&output).contains("the baseline is many@1.1.1\n"), "{}", said(&output));
    let record = lab.record();
    assert_eq!(record["arms"][0]["id"], "many@1.1.1");
    let lost = &record["unavailable"][0];
    assert_eq!(lost["adapter"], "many@1.1.0");
    assert!(lost["reason"].as_str().is_some_and(|it| it.contains("yanked")), "{lost}");
    // One of the two is left: it is measured alone.
    fs::remove_dir_all(lab.path("out")).expect("it is there");
    let output = lab.experiment(&drivers[..2], &["--rounds", "6"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert!(stderr(&output).contains("many@1.1.1 is measured alone"), "{}", said(&output));
}

#[test]
fn a_driver_that_reports_another_version_than_was_asked_for_is_lost() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK, "op_ns=100000"]);
    lab.fake("longer", &[QUICK, "op_ns=100000", "version=v1.0.0.9"]);
    lab.fake("other", &[QUICK, "op_ns=100000", "version=1.0.10"]);
    let output = lab.experiment(&["even", "longer", "other"], &["--rounds", "1"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let expected = "other@1.0.0 is lost in this round: its driver reports version 1.0.10, and \
                    1.0.0 was asked for";
    assert!(stderr(&output).contains(expected), "{}", said(&output));
    let lost = lab.runs().iter().filter(|run| !run["failed"].is_null()).count();
    assert_eq!(lost, 1, "{}", said(&output));
}

#[test]
fn a_version_for_another_runtime_says_so() {
    let lab = Lab::new();
    lab.fake("many", &[QUICK]);
    let install = "unreachable = '(?m)^no route$'\n\
                   install_version = [['sh', '-c', '[ {version} != 3.0 ] || echo no route; \
                   echo \"Ignored: 14.2.0 Requires-R >=3.9; \
                   4.2.0 Requires-R >=3.15; 5.0 Requires-R >=4\"; echo no such version; exit 1']]\n\
                   unknown_version = 'no such version'\n\
                   unfit_version = '[:;] ({version} Requires-R [^;\\n]+)'\n";
    lab.rewrite("many", |text| text.to_owned() + install);
    let output = lab.run(["adapters", "install", "many@4.2.0"]);
    assert_eq!(code(&output), 5, "{}", said(&output));
    let expected = "error: fake-driver 4.2.0 is not built for this runtime: 4.2.0 Requires-R \
                    >=3.15\nhint: ask for another version, or for another runtime where the \
                    adapter takes one\n";
    assert!(stderr(&output).ends_with(expected), "{}", said(&output));
    let output = lab.run(["adapters", "install", "many@2.0"]);
    assert!(
        stderr(&output).contains("error: fake-driver has no version 2.0\n"),
        "{}",
        said(&output)
    );
    // Who reaches no registry finds no version.
    let output = lab.run(["adapters", "install", "many@3.0"]);
    let told = stderr(&output);
    assert!(told.contains("error: installing many@3.0 failed: "), "{told}");
    assert!(told.contains("is the package registry reachable?"), "{told}");
}

#[test]
fn a_runtime_by_its_path_is_probed_and_stands_in_the_record() {
    let lab = Lab::new();
    lab.fake("many", &[QUICK, "op_ns=100000"]);
    let runtime = "options.runtime = 'what runs it'\n\
                   values.runtime = { default = 'sh', match = '^(sh|/.+)$', wants = 'sh or a \
                   path' }\n\
                   [[generations]]\nversions = '^1'\n\
                   [[needs]]\nrun = ['{runtime}', '-c', 'echo 7']\nmatch = '7'\n\
                   wants = 'a shell'\ninstall_hint = 'x'\n";
    lab.rewrite("many", |text| text.replace("start = [\"sh\"", "start = [\"{runtime}\"") + runtime);
    let other = "many/runtime=/bin/sh/maxPoolSize=5";
    let output = lab.experiment(&["many", other], &["--rounds", "1"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let record = lab.record();
    assert_eq!(record["arms"][2]["id"], "many@1.0.0/runtime=/bin/sh/maxPoolSize=5");
    let runtimes = [0, 2].map(|arm| &record["arms"][arm]["options"]["runtime"]);
    assert_eq!(runtimes, ["sh", "/bin/sh"]);
    let output = lab.run(["adapters", "install", "many/runtime=/no/such/sh"]);
    assert_eq!(code(&output), 5, "{}", said(&output));
    let expected = "error: many needs a shell (`/no/such/sh` not found)\nhint: x\n";
    assert!(stderr(&output).ends_with(expected), "{}", said(&output));
    let output = lab.run(["adapters", "install", "many/runtime=zsh"]);
    assert!(stderr(&output).contains("runtime can be sh or a path"), "{}", said(&output));
}

#[test]
fn how_an_adapter_is_started_or_described_makes_no_new_environment() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK, "op_ns=100000"]);
    let more = "install = [['sh', '-c', 'echo \"$0\" >{cache}/was', '{kind}']]\n\
                options.kind = 'x'\noptions.pace = 'y'\n[[generations]]\nversions = '.'\n\
                options.kind = { default = 'a', match = '.', wants = 'any' }\n\
                options.pace = { default = 'a', match = '.', wants = 'any' }\n";
    lab.rewrite("even", |text| text.to_owned() + more);
    let before = installed(&lab, "even");
    let was = fs::read_to_string(lab.path("home/adapters/even/cache/was")).expect("the cache");
    assert_eq!(was, "a\n");
    lab.write("adapters/even/README.md", "better");
    lab.rewrite("even", |text| text.replace("op_ns=100000", "op_ns=200000"));
    lab.rewrite("even", |text| format!("beside = ['t', 't.sh']\ntest = ['sh', 't.sh']\n{text}"));
    fs::create_dir(lab.path("adapters/even/t")).expect("a folder");
    lab.write("adapters/even/t/one", "a test");
    lab.write("adapters/even/t.sh", "cat t/one >told");
    assert_eq!(installed(&lab, "even/pace=b"), before);
    assert_ne!(installed(&lab, "even/kind=b"), before);
    // Tests are those of now.
    lab.write("adapters/even/t/one", "a better test");
    let output = lab.run(["adapters", "test", "even"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(fs::read_to_string(format!("{before}/told")).expect("told"), "a better test");
    lab.write("adapters/even/dialect.txt", "better");
    assert_ne!(installed(&lab, "even"), before);
}
