//! The block that is drawn while arms are measured, in real terminals.

use base::strings::shell_quoted;
use base::text::width;

use crate::fake_support::{Lab, stderr};
use crate::support::{said, skip, wait_until};
use crate::tmux;

/// Words of the block, and of nothing else.
const BLOCK: [&str; 2] = ["x baseline so far", " left: "];

/// Rounds that outlast a look at the screen.
const ROUNDS: &str = "40";

/// The lines of the block that a screen shows: from its first to the last one of the screen.
fn block(screen: &[String]) -> &[String] {
    let first = screen.iter().position(|line| line.contains(BLOCK[1]));
    &screen[first.unwrap_or(screen.len())..]
}

#[test]
fn the_block_fits_the_terminal_and_leaves_nothing_behind() {
    if !tmux::is_there() {
        return skip("the_block_fits_the_terminal_and_leaves_nothing_behind", "no tmux on PATH");
    }
    for (columns, interrupted) in [(80, true), (100, false), (160, true)] {
        let lab = Lab::even_and_slow();
        let rounds = if interrupted { ROUNDS } else { "3" };
        let run = lab.command(lab.words(&["even", "slow"], &["--rounds", rounds]));
        let variables = run.get_envs().filter_map(|(name, value)| {
            let value = value?.to_string_lossy();
            // The terminal says how wide it is, and shows colours.
            let kept = name != "COLUMNS" && name != "NO_COLOR";
            kept.then(|| shell_quoted(&format!("{}={value}", name.display())))
        });
        let program = shell_quoted(&run.get_program().display());
        let words = run.get_args().filter(|word| *word != "--details"); // more than a screen
        let words = words.map(|word| shell_quoted(&word.display()));
        let words: Vec<String> = variables.chain([program]).chain(words).collect();
        let end = lab.path("end");
        let command = format!(
            "cd {} && env {}; echo $? >end; exec cat",
            shell_quoted(&lab.path("").display()),
            words.join(" ")
        );
        let folder = lab.path("home");
        std::fs::create_dir_all(&folder).expect("a folder");
        tmux::start(&folder, columns, &command);
        let mut screen = Vec::new();
        wait_until("rates of a second round", || {
            screen = tmux::screen(&folder);
            block(&screen).iter().any(|line| line.contains("round 2") || end.exists())
                && screen.iter().any(|line| line.contains(BLOCK[0]))
        });
        let shown = block(&screen);
        assert!((4..=7).contains(&shown.len()), "{columns} columns: {screen:#?}");
        for (line, arm) in shown[1..].iter().zip(["even@1.0.0", "even@1.0.0 (A/A)", "slow@1.0.0"]) {
            assert!(line.trim_start().starts_with(arm), "{columns} columns: {screen:#?}");
            assert!(width(line) < usize::from(columns), "{columns} columns: {screen:#?}");
        }
        if interrupted {
            tmux::tmux(&folder, &["send-keys", "C-c"]);
        }
        wait_until("the end of the run", || end.exists());
        let screen = tmux::screen(&folder);
        tmux::end(&folder);
        let of_block = |line: &&String| BLOCK.iter().any(|words| line.contains(words));
        assert_eq!(screen.iter().find(of_block), None, "{columns} columns: {screen:#?}");
        let said = screen.iter().filter(|line| line.starts_with("about ")).count();
        assert_eq!(said, 1, "what was said stays: {screen:#?}");
        assert!(!screen.concat().contains('\u{fffd}'), "colours are none: {screen:#?}");
        let stops = screen.iter().filter(|line| line.contains("stopping after this turn")).count();
        assert_eq!(stops, usize::from(interrupted), "{screen:#?}");
        let code = std::fs::read_to_string(end).expect("a file");
        assert_eq!(code.trim(), if interrupted { "130" } else { "0" }, "{screen:#?}");
    }
}

#[test]
fn a_quiet_run_does_not_say_how_far_it_is() {
    let lab = Lab::even_and_slow();
    let output = lab.experiment(&["even", "slow"], &["--rounds", "2", "--quiet"]);
    let told = stderr(&output);
    assert!(!told.contains("to the first look") && !told.contains("left"), "{}", said(&output));
    assert!(told.contains("INCONCLUSIVE"), "a warning stays: {}", said(&output));
}
