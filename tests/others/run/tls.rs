//! A real server with a certificate that it has signed itself.

use std::fs;
use std::process::Command;

use crate::fake_support::real::{own_server, real_lab};
use crate::fake_support::{Lab, code, stderr};
use crate::support::{said, skip};

/// A certificate of 127.0.0.1, and a second one; None without openssl.
fn certificates(lab: &Lab) -> Option<()> {
    for name in ["server", "other"] {
        let words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
                     -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
                     -addext basicConstraints=critical,CA:FALSE -out cert -keyout key";
        let mut openssl = Command::new("openssl");
        let made =
            openssl.args(words.split_whitespace()).current_dir(lab.path("")).output().ok()?;
        assert!(made.status.success(), "{}", said(&made));
        let [key, certificate] =
            ["key", "cert"].map(|it| fs::read_to_string(lab.path(it)).expect("a file"));
        lab.write(&format!("{name}.pem"), &(key + &certificate));
    }
    Some(())
}

#[test]
fn a_certificate_that_nobody_else_has_signed_is_told_what_helps() {
    let test = "tls/a_certificate_that_nobody_else_has_signed_is_told_what_helps";
    let Some(lab) = real_lab(test) else { return };
    if certificates(&lab).is_none() {
        return skip(test, "there is no openssl");
    }
    let path = |name: &str| lab.path(name).display().to_string();
    let flag = format!("--tlsCertificateKeyFile={}", path("server.pem"));
    // It is asked without TLS whether it has started.
    let Some(server) = own_server(test, &["--tlsMode=allowTLS", &flag]) else { return };
    let tls = format!("{}?tls=true", server.uri());
    let of = |name: &str| format!("{tls}&tlsCAFile={}", path(name));
    let said_of = |uri: &str| lab.run(["clean", "--dry-run", "--uri", uri]);
    let refused = [
        (tls.clone(), "name the certificate's authority with tlsCAFile=… in the URI"),
        (of("other.pem"), "the authority in tlsCAFile has not signed it: name the one that has"),
        (of("none.pem"), "correct the path; tlsCAFile and tlsCertificateKeyFile are PEM files"),
    ];
    for (uri, hint) in refused {
        let output = said_of(&uri);
        assert_eq!(code(&output), 4, "{}", said(&output));
        assert!(stderr(&output).contains(&format!("\nhint: {hint}")), "{}", said(&output));
    }
    let output = said_of(&of("server.pem"));
    assert_eq!(code(&output), 0, "{}", said(&output));
}
