//! Every adapter on servers as users have them: behind TLS with a private authority, and
//! behind a name in the DNS.

use std::fs;
use std::process::Command;

use crate::fake_support::real::{lab_with, own_server, with_client};
use crate::fake_support::{Lab, code, flat, stderr, stdout};
use crate::support::{said, skip};
use bson::doc;
use server::ServerHandle;

const DRIVERS: [&str; 4] = ["python", "go", "node", "rust"];

/// `run` of the inserts with every adapter, one round of whole runs: turns would be 40.
fn words<'a>(uri: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let drivers = DRIVERS.iter().flat_map(|driver| ["-d", *driver]);
    let run = ["run", "inserts.yaml", "--out", "out", "--rounds", "1", "--uri", uri];
    let whole = ["--interleave", "runs"];
    run.into_iter().chain(whole).chain(drivers).chain(more.iter().copied()).collect()
}

/// Every run was measured, and none of its operations failed.
fn assert_measured(lab: &Lab, told: &str) {
    let runs = lab.runs();
    assert!(runs.len() > DRIVERS.len(), "an arm each, and the A/A arm: {told}");
    for run in runs {
        assert!(run["failed"].is_null() && run["errors"].as_array().is_none_or(Vec::is_empty));
    }
}

/// An authority, a server's key signed by it, and another authority.
fn certificates(lab: &Lab) {
    let script = "
        set -e
        for name in ca other; do
            openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=$name \\
                -keyout $name.key -out $name.pem 2>/dev/null
        done
        openssl req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr \\
            2>/dev/null
        echo subjectAltName=IP:127.0.0.1 >names
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 \\
            -extfile names -out server.crt 2>/dev/null
        cat server.key server.crt >server.pem
    ";
    let output = Command::new("sh").args(["-c", script]).current_dir(lab.path("")).output();
    let output = output.expect("a shell");
    assert!(output.status.success(), "{}", said(&output));
}

/// A server that accepts nothing but TLS.
fn tls_server(test: &str, lab: &Lab) -> Option<ServerHandle> {
    certificates(lab);
    let file = |name| lab.path(name).display().to_string();
    let server = own_server(
        test,
        &[
            "--tlsMode=preferTLS",
            &format!("--tlsCertificateKeyFile={}", file("server.pem")),
            &format!("--tlsCAFile={}", file("ca.pem")),
            "--tlsAllowConnectionsWithoutCertificates",
        ],
    )?;
    with_client(server.uri(), async |client| {
        let require = doc! { "setParameter": 1, "tlsMode": "requireTLS" };
        client.database("admin").run_command(require).await.map(drop)
    });
    Some(server)
}

#[test]
fn all_adapters_speak_tls_and_a_certificate_that_does_not_fit_is_named() {
    let name = "all_adapters_speak_tls_and_a_certificate_that_does_not_fit_is_named";
    let Some(lab) = lab_with(name, &DRIVERS) else { return };
    let Some(server) = tls_server(name, &lab) else { return };
    // The file is found from here, where adapters do not run.
    let uri = |options: &str| format!("{}?tls=true{options}", server.uri());
    let own = uri("&tlsCAFile=ca.pem");
    let output = lab.run(words(&own, &[]));
    assert_measured(&lab, &said(&output));
    let refusals = [
        (uri("&tlsCAFile=other.pem"), "UnknownIssuer\nhint: the authority in tlsCAFile has not"),
        (uri(""), "UnknownIssuer\nhint: name the certificate's authority with"),
        (uri("&tlsCAFile=missing.pem"), "(os error 2)\nhint: correct the path; tlsCAFile and"),
        (server.uri().to_owned(), "it probably expects TLS\nhint: add tls=true to the URI"),
    ];
    for (uri, expected) in refusals {
        let output = lab.run(["run", "inserts.yaml", "-d", "python", "--uri", &uri]);
        let told = stderr(&output);
        assert!(code(&output) == 4 && told.contains(expected), "{uri}: {}", said(&output));
    }
    // The tap sees bytes and no commands, and says so.
    fs::remove_dir_all(lab.path("out")).expect("it is there");
    let output = lab.run([
        "run",
        "inserts.yaml",
        "-d",
        "python",
        "--rounds",
        "1",
        "--interleave",
        "runs",
        "--out",
        "out",
        "--tap",
        "--details",
        "--uri",
        &own,
    ]);
    let shown = flat(&stdout(&output));
    assert!(shown.contains("NOT ALL SEEN by the tap: the connection is TLS"), "{}", said(&output));
}

#[test]
fn all_adapters_find_a_cluster_by_its_srv_record() {
    let name = "all_adapters_find_a_cluster_by_its_srv_record";
    let private = Command::new("unshare").args(["-mn", "true"]).output();
    if !private.is_ok_and(|output| output.status.success()) {
        return skip(name, "`unshare -mn` needs root");
    }
    let Some(lab) = lab_with(name, &DRIVERS) else { return };
    // A network with nothing in it but a name server and an absorber.
    let script = r#"
        ip link set lo up || exit 99
        echo nameserver 127.0.0.1 >resolv.conf
        mount --bind resolv.conf /etc/resolv.conf || exit 98
        python3 "$NAMES" 27555 & names=$!
        "$0" absorber --listen 127.0.0.1:27555 >listening & absorber=$!
        until [ -s listening ]; do kill -0 $absorber || exit 97; sleep 0.05; done
        "$0" "$@"; code=$?
        kill $names $absorber
        exit $code
    "#;
    let uri = "mongodb+srv://db.cluster.test/?tls=false";
    let mut command = lab.wrapped(&["unshare", "-mn", "sh", "-c", script], words(uri, &[]));
    command.env("NAMES", crate::support::root().join("tests/clients/names.py"));
    let output = command.output().expect("it starts");
    assert_measured(&lab, &said(&output));

    let uri = "mongodb+srv://user:s3cret@no.such.host.invalid/";
    let output = lab.run(["run", "inserts.yaml", "-d", "python", "--uri", uri]);
    let expected =
        "error: the host name in mongodb+srv://***:***@no.such.host.invalid/ is unknown\n";
    assert!(stderr(&output).contains(expected), "{}", said(&output));
}
