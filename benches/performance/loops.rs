//! An adapter against a hand-written loop of the same calls in the same language. It runs on the
//! absorber, where nothing but the client's own work takes time.
//!
//! The loops (`benches/loops`) make the same documents, consume the results and keep both clock
//! readings. They have the same concurrency. They use the driver of the adapter's own environment,
//! so that nothing else differs. Server and clients have separate cores: where they share two,
//! the scheduler's choice alone moves a ratio by a fifth.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;
use std::time::Duration;

use adapter::environment::Environment;
use base::child::{keep_to, usable_cores};
use stats::descriptive::median;

use crate::servers::Listening;
use crate::stand::{DATABASE, Stand, environment, pairs};
use crate::support::{Bench, Outcome, benches, ratio, table};

const PHASES: [&str; 2] = ["insert_one", "find_one"];
const TURN: Duration = Duration::from_millis(100);
/// Before each turn: a collector at work as the other program's turn ends goes on for up to 8 ms.
const PAUSE: Duration = Duration::from_millis(20);
/// Pairs of turns of each start.
const PAIRS: u32 = 10;
/// Both programs start anew: where their code and memory lie and how they were compiled stays as
/// long as they live. Fewer starts have no interval of 95 %.
const STARTS: u32 = 6;
/// One start and the next differ by 4 to 7 %: so many know the centre to 1 or 2 %.
const LONG_STARTS: u32 = 54;
/// In which the functions of a program are linked: starts share them, for a link takes Rust 15 s.
const ORDERS: u32 = 18;

/// Multiple of the adapter's warm-up: both programs compile themselves on one core, each also while
/// the other works. After one warm-up Java and C# worked at a quarter to a half of their later
/// rate.
const WARMUPS: f64 = 2.0;

/// Smallest ratio of throughputs.
fn goal(adapter: &str) -> f64 {
    match adapter {
        "python" | "node" => 0.95,
        "ruby" | "php" | "perl" => 0.90,
        _ => 0.97,
    }
}

/// One, as `crud` has it, and several.
const WORKERS: [u32; 2] = [1, 8];

pub fn run(bench: &Bench) -> Outcome {
    let starts = if bench.long { LONG_STARTS } else { STARTS };
    let mut rows = Vec::new();
    let mut reached = true;
    let mut failed = Vec::new();
    for adapter in &bench.adapters {
        match compared(bench, adapter, starts, &mut rows) {
            Ok(all) => reached &= all,
            Err(problem) => failed.push(format!("{adapter}: {problem}")),
        }
    }
    let head =
        ["adapter", "operation", "workers", "adapter /s", "loop /s", "ratio [95 %]", "at least"];
    table(&head, &rows);
    let turns = format!("{PAIRS} pairs of turns of {} ms", TURN.as_millis());
    println!("\n{starts} starts of both, each with {turns} on the absorber");
    if failed.is_empty() { Ok(reached) } else { Err(failed.join("; ")) }
}

/// Adds a row for each operation and number of workers; answers whether all reach the goal.
fn compared(
    bench: &Bench,
    adapter: &str,
    starts: u32,
    rows: &mut Vec<Vec<String>>,
) -> Result<bool, String> {
    let cores = usable_cores();
    if cores.len() < 2 {
        return Err("server and client want a core each".to_owned());
    }
    let (client, server) = cores.split_at(cores.len().div_ceil(2));
    let environment = Environment { cores: client.to_vec(), ..environment(adapter)? };
    let goal = goal(&environment.adapter);
    let orders = 0..starts.min(ORDERS);
    let built = orders.map(|order| built(&environment, order)).collect::<Result<Vec<_>, _>>()?;
    let mut reached = true;
    for workers in WORKERS {
        for phase in PHASES {
            let start = |(environment, program): &(Environment, Vec<String>)| {
                cell(bench, environment, program, workers, phase, server)
            };
            let programs = built.iter().cycle().take(starts as usize);
            let starts = programs.map(start).collect::<Result<Vec<_>, _>>()?;
            let of_start = |[adapter, bare]: &[Vec<f64>; 2]| {
                let both = adapter.iter().zip(bare);
                median(&both.map(|(adapter, bare)| (adapter / bare).ln()).collect::<Vec<_>>())
            };
            let ratios: Vec<f64> = starts.iter().filter_map(of_start).collect();
            let (middle, text) = ratio(&ratios)?;
            reached &= middle >= goal;
            let rate = |side: usize| {
                let all: Vec<f64> = starts.iter().flat_map(|it| it[side].clone()).collect();
                format!("{:.0}", median(&all).unwrap_or(f64::NAN))
            };
            rows.push(vec![
                format!("{}@{}", environment.adapter, environment.version),
                phase.to_owned(),
                workers.to_string(),
                rate(0),
                rate(1),
                text,
                format!("{goal:.2}"),
            ]);
        }
    }
    Ok(reached)
}

