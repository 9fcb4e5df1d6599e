//! The absorber against a server that answers each message with canned bytes and a patched
//! `responseTo`. Both pay the cost of being a server at all.
//!
//! The canned server is lean: a thread for each connection, two system calls for each message. Its
//! answers are the absorber's own, kept at its start.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command as Process, ExitCode};
use std::time::Duration;

use bson::{RawDocumentBuf, doc};
use stats::descriptive::median;
use wire::{HEADER_BYTES, Header, OpCode, reply_messages};

use crate::raw::{Command, Raw, document, message};
use crate::servers::Listening;
use crate::stand::{DATABASE, Stand, environment, pairs};
use crate::support::{Bench, Outcome, centre, ratio, table};

/// First word of the canned server's command line.
pub const CHILD: &str = "canned-child";
/// Round trips of a stretch: some 5 ms, so that disturbances fall on both servers alike.
const STRETCH: u64 = 200;
const STRETCHES: u64 = 100;
const LONG_STRETCHES: u64 = 400;
/// Not counted: connections, caches and clock speed settle.
const WARMUP_STRETCHES: u64 = 10;
const ADDED_US_MAX: f64 = 5.0;

const THREADS: u32 = 8;
const TURN: Duration = Duration::from_millis(250);
const TURNS: u32 = 20;
const LONG_TURNS: u32 = 60;
const THROUGHPUT_RATIO_MIN: f64 = 0.60;

pub fn run(bench: &Bench) -> Outcome {
    let near = round_trips(bench)?;
    println!();
    let fast = throughput(bench)?;
    Ok(near && fast)
}

/// Both servers; the canned one has a document to answer.
fn servers(bench: &Bench, collection: &str) -> Result<(Listening, Listening), String> {
    let absorber = Listening::absorber(bench, &["--memory", "4GiB"], &[])?;
    let mut raw = Raw::connect(&absorber.address)?;
    let [_, mut insert, ..] = Command::all(DATABASE, collection);
    for key in 0..STRETCH {
        raw.answer(&mut insert, key)?;
    }
    let mut process = Process::new(std::env::current_exe().map_err(|error| error.to_string())?);
    process.args([CHILD, &absorber.address, collection]);
    let canned = Listening::start(bench, process)?;
    Ok((absorber, canned))
}

/// Stretches of each command on both servers, one after the other, in turn first.
fn round_trips(bench: &Bench) -> Outcome {
    let (absorber, canned) = servers(bench, "read")?;
    let mut connections = [Raw::connect(&canned.address)?, Raw::connect(&absorber.address)?];
    // Found and updated documents stay; inserted ones are deleted again.
    let [ping, _, find, update, _] = Command::all(DATABASE, "read");
    let [_, insert, _, _, delete] = Command::all(DATABASE, "written");
    let mut commands = [ping, insert, find, update, delete];
    let mut p50_us: Vec<[Vec<f64>; 2]> = commands.iter().map(|_| Default::default()).collect();
    let stretches = if bench.long { LONG_STRETCHES } else { STRETCHES };
    for stretch in 0..WARMUP_STRETCHES + stretches {
        for (command, kept) in commands.iter_mut().zip(&mut p50_us) {
            let order = if stretch % 2 == 0 { [0, 1] } else { [1, 0] };
            for server in order {
                let raw = &mut connections[server];
                let times: Result<Vec<f64>, _> =
                    (0..STRETCH).map(|key| raw.time(command, key)).collect();
                let p50 = median(&times?).ok_or("no round trip")?;
                if stretch >= WARMUP_STRETCHES {
                    kept[server].push(p50);
                }
            }
        }
    }
    verify(&mut connections[1], &mut commands)?;
    let mut rows = Vec::new();
    let mut reached = true;
    for (command, [canned, absorber]) in commands.iter().zip(&p50_us) {
        let added: Vec<f64> = canned.iter().zip(absorber).map(|(a, b)| b - a).collect();
        let added = centre(&added)?;
        reached &= added.estimate <= ADDED_US_MAX;
        let middle = |values: &[f64]| format!("{:.2}", median(values).unwrap_or(f64::NAN));
        rows.push(vec![
            command.name.to_owned(),
            middle(canned),
            middle(absorber),
            format!("{:.2}", added.estimate),
            format!("{:.2} to {:.2}", added.low, added.high),
        ]);
    }
    table(&["command", "canned p50 us", "absorber p50 us", "added us", "95 % interval"], &rows);
    println!(
        "\n{stretches} pairs of stretches of {STRETCH} round trips on one connection; added: \
         centre of the pairs' differences of p50\ngoal: at most {ADDED_US_MAX} us for each command"
    );
    Ok(reached)
}

