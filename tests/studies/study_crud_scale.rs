//! The study of documents and threads with a real driver and server.

use crate::fake_support::real::installed;
use crate::fake_support::{Lab, code, flat, stdout};
use crate::support::{said, skip, start_version};
use record::folder::Folder;
use studies::crud_scale::{CrudScaleAnalysis, Rate, Series};

#[test]
fn the_tables_of_2010_are_made_again() {
    let test = "study_crud_scale/the_tables_of_2010_are_made_again";
    if let Err(reason) = start_version(None, &[]).map(drop) {
        return skip(test, &reason);
    }
    if !installed(test, &["go"]) {
        return;
    }
    let lab = Lab::with_shared_cache();
    let output = lab.run([
        "study",
        "crud-scale",
        "--quick",
        "--rounds",
        "2",
        "-d",
        "go",
        "--out",
        "out",
        "--json",
    ]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let analysis: CrudScaleAnalysis = serde_json::from_str(&stdout(&output)).expect("an analysis");
    let of = |series| analysis.rates.iter().filter(move |it| it.series == series).count();
    // Six operations a part; three sizes, two numbers of threads.
    assert_eq!((of(Series::OneWay), of(Series::Remote)), (18, 18));
    assert_eq!((of(Series::Threads), of(Series::ThreadsOneWay)), (12, 12));
    for part in ["remote-1m", "remote-4m", "remote-10m", "remote-acknowledged-1m"] {
        let (folder, _) = Folder::open(&lab.path(&format!("out/{part}"))).expect(part);
        let runs = folder.runs().expect("runs");
        assert!(runs.len() == 2 && runs.iter().all(|it| it.tapped), "{part}: {runs:?}");
    }
    // A round trip takes 0.6 ms of the link alone, and one thread waits for each.
    let searches =
        |it: &&Rate| it.part.starts_with("remote-") && it.operation.starts_with("search_");
    for rate in analysis.rates.iter().filter(searches) {
        assert!(rate.rounds.iter().flatten().all(|per_s| *per_s < 1_700.0), "{rate:?}");
    }
    // On a machine that stands still, one-way writes may be counted before they have arrived.
    let one_way = [Series::OneWay, Series::Remote, Series::ThreadsOneWay];
    let answered = |it: &&Rate| !one_way.contains(&it.series);
    let lost: Vec<_> = analysis.rates.iter().filter(answered).flat_map(|it| &it.lost).collect();
    assert_eq!(lost, [""; 0], "answered writes are never lost");
    assert_eq!(analysis.unwaited[0].searches, 2 * 100, "a tenth of 1,000, twice");
    let text = stdout(&lab.run(["report", "out", "--format", "md"]));
    assert!(flat(&text).contains("32,210"), "{text}");
    lab.assert_nothing_runs();
}