/// Operations a second of the adapter and of the loop, pair by pair, of one start of both.
fn cell(
    bench: &Bench,
    environment: &Environment,
    program: &[String],
    workers: u32,
    phase: &str,
    server: &[usize],
) -> Result<[Vec<f64>; 2], String> {
    let mut stand = Stand::of(bench, "crud", workers)?;
    let absorber = Listening::absorber(bench, &["--memory", "4GiB"], server)?;
    let uri = absorber.uri();
    let collection = stand.load(&uri, DATABASE, phase)?;
    let mut adapter = stand.start(environment, &uri, DATABASE, phase, 0)?;
    // Inserted documents have a separate collection: the keys are the same.
    let own = if phase == "insert_one" { "inserted_by_loop" } else { collection.as_str() };
    let pool = stand.pool(&collection)?;
    let (workers, processes) = (workers.to_string(), adapter.processes());
    // Where a worker is a process the loop is several programs, each told its number.
    let start = |number: usize| {
        let number = number.to_string();
        let words = [uri.as_str(), DATABASE, own, phase, &workers, &pool, &number];
        Loop::start(environment, program, if processes > 1 { &words } else { &words[..6] })
    };
    let mut bare = (0..processes).map(start).collect::<Result<Vec<Loop>, _>>()?;
    let warmup = (WARMUPS * environment.warmup_s / TURN.as_secs_f64()).ceil() as u32;
    let rates = pairs(PAIRS, warmup, |side| {
        thread::sleep(PAUSE);
        match side {
            0 => stand.turn(&mut adapter, TURN),
            _ => together(&mut bare, TURN),
        }
    })?;
    stand.end(adapter)?;
    Ok(rates)
}

/// A turn of all at once: its operations a second, from the first that began to the last that
/// ended, as those of an adapter's processes are. The sum of their rates would be too high: of
/// each some is made while others have not begun or have ended.
fn together(loops: &mut [Loop], length: Duration) -> Result<f64, String> {
    for it in &mut *loops {
        it.ask(length)?;
    }
    let turns = loops.iter_mut().map(Loop::answer).collect::<Result<Vec<_>, _>>()?;
    let operations: f64 = turns.iter().map(|it| it.operations).sum();
    let began_ns = turns.iter().map(|it| it.ended_ns - it.took_ns).fold(f64::INFINITY, f64::min);
    let ended_ns = turns.iter().map(|it| it.ended_ns).fold(0.0, f64::max);
    Ok(operations * 1e9 / (ended_ns - began_ns))
}

/// What a loop says of a turn.
struct LoopTurn {
    operations: f64,
    took_ns: f64,
    /// On the clock of all, where it is one of several programs; else since its turn began.
    ended_ns: f64,
}

/// A hand-written loop that lives, as an adapter does.
pub struct Loop {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Loop {
    pub fn start(
        environment: &Environment,
        program: &[String],
        words: &[&str],
    ) -> Result<Self, String> {
        let mut command = environment.command(program);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        keep_to(&mut command, &environment.cores);
        let mut child = command.spawn().map_err(|error| format!("{program:?}: {error}"))?;
        let stdin = child.stdin.take().expect("piped");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        Ok(Self { child, stdin, stdout })
    }

    /// Lets it go for a while; answers operations a second.
    pub fn turn(&mut self, length: Duration) -> Result<f64, String> {
        together(std::slice::from_mut(self), length)
    }

    fn ask(&mut self, length: Duration) -> Result<(), String> {
        writeln!(self.stdin, "{}", length.as_millis()).map_err(|error| format!("a loop: {error}"))
    }

    fn answer(&mut self) -> Result<LoopTurn, String> {
        let mut line = String::new();
        let answered = self.stdout.read_line(&mut line);
        let numbers: Vec<f64> = line.split_whitespace().filter_map(|it| it.parse().ok()).collect();
        match (answered, &numbers[..]) {
            (Ok(_), &[operations, took_ns]) => {
                Ok(LoopTurn { operations, took_ns, ended_ns: took_ns })
            }
            (Ok(_), &[operations, took_ns, ended_ns]) => {
                Ok(LoopTurn { operations, took_ns, ended_ns })
            }
            _ => Err("a loop ended; what it said stands above".to_owned()),
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The programs of an order: the adapter's environment, and the loop. Where driver and program are
/// one binary, `benches/loops/NAME/link` makes both with their functions in an order that it draws.
/// As linked otherwise, the order alone moved one and the same loop by 7 %.
fn built(environment: &Environment, order: u32) -> Result<(Environment, Vec<String>), String> {
    let link = benches(&format!("loops/{}/link", environment.adapter));
    if !Path::new(&link).exists() {
        return Ok((environment.clone(), program(environment)?));
    }
    let work = work(&format!("{}/{order}", environment.adapter))?;
    let [adapter, bare] = ["adapter", "loop"].map(|name| vec![format!("{work}/{name}")]);
    let mut command = environment.command(&[link.clone(), work, (order + 1).to_string()]);
    let status = command.status().map_err(|error| format!("{link}: {error}"))?;
    if !status.success() {
        return Err(format!("{link}: {status}; what it said stands above"));
    }
    Ok((Environment { start: adapter, ..environment.clone() }, bare))
}

/// `benches/loops/NAME/run` knows how its language builds and starts a program.
pub fn program(environment: &Environment) -> Result<Vec<String>, String> {
    let run = benches(&format!("loops/{}/run", environment.adapter));
    Ok(vec![run, work(&environment.adapter)?])
}

/// A folder to build in.
fn work(name: &str) -> Result<String, String> {
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loops").join(name);
    fs::create_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))?;
    Ok(work.display().to_string())
}
