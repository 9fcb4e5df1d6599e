//! The tap in front of an application, from start to Ctrl-C.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use crate::support::{block_on, run, said};
use crate::tap_support::{ask, connect, host_of, msg};
use bson::{Document, doc, rawdoc};
use mongodb::Client;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use stats::hlog::IntervalLog;
use tap::exchange;
use tap::standalone::TapReport;

async fn application(uri: &str) -> mongodb::error::Result<()> {
    let client = Client::with_uri_str(uri).await?;
    let items = client.database("tap_alone").collection::<Document>("items");
    items.insert_many((0..1000).map(|number| doc! { "_id": number })).await?;
    for number in 0..300 {
        items.find_one(doc! { "_id": number }).await?;
    }
    items.drop().await
}

#[test]
fn an_application_is_watched_and_ctrl_c_prints_the_summary() {
    let name = "an_application_is_watched_and_ctrl_c_prints_the_summary";
    let Some(uri) = crate::support::server(name) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let to = host_of(uri);
    let mut command =
        crate::support::mongodyno(["tap", "--listen", "127.0.0.1:0", "--to", &to, "--out"]);
    command.arg(&out).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut tap = command.spawn().expect("the binary runs");
    let mut stderr = BufReader::new(tap.stderr.take().expect("piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("a line");
    let address = line.split(['n', ',']).find_map(|it| it.strip_prefix("g on "));
    let address = address.map(str::to_owned).or_else(|| {
        let (_, rest) = line.split_once("listening on ")?;
        Some(rest.split_once(',')?.0.to_owned())
    });
    let address = address.unwrap_or_else(|| panic!("no address: {line}"));
    let through = format!("mongodb://{address}/?directConnection=true");
    block_on(application(&through)).expect("it works");
    let pid = Pid::from_raw(tap.id().cast_signed());
    kill(pid, Signal::SIGINT).expect("it lives");
    let (mut summary, mut rest) = (String::new(), String::new());
    tap.stdout.take().expect("piped").read_to_string(&mut summary).expect("text");
    stderr.read_to_string(&mut rest).expect("text");
    assert!(tap.wait().expect("ends").success(), "{summary}{rest}");
    eprintln!("{summary}");
    let row = |command: &str| {
        let found = summary.lines().find(|line| line.trim_start().starts_with(command));
        let row = found.unwrap_or_else(|| panic!("no {command} in {summary}"));
        row.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("find")[1], "300");
    assert_eq!((&row("insert")[1][..], &row("insert")[5][..]), ("1", "1,000"));
    assert_ne!(row("find")[3], "n/a", "300 are enough for a median");
    assert_eq!(row("find")[4], "n/a", "and too few for p99");

    let text = fs::read(out.join("tap.json")).expect("tap.json");
    let report: TapReport = serde_json::from_slice(&text).expect("a report");
    assert_eq!((&report.to, &report.listen), (&to, &address));
    assert_eq!(report.tap.commands["find"].count, 300);
    assert!(report.warnings.is_empty() && report.tap.connections_opened >= 2, "{report:?}");
    let exchanges = exchange::read(&out.join("exchanges.bin")).expect("exchanges");
    let all: u64 = report.tap.commands.values().map(|it| it.count).sum();
    assert_eq!(exchanges.len() as u64, all);
    let log = fs::read(out.join("tap.hlog")).expect("tap.hlog");
    let log = IntervalLog::read(&log).expect("an interval log");
    let finds = log.intervals.iter().filter(|it| it.tag.as_deref() == Some("find"));
    assert_eq!(finds.map(|it| it.histogram.count()).sum::<u64>(), 300);
    assert!(log.start_time.is_some());
}

#[test]
fn an_application_goes_on_when_the_disk_is_full_and_the_terminal_gone() {
    let name = "an_application_goes_on_when_the_disk_is_full_and_the_terminal_gone";
    let Some(uri) = crate::support::server(name) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    // Files may have 2,048 bytes: some 25 exchanges.
    let script = "ulimit -f 4; exec \"$0\" tap --listen 0.0.0.0:0 --to \"$1\" --out \"$2\"";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_mongodyno"), &host_of(uri)]).arg(&out);
    let mut tap = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(tap.stderr.take().expect("piped")).lines();
    let mut until = |part: &str| {
        let found = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(part)));
        found.unwrap_or_else(|| panic!("it does not say: {part}")).expect("text")
    };
    let line = until("listening on ");
    let port = line.split_once("0.0.0.0:").and_then(|(_, rest)| rest.split(',').next());
    let port = port.and_then(|port| port.parse().ok()).expect("a port");
    until("this is not 127.0.0.1: whoever reaches the port");
    let mut application = connect((std::net::Ipv4Addr::LOCALHOST, port).into());
    let mut ping = |count: i32| {
        for id in 0..count {
            ask(&mut application, &msg(id, 0, &rawdoc! { "find": "none", "$db": "tap_alone" }));
        }
    };
    ping(100);
    until("nothing is written down any more: cannot write");
    let pid = Pid::from_raw(tap.id().cast_signed());
    kill(pid, Signal::SIGHUP).expect("it lives");
    ping(100);
    kill(pid, Signal::SIGINT).expect("it lives");
    until("error: cannot write");
    let mut summary = String::new();
    tap.stdout.take().expect("piped").read_to_string(&mut summary).expect("text");
    assert_eq!(tap.wait().expect("ends").code(), Some(5), "{summary}");
    assert!(summary.contains("200") && summary.contains("exchanges.bin and tap.hlog end after"));
    assert!(exchange::read(&out.join("exchanges.bin")).expect("exchanges").len() <= 25);
}

#[test]
fn mistakes_are_named_before_anything_listens() {
    let cases: [(&[&str], &str); 5] = [
        (&["--to", "mongodb://127.0.0.1:27017/"], "connection string"),
        (&["--to", "127.0.0.1"], "HOST:PORT"),
        (&["--to", "127.0.0.1:9", "--link", "fast"], "lan-100mbit"),
        (&["--to", "127.0.0.1:9", "--arms", "2", "--out", "x"], "--out"),
        (&["--to", "127.0.0.1:9", "--mark", "producer"], "producer,sequence"),
    ];
    for (words, part) in cases {
        let output = run([&["tap"], words].concat());
        let said = said(&output);
        assert!(output.status.code() == Some(2) && said.contains(part), "{said}");
    }
}