/// The absorber really did the timed work: the next command of each kind has an effect.
fn verify(absorber: &mut Raw, commands: &mut [Command]) -> Result<(), String> {
    for command in commands {
        let answer = absorber.answer(command, 0)?;
        let right = match command.name {
            "ping" => answer.get("ok").is_some_and(|ok| ok.as_f64() == Some(1.0)),
            "find" => {
                let cursor = answer.get_document("cursor");
                cursor.and_then(|it| it.get_array("firstBatch")).is_ok_and(|it| it.len() == 1)
            }
            "update" => answer.get_i32("nModified").is_ok_and(|n| n == 1),
            _ => answer.get_i32("n").is_ok_and(|n| n == 1),
        };
        if !right {
            return Err(format!("{} was answered with {answer}", command.name));
        }
    }
    Ok(())
}

/// Turns of the Rust adapter at both servers.
fn throughput(bench: &Bench) -> Outcome {
    let environment = environment("rust")?;
    let mut rows = Vec::new();
    let mut reached = true;
    for phase in ["find_one", "insert_one"] {
        let mut stand = Stand::of(bench, "crud", THREADS)?;
        let (absorber, canned) = servers(bench, "read")?;
        stand.load(&absorber.uri(), DATABASE, phase)?;
        let mut arms = Vec::new();
        for (number, server) in [&canned, &absorber].into_iter().enumerate() {
            arms.push(stand.start(&environment, &server.uri(), DATABASE, phase, number)?);
        }
        let turns = if bench.long { LONG_TURNS } else { TURNS };
        let warmup = (environment.warmup_s / TURN.as_secs_f64()).ceil() as u32;
        let turn = |side: usize| stand.turn(&mut arms[side], TURN);
        let [canned, absorber] = pairs(turns, warmup, turn)?;
        for arm in arms {
            stand.end(arm)?;
        }
        let ratios: Vec<f64> = canned.iter().zip(&absorber).map(|(a, b)| (b / a).ln()).collect();
        let (middle, text) = ratio(&ratios)?;
        reached &= middle >= THROUGHPUT_RATIO_MIN;
        let rate = |values: &[f64]| format!("{:.0}", median(values).unwrap_or(f64::NAN));
        rows.push(vec![phase.to_owned(), rate(&canned), rate(&absorber), text]);
    }
    table(&["operation", "canned /s", "absorber /s", "ratio [95 %]"], &rows);
    println!(
        "\nthe Rust adapter with {THREADS} workers, pairs of turns of {} ms\ngoal: a ratio of at \
         least {THROUGHPUT_RATIO_MIN:.2}",
        TURN.as_millis()
    );
    Ok(reached)
}

/// Learns the answers from an absorber, says where it listens, and serves until it is killed.
pub fn child(words: &[String]) -> ExitCode {
    let [absorber, collection] = words else { return ExitCode::from(2) };
    match record(absorber, collection).and_then(|answers| listen(&answers)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Clone)]
struct Canned {
    opcode: OpCode,
    /// The command and a zero byte.
    name: Vec<u8>,
    message: Vec<u8>,
}

