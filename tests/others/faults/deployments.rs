//! Deployments in trouble: users without rights, an election in the middle.

use crate::fake_support::real::{databases, own_server, real_lab, with_client, words};
use crate::fake_support::{code, stderr, wait_until};
use crate::support::{comes_true, said};
use bson::doc;
use server::ServerHandle;

#[test]
fn a_missing_right_is_named_with_the_roles_that_are_enough() {
    let test = "a_missing_right_is_named_with_the_roles_that_are_enough";
    let (Some(lab), Some(server)) = (real_lab(test), own_server(test, &["--auth"])) else { return };
    let enough = ["readWriteAnyDatabase", "clusterMonitor"];
    with_client(server.uri(), async |client| {
        let admin = client.database("admin");
        let root = doc! { "createUser": "root", "pwd": "p", "roles": ["root"] };
        admin.run_command(root).await.map(drop)
    });
    let uri = |user: &str| server.uri().replace("://", &format!("://{user}:p@"));
    with_client(&uri("root"), async |client| {
        for (user, roles) in [
            ("nobody", &[][..]),
            ("reader", &["readAnyDatabase", "clusterMonitor"]),
            ("writer", &["readWriteAnyDatabase"]),
            ("enough", &enough),
        ] {
            let roles: Vec<&str> = roles.to_vec();
            let command = doc! { "createUser": user, "pwd": "p", "roles": roles };
            client.database("admin").run_command(command).await?;
        }
        Ok(())
    });
    for (user, command) in [("nobody", ""), ("reader", ""), ("writer", "serverStatus")] {
        let output = lab.run(words(&["--rounds", "1", "--uri", &uri(user)]));
        let expected = format!(
            "error: the user in the URI may not do what an experiment needs: \
                                {command}"
        );
        let roles = format!("\nhint: these roles are enough: {}\n", enough.join(", "));
        let told = stderr(&output);
        let is_said = told.contains(&expected) && told.contains(&roles);
        assert!(code(&output) == 4 && is_said && !told.contains(":p@"), "{user}: {told}");
        let _ = std::fs::remove_dir_all(lab.path("out"));
    }
    let output = lab.run(words(&["--rounds", "1", "--uri", &uri("enough")]));
    assert!(!stderr(&output).contains("could not be dropped"), "{}", said(&output));
    assert!(lab.runs().iter().all(|run| run["failed"].is_null()), "{}", said(&output));
    assert_no_database_of_ours(&uri("root"));
}

fn assert_no_database_of_ours(uri: &str) {
    let names = databases(uri);
    assert!(!names.iter().any(|name| name.starts_with("mongodyno")), "{names:?}");
}

/// A replica set of three with quick elections, and its URI.
fn replica_set(test: &str) -> Option<(Vec<ServerHandle>, String)> {
    let flags = ["--replSet=rs0", "--oplogSize=50"];
    let servers: Vec<_> = (0..3).map(|_| own_server(test, &flags)).collect::<Option<_>>()?;
    let host = |server: &ServerHandle| server.uri().replace("mongodb://", "").replace('/', "");
    let hosts: Vec<String> = servers.iter().map(host).collect();
    let members = (0..).zip(&hosts).map(|(id, host)| doc! { "_id": id, "host": host });
    let settings = doc! { "electionTimeoutMillis": 2000, "heartbeatIntervalMillis": 500 };
    let config =
        doc! { "_id": "rs0", "members": members.collect::<Vec<_>>(), "settings": settings };
    with_client(&format!("{}?directConnection=true", servers[0].uri()), async |client| {
        client.database("admin").run_command(doc! { "replSetInitiate": config }).await.map(drop)
    });
    Some((servers, format!("mongodb://{}/?replicaSet=rs0", hosts.join(","))))
}

#[test]
fn a_run_outlives_an_election() {
    let test = "a_run_outlives_an_election";
    let Some(lab) = real_lab(test) else { return };
    let Some((servers, uri)) = replica_set(test) else { return };
    with_client(&uri, async |client| {
        client.database("x").collection("x").insert_one(doc! {}).await.map(drop)
    });
    let mut child = lab.start(words(&["--rounds", "1", "--uri", &uri]));
    let told = || std::fs::read_to_string(lab.path("stderr")).expect("a file");
    let mut last = told();
    wait_until("a turn", || {
        last = told();
        last.contains("operations a second") || child.try_wait().expect("a child").is_some()
    });
    assert!(last.contains("operations a second"), "{last}");
    with_client(&uri, async |client| {
        let step_down = doc! { "replSetStepDown": 5, "force": true };
        client.database("admin").run_command(step_down).await.map(drop)
    });
    let ended = comes_true(|| child.try_wait().expect("a child").is_some());
    assert!(ended, "it hangs: {}", told());
    let status = child.wait().expect("it ended");
    // An answer, or none that could be judged: the failures are in the records.
    assert!(matches!(status.code(), Some(0 | 6)), "{status}: {}", told());
    assert!(lab.runs().len() >= 2, "both arms have their record: {}", told());
    assert_no_database_of_ours(&uri);
    drop(servers);
}
