//! Databases on somebody else's server. Nothing without our marker is ever dropped. The leftovers
//! of a killed experiment are named and can be cleaned away.

use std::process::Child;

use crate::fake_support::real::{databases as names, own_server, with_client};
use crate::fake_support::{Lab, QUICK, code, noop, pid, send, stderr, stdout, wait_until};
use crate::support::{block_on, said};
use measure::admin::{Admin, is_database, new_database};
use mongodb::bson::{DateTime, Document, doc};
use nix::sys::signal::Signal;

const MARKER: &str = "made_by_mongodyno";

/// A lab with a fake, and a server of the test's own: `clean` sees all of a server.
fn lab(test: &str) -> Option<(Lab, server::ServerHandle)> {
    let server = own_server(test, &[])?;
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    Some((lab, server))
}

/// Changes the marker of a database.
fn set(uri: &str, name: &str, fields: Document) {
    with_client(uri, async |client| {
        let markers = client.database(name).collection::<Document>(MARKER);
        markers.update_one(doc! {}, doc! { "$set": fields }).await
    });
}

fn marker(uri: &str, name: &str) -> Document {
    with_client(uri, async |client| {
        client.database(name).collection::<Document>(MARKER).find_one(doc! {}).await
    })
    .expect("a marker")
}

/// A database that is claimed, as an experiment does it, by a process that has ended.
fn claimed(uri: &str) -> String {
    let name = new_database();
    block_on(async {
        let mut admin = Admin::connect(uri, &name).await.expect("a client");
        admin.claim("test").await.expect("it is free");
        let mut other = Admin::connect(uri, &name).await.expect("a client");
        assert!(other.claim("again").await.is_err(), "it is there already");
    });
    // The same number, of a process that started at another time.
    set(uri, &name, doc! { "start_ticks": 1_i64 });
    name
}

/// Begins an experiment of many rounds and waits for the first.
fn begin(lab: &Lab, uri: &str) -> (Child, String) {
    let noop = noop();
    let words = ["run", &noop, "--out", "out", "--rounds", "900", "-d", "even", "--uri", uri];
    let child = lab.start(words);
    lab.wait_for_runs(2);
    let record = lab.record();
    let name = record["databases"][0]["name"].as_str().expect("a name").to_owned();
    assert!(is_database(&name) && names(uri).contains(&name), "{name}");
    (child, name)
}

/// Seen after an error: the last write of a killed adapter made the dropped database anew, without
/// a marker.
#[test]
fn late_writes_of_killed_adapters_bring_no_database_back() {
    let test = "faults_databases/late_writes_of_killed_adapters_bring_no_database_back";
    let Some(server) = own_server(test, &[]) else { return };
    let name = new_database();
    with_client(server.uri(), async |client| {
        let mut admin = Admin::connect(server.uri(), &name).await.expect("a client");
        admin.claim("test").await.expect("it is free");
        let items = client.database(&name).collection("items");
        items.insert_one(doc! { "made": "before" }).await?;
        let late = async {
            for number in 0..20 {
                items.insert_one(doc! { "late": number }).await.expect("an insert");
            }
        };
        let (dropped, ()) = tokio::join!(admin.drop_database(), late);
        dropped.expect("it is ours");
        Ok(())
    });
    assert!(!names(server.uri()).contains(&name), "{:?}", names(server.uri()));
}