impl Canned {
    fn new(opcode: OpCode, name: &str, message: Vec<u8>) -> Self {
        Self { opcode, name: [name.as_bytes(), &[0]].concat(), message }
    }
}

/// Asks the absorber everything that drivers and figures ask.
fn record(absorber: &str, collection: &str) -> Result<Vec<Canned>, String> {
    let mut raw = Raw::connect(absorber)?;
    let mut answers = Vec::new();
    for mut command in Command::all(DATABASE, collection) {
        // A new key: an insert is no duplicate, and the later commands find the document.
        let bytes = raw.exchange(command.message(1 << 32))?.to_vec();
        answers.push(Canned::new(OpCode::Msg, command.name, bytes));
    }
    for name in ["hello", "isMaster", "ismaster", "buildInfo", "endSessions"] {
        let value = if name == "endSessions" { bson::bson!([]) } else { bson::bson!(1) };
        let asked = raw.exchange(&message(&doc! { name: value, "$db": "admin" }, None))?;
        let mut answer = document(asked)?;
        // This field makes drivers ask for an answer at the next change, and repeat that at once.
        answer.remove("topologyVersion");
        let answer = RawDocumentBuf::try_from(&answer).map_err(|error| error.to_string())?;
        let (mut msg, mut legacy) = (Vec::new(), Vec::new());
        reply_messages::msg(&mut msg, 0, 0, &answer);
        reply_messages::legacy(&mut legacy, 0, 0, reply_messages::AWAIT_CAPABLE, 0, 0, [&*answer]);
        answers.push(Canned::new(OpCode::Msg, name, msg));
        answers.push(Canned::new(OpCode::Query, name, legacy));
    }
    Ok(answers)
}

fn listen(answers: &[Canned]) -> Result<(), String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    println!("{}", serde_json::json!({ "type": "listening", "address": address.to_string() }));
    for stream in listener.incoming().flatten() {
        // Separate copies: they are patched in place.
        let answers = answers.to_vec();
        std::thread::spawn(move || serve(stream, answers));
    }
    Ok(())
}

/// Answers one connection until it ends.
fn serve(mut stream: TcpStream, mut answers: Vec<Canned>) {
    let _ = stream.set_nodelay(true);
    let mut buffer = vec![0; 1 << 20];
    let mut have = 0;
    loop {
        match stream.read(&mut buffer[have..]) {
            Ok(0) | Err(_) => return,
            Ok(more) => have += more,
        }
        let Some(length) = whole(&buffer[..have]) else { continue };
        let Some(answer) = answer(&mut answers, &buffer[..length]) else {
            eprintln!("a message that has no canned answer: {:?}", &buffer[..length.min(80)]);
            return;
        };
        if stream.write_all(answer).is_err() {
            return;
        }
        buffer.copy_within(length..have, 0);
        have -= length;
    }
}

/// Length of the first message, once it is complete.
fn whole(bytes: &[u8]) -> Option<usize> {
    let length = u32::from_le_bytes(*bytes.first_chunk()?) as usize;
    (bytes.len() >= length).then_some(length)
}

fn answer<'a>(answers: &'a mut [Canned], message: &[u8]) -> Option<&'a [u8]> {
    let header = Header::parse(message.first_chunk::<HEADER_BYTES>()?).ok()?;
    // Flags and a section's kind; or flags, a collection's name and two numbers.
    let mut body = HEADER_BYTES + 5;
    if header.opcode == OpCode::Query {
        let name = message[HEADER_BYTES + 4..].iter().position(|byte| *byte == 0)?;
        body = HEADER_BYTES + 4 + name + 1 + 8;
    }
    // Behind a document's length and the type of its first element stands the command.
    let command = message.get(body + 5..)?;
    let fits = |it: &&mut Canned| it.opcode == header.opcode && command.starts_with(&it.name);
    let known = &mut answers.iter_mut().find(fits)?.message;
    known[8..12].copy_from_slice(&header.request_id.to_le_bytes());
    Some(known)
}
