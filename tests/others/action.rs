//! `action.yml` and the workflows of docs/ci.md: each script runs exactly as it is in the file, in
//! an empty folder, with the variables that GitHub sets.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde::Deserialize;
use serde_json::Value;

use crate::fake_support::{Lab, code, noop};
use crate::support::{root, said};

#[derive(Deserialize)]
struct Action {
    inputs: BTreeMap<String, BTreeMap<String, Value>>,
    runs: ActionRuns,
}

#[derive(Deserialize)]
struct ActionRuns {
    steps: Vec<ActionStep>,
}

#[derive(Clone, Deserialize)]
struct ActionStep {
    #[serde(default)]
    name: String,
    id: Option<String>,
    #[serde(rename = "if")]
    condition: Option<String>,
    run: Option<String>,
    uses: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

/// A runner that has just begun a job: an empty folder to work in, and GitHub's files.
struct Runner {
    lab: Lab,
    github: BTreeMap<&'static str, PathBuf>,
    /// `inputs.NAME`, `github.NAME`, `steps.ID.outputs.NAME`.
    values: BTreeMap<String, String>,
    server_url: String,
}

impl Runner {
    fn new(lab: Lab) -> Self {
        for folder in ["job", "temp"] {
            fs::create_dir(lab.path(folder)).expect("a folder");
        }
        let files = ["GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY"];
        let github = files.map(|name| (name, lab.write(&format!("temp/{name}"), "")));
        let mut values = BTreeMap::new();
        for (name, value) in [
            ("action_path", root().display().to_string()),
            ("action_repository", "owner/mongodyno".to_owned()),
            ("action_ref", "v9".to_owned()),
        ] {
            values.insert(format!("github.{name}"), value);
        }
        let server_url = format!("file://{}", lab.path("releases").display());
        Self { lab, github: github.into(), values, server_url }
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(&self.github[file]).expect("a file of GitHub's")
    }

    /// `${{ NAME }}` by its value; whatever is not known is empty, as GitHub has it.
    fn filled(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${{") {
            let (name, behind) = after.split_once("}}").expect("an end");
            filled += before;
            filled += self.values.get(name.trim()).map_or("", String::as_str);
            rest = behind;
        }
        filled + rest
    }

    /// `NAME == 'VALUE'`; `always()` and none hold, as long as nothing failed.
    fn holds(&self, condition: Option<&str>) -> bool {
        let Some((name, value)) = condition.and_then(|it| it.split_once("==")) else { return true };
        let value = value.trim().trim_matches('\'');
        self.values.get(name.trim()).is_some_and(|it| it == value)
    }

    /// Runs a script as GitHub does; None where its condition does not hold.
    fn step(&mut self, step: &ActionStep) -> Option<Output> {
        if !self.holds(step.condition.as_deref()) {
            return None;
        }
        let script = self.lab.write("temp/script.sh", step.run.as_deref()?);
        fs::write(&self.github["GITHUB_OUTPUT"], "").expect("a file");
        // The lab's variables: its adapters, and its own cache.
        let own = self.lab.command(["--version"]);
        let mut command = Command::new("bash");
        for (name, value) in own.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        let mut path: Vec<PathBuf> = self.text("GITHUB_PATH").lines().map(PathBuf::from).collect();
        path.reverse();
        path.push(self.lab.path("bin"));
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        command.env("PATH", std::env::join_paths(path).expect("a path"));
        command.env("RUNNER_TEMP", self.lab.path("temp")).env("GITHUB_ACTIONS", "true");
        command.env("CI", "true").env("GITHUB_SERVER_URL", &self.server_url).envs(&self.github);
        command.envs(step.env.iter().map(|(name, value)| (name, self.filled(value))));
        command.args(["--noprofile", "--norc", "-e", "-o", "pipefail"]).arg(script);
        let output = command.current_dir(self.lab.path("job")).output().expect("bash starts");
        for line in self.text("GITHUB_OUTPUT").lines() {
            let (name, value) = line.split_once('=').expect("NAME=VALUE");
            let id = step.id.as_deref().expect("a step with outputs has an id");
            self.values.insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
        }
        Some(output)
    }

    /// Runs the steps of the action with these inputs; the output of each by its name.
    fn action(&mut self, with: &[(&str, &str)]) -> BTreeMap<String, Output> {
        let text = fs::read_to_string(root().join("action.yml")).expect("action.yml");
        let action: Action = serde_saphyr::from_str(&text).expect("an action");
        for name in with.iter().map(|(name, _)| *name) {
            assert!(action.inputs.contains_key(name), "action.yml has no input {name}");
        }
        for (name, input) in &action.inputs {
            let given = with.iter().find(|(it, _)| it == name).map(|(_, value)| *value);
            let default = input["default"].as_str().unwrap_or_default();
            self.values.insert(format!("inputs.{name}"), given.unwrap_or(default).to_owned());
        }
        let mut outputs = BTreeMap::new();
        for step in &action.runs.steps {
            let Some(output) = self.step(step) else { continue };
            let is_last = step.name == "End as the gates do";
            assert!(is_last || output.status.success(), "{}: {}", step.name, said(&output));
            outputs.insert(step.name.clone(), output);
        }
        outputs
    }
}

fn binary() -> &'static str {
    env!("CARGO_BIN_EXE_mongodyno")
}

const FAKES: &str = "--server\nnone\n--rounds\n6\n--phase\nfirst";

fn with<'a>(workload: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let own = [("workload", workload), ("drivers", "even\nslow\n"), ("arguments", FAKES)];
    own.into_iter().chain(more.iter().copied()).collect()
}

