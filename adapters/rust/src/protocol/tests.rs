//! Keys, the schedule's laps and the bytes of a sample, which no conversation offline shows.

use super::*;

const COUNTER: Counter = Counter { first: 1000, stride: 4, loaded: 500 };

#[test]
fn key_of_the_schedule_is_the_recorded_one() {
    assert_eq!(KeyRule::Schedule.key(COUNTER, 2, 7, 123), 123);
}

#[test]
fn key_of_the_counter_strides_over_the_other_workers() {
    let keys = [0, 1, 2].map(|made| KeyRule::Counter.key(COUNTER, 3, made, 99));
    assert_eq!(keys, [1003, 1007, 1011]);
}

#[test]
fn latest_key_counts_back_into_the_loaded_ones() {
    let key = |made, back| KeyRule::Latest.key(COUNTER, 1, made, back);
    assert_eq!(key(3, 0), 1009, "the newest of its own");
    assert_eq!(key(3, 2), 1001, "its first");
    assert_eq!(key(3, 3), 499, "the last loaded one");
    assert_eq!(key(0, 0), 499);
    assert_eq!(key(0, 10_000), 0, "none before the first");
}

fn schedule_file(name: &str, record_bytes: u32, slices: u32, lap_ns: u64) -> PathBuf {
    let mut bytes = b"MDYNSCH1".to_vec();
    for field in [record_bytes, 4, slices, 0] {
        bytes.extend(field.to_le_bytes());
    }
    bytes.extend(lap_ns.to_le_bytes());
    for record in 0..4_u8 {
        bytes.extend((u64::from(record) * 10).to_le_bytes());
        bytes.extend((u64::from(record) + 100).to_le_bytes());
        bytes.extend(u32::from(record).to_le_bytes());
        bytes.extend([record % 2, 0, 0, 0]);
        bytes.extend(vec![record; record_bytes as usize - 24]);
    }
    let path = std::env::temp_dir().join(format!("mdyn-{}-{name}", std::process::id()));
    fs::write(&path, bytes).expect("a schedule written");
    path
}

#[test]
fn schedule_laps_within_its_slice() {
    let path = schedule_file("laps", 40, 2, 1000);
    let schedule = Schedule::read(&path, 2).expect("a schedule");
    let seen: Vec<_> = (0..5)
        .map(|number| schedule.record(1, number))
        .map(|record| (record.key, record.intended_ns, record.lap, record.operation))
        .collect();
    let expected =
        [(102, 20, 0, 0), (103, 30, 0, 1), (102, 1020, 1, 0), (103, 1030, 1, 1), (102, 2020, 2, 0)];
    assert_eq!(seen, expected);
    assert_eq!(schedule.record(0, 1).guid, [1; 16]);
    fs::remove_file(path).expect("removed");
}

#[test]
fn schedule_without_guids_has_zeros() {
    let path = schedule_file("short", 24, 1, 0);
    let schedule = Schedule::read(&path, 2).expect("a schedule");
    let record = schedule.record(0, 3);
    assert_eq!((record.key, record.document, record.guid), (103, 3, [0; 16]));
    fs::remove_file(path).expect("removed");
}

#[test]
fn schedule_that_does_not_fit_is_refused() {
    let unequal = schedule_file("unequal", 24, 3, 0);
    assert_eq!(Schedule::read(&unequal, 2).err().expect("refused").code, "internal");
    let unknown = schedule_file("unknown", 24, 1, 0);
    assert_eq!(Schedule::read(&unknown, 1).err().expect("refused").code, "internal");
    fs::remove_file(unequal).expect("removed");
    fs::remove_file(unknown).expect("removed");
}

#[test]
fn sample_has_its_bytes_where_the_contract_has_them() {
    let sample = Sample {
        intended_ns: 0x0102_0304_0506_0708,
        start_ns: 0x1112_1314_1516_1718,
        service_ns: 0x21,
        index: 0x3132_3334,
        operation: 0x41,
        outcome: 129,
        worker: 0x5152,
    };
    let expected = "0807060504030201181716151413121121000000000000003433323141815251";
    assert_eq!(hex::encode(sample.bytes()), expected);
}