#[test]
fn only_databases_with_our_marker_are_cleaned_away() {
    let test = "faults_databases/only_databases_with_our_marker_are_cleaned_away";
    let Some((lab, server)) = lab(test) else { return };
    let uri = server.uri();
    let ours = [claimed(uri), claimed(uri)];
    // Ours by the name; by the name, with the marker of another one; by the marker alone.
    let foreign = [new_database(), new_database(), "mongodyno_x".to_owned()];
    with_client(uri, async |client| {
        let markers = client.database(&ours[0]).collection::<Document>(MARKER);
        let copied = markers.find_one(doc! {}).await?.expect("a marker");
        for (number, name) in foreign.iter().enumerate() {
            let database = client.database(name);
            database.collection("thesis").insert_one(doc! { "years": 3 }).await?;
            if number > 0 {
                database.collection(MARKER).insert_one(copied.clone()).await?;
            }
        }
        Ok(())
    });
    let clean = |more: &[&str]| lab.run([&["clean", "--uri", uri], more].concat());
    // A database of another machine, an hour and a minute after its last sign of life.
    let ago = |ms: i64| DateTime::from_millis(DateTime::now().timestamp_millis() - ms);
    set(uri, &ours[1], doc! { "system": "elsewhere", "heartbeat": ago(3_600_000) });
    let living = claimed(uri);
    set(uri, &living, doc! { "system": "elsewhere", "heartbeat": ago(60_000) });
    let foreign = [&foreign[..], &[living]].concat();
    let shown = clean(&["--dry-run"]);
    assert_eq!(code(&shown), 0, "{}", said(&shown));
    for name in &foreign[..2] {
        let note =
            format!("note: {name} is called like a database of mongodyno, but has no marker");
        assert!(stderr(&shown).contains(&note), "{}", said(&shown));
    }
    let note = format!("note: {} stays: its experiment test lives", foreign[3]);
    assert!(stderr(&shown).contains(&note), "{}", said(&shown));
    assert!(ours.iter().all(|it| stdout(&shown).contains(it)), "{}", said(&shown));
    assert!(!foreign.iter().any(|it| stdout(&shown).contains(it)), "{}", said(&shown));
    let unasked = clean(&[]);
    assert_eq!(code(&unasked), 2, "{}", said(&unasked));
    assert!(stderr(&unasked).contains("\nhint: add --yes"), "{}", said(&unasked));
    assert!(ours.iter().all(|it| names(uri).contains(it)), "nothing was dropped yet");
    let dropped = clean(&["--yes"]);
    assert_eq!(code(&dropped), 0, "{}", said(&dropped));
    let left = names(uri);
    assert!(!ours.iter().any(|it| left.contains(it)), "{left:?}");
    assert!(foreign.iter().all(|it| left.contains(it)), "{left:?}");
    let none = "no database of an experiment that has ended is there\n";
    assert_eq!(stdout(&clean(&["--yes"])), none);
}

#[test]
fn the_database_of_a_living_experiment_is_not_cleaned_away() {
    let test = "faults_databases/the_database_of_a_living_experiment_is_not_cleaned_away";
    let Some((lab, server)) = lab(test) else { return };
    let uri = server.uri();
    let (mut child, name) = begin(&lab, uri);
    let kept = lab.run(["clean", "--yes", "--uri", uri]);
    assert_eq!(code(&kept), 0, "{}", said(&kept));
    let note = format!("note: {name} stays: its experiment ");
    let lives = format!(" lives (process {} of this machine)", pid(&child));
    assert!(stderr(&kept).contains(&note) && stderr(&kept).contains(&lives), "{}", said(&kept));
    assert!(names(uri).contains(&name), "{}", said(&kept));
    let beat = || *marker(uri, &name).get_datetime("heartbeat").expect("a time");
    let first = beat();
    wait_until("it beats", || beat() > first);
    send(pid(&child), Signal::SIGKILL);
    child.wait().expect("it ended");
    let cleaned = lab.run(["clean", "--yes", "--uri", uri]);
    assert!(!names(uri).contains(&name), "{}", said(&cleaned));
}

#[test]
fn a_killed_runs_database_is_named_and_no_other_is_dropped() {
    let test = "faults_databases/a_killed_runs_database_is_named_and_no_other_is_dropped";
    let Some((lab, server)) = lab(test) else { return };
    let uri = server.uri();
    let (mut child, name) = begin(&lab, uri);
    send(pid(&child), Signal::SIGKILL);
    child.wait().expect("it ended");
    lab.assert_nothing_runs();
    let warning = format!("warning: the database {name} is left on the server");
    let report = lab.run(["report", "out"]);
    assert!(stderr(&report).contains(&warning), "{}", said(&report));

    // A made-up folder claims these databases.
    let path = lab.path("out/experiment.json");
    let record = std::fs::read_to_string(&path).expect("a record");
    let mut record: serde_json::Value = serde_json::from_str(&record).expect("JSON");
    let id = record["id"].as_str().expect("an id").to_owned();
    record["id"] = "production".into();
    record["databases"][0]["name"] = "production\u{1b}[2J".into();
    for name in ["production", "mongodyno_production"] {
        with_client(uri, async |client| {
            client.database(name).collection("thesis").insert_one(doc! { "years": 3 }).await
        });
    }
    std::fs::write(&path, record.to_string()).expect("a record");
    let noop = noop();
    let mut again = lab.start(["resume", "out", "--workload", &noop, "--uri", uri]);
    lab.wait_for_runs(4);
    send(pid(&again), Signal::SIGINT);
    let done = lab.finish(&mut again);
    assert_eq!(done.code, 130, "{}", done.stderr);
    assert!(!done.stderr.contains("production"), "{}", done.stderr);
    let left = names(uri);
    for kept in ["production", "mongodyno_production", &name] {
        assert!(left.contains(&kept.to_owned()), "{kept} in {left:?}");
    }
    let record = lab.record();
    let databases = record["databases"].as_array().expect("databases");
    assert_eq!(databases.len(), 2, "another one each time: {databases:?}");
    assert_eq!(databases[1]["dropped"], true, "{databases:?}");
    let own = databases[1]["name"].as_str().expect("a name").to_owned();
    assert!(own != name && !left.contains(&own), "{left:?}");
    let cleaned = lab.run(["clean", "--yes", "--uri", uri]);
    assert!(stdout(&cleaned).contains(&id), "whose it was: {}", said(&cleaned));
    assert!(!names(uri).contains(&name), "{}", said(&cleaned));
}