#[test]
fn the_action_shows_the_answer_and_ends_as_the_gates_do() {
    let (noop, mut runner) = (noop(), Runner::new(Lab::even_and_slow()));
    let gates = ("gates", "slower <= 5%\nerrors <= 0\n");
    let outputs = runner.action(&with(&noop, &[gates, ("binary", binary())]));
    assert_eq!(code(&outputs["End as the gates do"]), 1);
    assert_eq!(runner.values["steps.run.outputs.exit-code"], "1");
    assert!(!outputs.contains_key("Build mongodyno"), "the program was there");
    let shown = String::from_utf8_lossy(&outputs["Show the answer"].stdout).into_owned();
    let first = shown.lines().next().expect("an annotation");
    let error = "::error title=mongodyno gate::slower <= 5%25: BROKEN. first: SLOWER: slow@1.0.0";
    assert!(first.starts_with(error), "{shown}");
    assert!(shown.contains("::notice title=mongodyno gate::errors <= 0: kept."), "{shown}");
    assert!(shown.contains("::notice title=mongodyno verdict::first: SLOWER: slow"), "{shown}");
    let summary = runner.text("GITHUB_STEP_SUMMARY");
    let head: Vec<&str> = summary.lines().take(6).collect();
    assert!(head.iter().any(|line| line.contains("BROKEN")), "the answer is first: {head:#?}");
    assert!(runner.lab.path("job/mongodyno-result/junit.xml").exists());
}

#[test]
fn the_action_takes_the_released_program_else_builds_it() {
    let (noop, mut runner) = (noop(), Runner::new(Lab::even_and_slow()));
    let release = runner.lab.path("releases/owner/mongodyno/releases/download/v9");
    fs::create_dir_all(&release).expect("a folder");
    let script = "asset=mongodyno-$(uname -s)-$(uname -m); cp \"$0\" $asset
                  sha256sum $asset > $asset.sha256";
    let mut making = Command::new("bash");
    making.args(["-ec", script, binary()]).current_dir(&release);
    assert!(making.status().expect("bash starts").success());
    let outputs = runner.action(&with(&noop, &[]));
    assert_eq!(code(&outputs["End as the gates do"]), 0, "no gate");
    assert!(!outputs.contains_key("Build mongodyno"));
    // No release of that ref: cargo builds it, which takes minutes and is put in its place here.
    let mut runner = Runner::new(Lab::even_and_slow());
    fs::create_dir(runner.lab.path("bin")).expect("a folder");
    let cargo = "#!/bin/bash\nset -e\necho \"cargo $*\"\n\
                 while [ \"$1\" != --target-dir ]; do shift; done\n\
                 mkdir -p \"$2/release\"\ncp BINARY \"$2/release/mongodyno\"\n";
    let cargo = runner.lab.write("bin/cargo", &cargo.replace("BINARY", binary()));
    executable(&cargo);
    let outputs = runner.action(&with(&noop, &[]));
    assert_eq!(code(&outputs["End as the gates do"]), 0, "no gate");
    let built = String::from_utf8_lossy(&outputs["Build mongodyno"].stdout).into_owned();
    assert!(built.contains("cargo build --release --locked --manifest-path"), "{built}");
    assert!(runner.values["steps.find.outputs.key"].starts_with("mongodyno-Linux-"));
}

fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// The steps of the YAML in docs/ci.md, one list a block.
fn documented() -> Vec<Vec<ActionStep>> {
    let guide = fs::read_to_string(root().join("docs/ci.md")).expect("docs/ci.md");
    let blocks = guide.split("```yaml\n").skip(1).map(|it| it.split("```").next().expect("an end"));
    let steps = blocks.filter_map(|block| {
        let start = block.find("      - ")?;
        Some(serde_saphyr::from_str(&block[start..]).expect("steps"))
    });
    steps.collect()
}

/// The action with inputs of the lab, and every script as it is in the document.
#[test]
fn the_workflows_of_the_guide_run_as_they_are() {
    let noop = noop();
    let mut runner = Runner::new(Lab::even_and_slow());
    let mut scripts = 0;
    for steps in documented() {
        for step in &steps {
            match &step.uses {
                Some(uses) if uses.contains("/mongodyno@") => {
                    let result = runner.lab.path("job/mongodyno-result");
                    if result.exists() {
                        fs::remove_dir_all(result).expect("a folder");
                    }
                    let history = [("history", "history.jsonl"), ("append", "true")];
                    let inputs = [&history[..], &[("binary", binary())]].concat();
                    runner.action(&with(&noop, &inputs));
                }
                Some(_) => {}
                None => {
                    let output = runner.step(step).expect("a script");
                    assert_eq!(code(&output), 0, "{:?}: {}", step.run, said(&output));
                    scripts += 1;
                }
            }
        }
    }
    assert_eq!(scripts, 2);
    let page = fs::read_to_string(runner.lab.path("job/history.html")).expect("a page");
    assert!(page.contains("2 experiments"), "two jobs have appended to it");
    let list = fs::read_to_string(runner.lab.path("job/bencher.json")).expect("a list");
    assert!(list.contains("throughput"));
}
