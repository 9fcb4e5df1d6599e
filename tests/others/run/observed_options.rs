//! Options that a driver does not report are read on the wire, before the first round.

use std::collections::BTreeSet;

use crate::fake_support::{Lab, QUICK, flat, json_lines, stdout};
use crate::support::said;
use serde_json::{Value, json};

const FINDS: &str = "
name: finds
why: Reads.
collections: {items: {documents: 2, document: {_id: {type: objectid, value: key}}}}
phases:
  - {operation: find_one, collection: items, warmup: 0.1, duration: 0.2}
";

/// Adapters that report this much, each once; the processes of each go to a file of its name.
fn measured(told: &[(&str, &Value)], options: &[&str]) -> Lab {
    let lab = Lab::new();
    lab.write("finds.yaml", FINDS);
    let mut words = vec!["run", "finds.yaml", "--server", "absorber", "--rounds", "1"];
    words.extend(["--out", "out"].iter().chain(options));
    for (name, told) in told {
        let trace = format!("trace={}", lab.path(name).display());
        lab.fake(name, &[QUICK, &format!("resolved={told}"), &trace]);
        // Nothing of a simulated adapter is on a wire.
        lab.rewrite(name, |text| text.replace("simulated = true\n", ""));
        words.extend(["-d", name]);
    }
    let output = lab.run(words);
    assert!(lab.path("out/runs.jsonl").exists(), "{}", said(&output));
    lab
}

fn processes(lab: &Lab, name: &str) -> usize {
    let lines = json_lines(&lab.path(name));
    lines.iter().map(|line| line["pid"].to_string()).collect::<BTreeSet<_>>().len()
}

#[test]
fn what_a_driver_does_not_tell_is_read_on_the_wire() {
    let all = json!({
        "write_concern": {}, "read_concern": null, "compressors": [], "tls": false,
    });
    let lab = measured(&[("silent", &json!({ "max_pool_size": 7 })), ("frank", &all)], &[]);
    let record = lab.record();
    let (silent, frank) = (&record["arms"][0], &record["arms"][2]);
    let options = json!({
        "compressors": ["zstd"], "read_concern": null, "read_preference": "nearest", "tls": false,
        "write_concern": { "w": 1, "j": true },
    });
    assert_eq!(silent["seen"]["options"], options, "{silent:#}");
    assert_eq!(silent["seen"]["handshake"]["client"]["application"]["name"], "double");
    assert_eq!(silent["seen"]["reason"], Value::Null);
    assert_eq!(silent["resolved"]["write_concern"]["j"], true);
    assert_eq!(silent["resolved"]["max_pool_size"], 7, "as it was told");
    assert_eq!(record["arms"][1]["seen"], silent["seen"], "the twin is the same driver");
    assert_eq!((&frank["seen"], &frank["resolved"]), (&Value::Null, &all));
    // Each has one process in the probe. In each round the baseline runs twice, as its own twin.
    assert_eq!(processes(&lab, "silent") - 1, 2 * (processes(&lab, "frank") - 1));
    assert!(!lab.path("out/trial0").exists());
    let shown = flat(&stdout(&lab.run(["report", "out", "--details"])));
    let line = "seen on the wire, not told by the driver: compressors + read_concern + \
                read_preference + tls + write_concern (silent@1.0.0), none (frank@1.0.0)";
    assert!(shown.contains(line), "{shown}");
    assert!(shown.contains("read preference: nearest (silent@1.0.0), not told (frank@1.0.0)"));
    let page = stdout(&lab.run(["report", "out", "--format", "html"]));
    assert!(page.contains("(seen on the wire)"), "{page}");
}