#[test]
fn a_database_without_the_marker_is_left_and_named() {
    let test = "faults_databases/a_database_without_the_marker_is_left_and_named";
    let Some((lab, server)) = lab(test) else { return };
    let uri = server.uri();
    let (mut child, name) = begin(&lab, uri);
    // Somebody restored a database of this name in the meantime.
    with_client(uri, async |client| {
        client.database(&name).collection("thesis").insert_one(doc! { "years": 3 }).await?;
        client.database(&name).collection::<Document>(MARKER).drop().await
    });
    send(pid(&child), Signal::SIGINT);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 130, "{}", done.stderr);
    let warning = format!("warning: the database {name} was not dropped: ");
    assert!(done.stderr.contains(&warning), "{}", done.stderr);
    assert!(done.stderr.contains("drop it by hand"), "clean does not: {}", done.stderr);
    assert!(names(uri).contains(&name));
    assert_eq!(lab.record()["databases"][0]["dropped"], false);
}

#[test]
fn ctrl_c_ends_a_check_and_leaves_nothing() {
    let test = "faults_databases/ctrl_c_ends_a_check_and_leaves_nothing";
    let Some((lab, server)) = lab(test) else { return };
    let uri = server.uri();
    // No vector has so many phases: it falls asleep on the server.
    lab.fake("asleep", &[QUICK, "at=prepare:10", "fault=hang"]);
    let ours = || names(uri).into_iter().filter(|name| is_database(name)).count();
    let mut child = lab.start(["check", "asleep", "--uri", uri]);
    wait_until("it works on the server", || ours() > 0);
    send(pid(&child), Signal::SIGINT);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 130, "{}", done.stderr);
    assert_eq!(ours(), 0);
    let left = std::fs::read_dir(lab.path("home/check")).expect("a folder").count();
    assert_eq!(left, 0, "its scratch folder is gone");
    lab.assert_nothing_runs();
}

#[test]
fn a_user_who_may_only_write_leaves_nothing() {
    let test = "faults_databases/a_user_who_may_only_write_leaves_nothing";
    let Some(server) = own_server(test, &["--auth"]) else { return };
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    // mongod lets a client of the same machine make the first user.
    let root = doc! { "createUser": "root", "pwd": "r00t", "roles": ["root"] };
    with_client(server.uri(), async |client| client.database("admin").run_command(root).await);
    let of = |user: &str| server.uri().replace("mongodb://", &format!("mongodb://{user}@"));
    let roles = ["readWriteAnyDatabase", "clusterMonitor"];
    let writer = doc! { "createUser": "writer", "pwd": "wr1ter", "roles": roles.to_vec() };
    let root = of("root:r00t");
    with_client(&root, async |client| client.database("admin").run_command(writer).await);
    let noop = noop();
    let uri = of("writer:wr1ter");
    let words = ["run", &noop, "--out", "out", "--rounds", "1", "-d", "even", "--uri", &uri];
    let output = lab.run(words);
    assert!(!stderr(&output).contains("warning: the database"), "{}", said(&output));
    assert_eq!(lab.record()["databases"][0]["dropped"], true, "{}", said(&output));
    assert!(!names(&root).iter().any(|name| is_database(name)), "{:?}", names(&root));
}
