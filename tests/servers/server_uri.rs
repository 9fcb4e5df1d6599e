//! `--uri`: an unreachable server is named with its cause, one hint and no credentials.

use std::io::Read;
use std::net::TcpListener;

use crate::server_support::{QUIET, fresh_host, options};
use server::{Program, connect, start};

async fn refusal(uri: &str) -> String {
    let error = connect(uri).await.expect_err(uri);
    assert_eq!(error.exit as u8, 4, "{error}");
    let text = error.to_string();
    assert!(!text.contains("s3cret"), "{text}");
    text
}

#[tokio::test]
async fn refused_connections_and_unknown_hosts_are_named() {
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
    let text = refusal(&format!("mongodb://u:s3cret@{closed}/")).await;
    assert!(text.contains("connection refused"), "{text}");
    let text = refusal("mongodb://u:s3cret@no-such-host.invalid/").await;
    assert!(text.contains("host name"), "{text}");
    let proxy = format!("proxyHost=127.0.0.1&proxyPort={}&proxyUsername=u", closed.port());
    let through = format!("mongodb://h.invalid/?{proxy}&proxyPassword=s3cret");
    let text = refusal(&format!("{through}&serverSelectionTimeoutMS=500")).await;
    assert!(text.contains("proxyHost=127.0.0.1") && text.contains("Password=***"), "{text}");
    let key = "tls=true&tlsCertificateKeyFile=/none.pem&tlsCertificateKeyFilePassword=s3cret";
    let error = connect(&format!("mongodb://{closed}/?{key}")).await.expect_err("no such file");
    assert!(!error.to_string().contains("s3cret") && !error.to_string().contains("feature"));
    let error = connect("mongodb://u:s3cret%é@h/").await.expect_err("half of an escape");
    assert!(error.message.ends_with("a % in it is no escape"), "{error}");
    let error = connect("mongodb://u:s3cret@h/?nonsense=s3cret").await.expect_err("invalid");
    assert_eq!(error.exit as u8, 2);
    assert!(!error.to_string().contains("s3cret"), "{error}");
}

#[tokio::test]
async fn a_socket_file_that_is_not_there_is_named_at_once() {
    let began = std::time::Instant::now();
    let text = refusal("mongodb://%2Ftmp%2Fmongodyno-none.sock/").await;
    assert!(text.contains("the socket file in mongodb://%2Ftmp%2Fmongodyno-none.sock/ is not"));
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "the driver would try for 12 s");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("left.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
    let name = path.display().to_string().replace('/', "%2F");
    let text = refusal(&format!("mongodb://{name}/")).await;
    assert!(text.contains("connection refused"), "{text}");
}

#[tokio::test]
async fn access_control_and_tls_are_told_apart() {
    let (_home, host) = fresh_host();
    let program = Program::embedded(&host, Some("4.4"), QUIET).expect("installs");
    let mut with_auth = options(&host);
    with_auth.extra_flags = vec!["--auth".into()];
    let server = start(&host, &program, &with_auth).await.expect("starts");
    let address = server.uri().trim_start_matches("mongodb://").to_string();
    let text = refusal(&format!("mongodb://{address}")).await;
    assert!(text.contains("needs a password"), "{text}");
    let text = refusal(&format!("mongodb://bob:s3cret@{address}")).await;
    assert!(text.contains("refuses these credentials"), "{text}");
    let text = refusal(&format!("mongodb://bob:s3cret@{address}?tls=true")).await;
    assert!(text.contains("does not speak TLS"), "{text}");
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_hangs_up_or_keeps_silent_is_named() {
    let port = |answer: fn(std::net::TcpStream)| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || answer(stream));
            }
        });
        address
    };
    let hangs_up = port(|mut stream| {
        let _ = stream.read(&mut [0; 16]);
    });
    let text = refusal(&format!("mongodb://{hangs_up}/")).await;
    assert!(text.contains("expects TLS"), "{text}");
    let silent = port(|_stream| std::thread::sleep(std::time::Duration::from_mins(1)));
    let uri = format!("mongodb://{silent}/?serverSelectionTimeoutMS=1500&connectTimeoutMS=1000");
    let text = refusal(&uri).await;
    assert!(text.contains("did not answer in time"), "{text}");
}
