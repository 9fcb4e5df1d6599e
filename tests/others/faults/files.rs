//! Files of the command line: what exists is not written over, what is no ordinary file is not
//! read, and what is read of them does not steer the terminal.

use std::fs;
use std::os::unix::fs::symlink;

use crate::fake_support::{Lab, code, noop, stderr, stdout};
use crate::support::said;

/// Every flag that names a file or a folder to write.
#[test]
fn nothing_that_exists_is_written_over() {
    let lab = Lab::even_and_slow();
    fs::create_dir(lab.path("full")).expect("a folder");
    for name in ["full/thesis.txt", "thesis.txt"] {
        lab.write(name, "three years of work");
    }
    symlink(lab.path("elsewhere"), lab.path("link")).expect("a link");
    let noop = noop();
    let run = ["run", &noop, "--server", "none", "-d", "even"];
    let bisect = ["bisect", &noop, "--server", "none", "-d", "even", "-d", "even/processes=2"];
    let study = |name: &'static str| ["study", name, "--server", "absorber", "-d", "even"];
    let tap = ["tap", "--to", "127.0.0.1:1", "--listen", "127.0.0.1:0"];
    for words in [
        [&run[..], &["--out", "full"]].concat(),
        [&run[..], &["--out", "thesis.txt"]].concat(),
        [&run[..], &["--sweep", "warmup=1", "--out", "thesis.txt"]].concat(),
        [&bisect[..], &["--out", "full"]].concat(),
        [&study("write-cost")[..], &["--out", "full"]].concat(),
        [&study("crud-scale")[..], &["--out", "full"]].concat(),
        [&study("write-cost")[..], &["--eject", "full"]].concat(),
        [&study("write-cost")[..], &["--eject", "link"]].concat(),
        [&study("crud-scale")[..], &["--eject", "thesis.txt"]].concat(),
        [&study("crud-scale")[..], &["--eject", "link"]].concat(),
        [&tap[..], &["--out", "full"]].concat(),
        vec!["absorber", "--listen", "127.0.0.1:0", "--holds", "thesis.txt"],
        vec!["absorber", "--listen", "127.0.0.1:0", "--holds", "link"],
    ] {
        let mut command = lab.wrapped(&["timeout", "-s", "KILL", "60"], &words);
        let output = command.output().expect("it runs");
        assert_eq!(code(&output), 2, "{words:?}: {}", said(&output));
        assert!(stderr(&output).contains("exists"), "{words:?}: {}", said(&output));
        let full = fs::read_dir(lab.path("full")).expect("a folder").count();
        assert_eq!((full, lab.path("elsewhere").exists()), (1, false), "{words:?}");
        for name in ["full/thesis.txt", "thesis.txt"] {
            let text = fs::read_to_string(lab.path(name)).expect("a file");
            assert_eq!(text, "three years of work", "{words:?}");
        }
    }
}

#[test]
fn what_is_no_ordinary_file_is_refused_and_a_pipe_of_the_shell_is_read() {
    let lab = Lab::even_and_slow();
    let pipe = lab.path("pipe.yaml");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    symlink("/dev/zero", lab.path("zero.jsonl")).expect("a link");
    let with = "why: w\ncollections: {c: {file: zero.jsonl}}\nphases: [{operation: insert_one}]\n";
    lab.write("zero.yaml", with);
    for words in [
        ["run", "pipe.yaml", "--plan"],
        ["run", "/dev/zero", "--plan"],
        ["run", "zero.yaml", "--plan"],
        ["clean", "--uri-file", "pipe.yaml"],
        ["clean", "--uri-file", "/dev/zero"],
        ["workloads", "./pipe.yaml", ""],
    ] {
        let words = words.iter().filter(|word| !word.is_empty());
        let mut command = lab.wrapped(&["timeout", "-s", "KILL", "60"], words.clone());
        let output = command.output().expect("it runs");
        assert!([2, 3].contains(&code(&output)), "{words:?}: {}", said(&output));
        assert!(stderr(&output).contains("ordinary file"), "{words:?}: {}", said(&output));
    }
    lab.write("uri", "mongodb://127.0.0.1:1/");
    let words = ["clean", "--uri-file", "/dev/stdin"];
    let output = lab.wrapped(&["sh", "-c", "cat uri | \"$0\" \"$@\""], words).output();
    let output = output.expect("it runs");
    assert_eq!(code(&output), 4, "it is read: {}", said(&output));
}

#[test]
fn a_server_that_runs_on_is_not_said_to_be_stopped() {
    let lab = Lab::even_and_slow();
    fs::create_dir_all(lab.path("home/run/stuck")).expect("a folder");
    let lock = fs::File::create(lab.path("home/run/stuck/lock")).expect("a file");
    lock.lock().expect("a lock");
    let output = lab.run(["server", "stop", "stuck"]);
    assert_eq!(code(&output), 5, "{}", said(&output));
    assert!(stderr(&output).contains("stuck was not stopped"), "{}", said(&output));
}

#[test]
fn a_manifest_does_not_steer_the_terminal() {
    let lab = Lab::even_and_slow();
    lab.rewrite("even", |text| text.replace("language = \"none\"", "language = \"\\u001b[2J\""));
    let output = lab.run(["adapters", "list"]);
    assert!(stdout(&output).contains("even") && !stdout(&output).contains('\u{1b}'), "{output:?}");
}

#[test]
fn a_sweep_without_a_value_is_refused() {
    let lab = Lab::even_and_slow();
    for sweep in ["warmup=,", "warmup=1,,2", "warmup=", "warmup"] {
        let output = lab.experiment(&["even"], &["--plan", "--sweep", sweep]);
        assert_eq!(code(&output), 2, "{sweep}: {}", said(&output));
    }
}
