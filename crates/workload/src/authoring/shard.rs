//! The chunks of a sharded collection, and what is wrong with it.

use bson::Bson;

use super::bounds::CHUNKS_MAX;
use super::checking::Check;
use super::sharding_yaml::FullSharding;
use super::yaml;
use crate::plan::{Collection, Shard, ShardBy, Stamp, StampForm, StampSource};
use crate::replay::stamp::{Input, value_of};

/// The ranges of the shard key that the chunks have: the lower bound of each but the first,
/// and a value in its middle. None where the key grows in another order than documents.
pub fn ranges(shard: &Shard, stamps: &[Stamp]) -> Option<Vec<(Option<Bson>, Bson)>> {
    let (ShardBy::Ranged, Some(chunks)) = (shard.by, shard.chunks) else { return Some(Vec::new()) };
    let grows = |it: &&Stamp| {
        use StampForm::{Date, Double, Int32, Int64, ObjectId};
        it.path == [shard.key.as_str()]
            && it.from == StampSource::Key
            && [Int32, Int64, Double, Date, ObjectId].contains(&it.form)
    };
    let stamp = stamps.iter().find(grows)?;
    let value = |key: u64| value_of(stamp, &Input { key, ..Input::default() }).ok();
    let bound = |chunk: u32| {
        let key = u128::from(shard.keys) * u128::from(chunk) / u128::from(chunks.max(1));
        u64::try_from(key).ok()
    };
    let range = |chunk: u32| {
        let (from, to) = (bound(chunk)?, bound(chunk + 1)?);
        let within = value(from.midpoint(to))?;
        Some((if chunk == 0 { None } else { Some(value(from)?) }, within))
    };
    (0..chunks).map(range).collect()
}

/// Checks how the collection is sharded, which is otherwise made.
pub fn shard_of(
    check: &mut Check<'_>,
    given: &yaml::CollectionYaml,
    made: &Collection,
) -> Option<Shard> {
    let asked = given.shard.as_ref()?;
    let FullSharding { by, key, chunks, keys } = &asked.value.0;
    let place = asked.place;
    let shard = Shard {
        by: *by,
        key: key.as_ref().map_or("_id", |it| &it.value).to_owned(),
        chunks: chunks.as_ref().map(|it| it.value),
        keys: keys.as_ref().map_or(made.loaded, |it| it.value),
    };
    if made.capped.is_some() {
        check.wrong(place, "a capped collection cannot be sharded", "leave one of the two out");
    }
    if let Some(document) = given.document.as_ref().filter(|_| shard.key != "_id")
        && document.value.get(&shard.key).is_none()
    {
        let message = format!("the documents have no field `{}`", shard.key);
        check.wrong(
            key.as_ref().map_or(place, |it| it.place),
            message,
            "name a field of `document`",
        );
    }
    let leads = |index: &crate::plan::Index| {
        *by == ShardBy::Ranged && index.keys.first().is_some_and(|(field, _)| *field == shard.key)
    };
    if let Some(at) = made.indexes.iter().position(|it| it.unique && !leads(it)) {
        let message = "a unique index of a sharded collection begins with its ranged shard key";
        check.wrong(given.indexes[at].place, message, "leave out `unique`, or shard by its field");
    }
    if let Some(at) = chunks.as_ref().filter(|it| it.value < 2 || it.value > CHUNKS_MAX) {
        check.wrong(
            at.place,
            format!("a collection cannot have {} chunks", at.value),
            format!("choose 2 to {CHUNKS_MAX}"),
        );
        return None;
    }
    match (by, chunks, keys) {
        (ShardBy::Ranged, Some(chunks), _) if shard.keys < 2 * u64::from(chunks.value) => {
            let message = format!("{} keys for {} chunks", shard.keys, chunks.value);
            let place = keys.as_ref().map_or(chunks.place, |it| it.place);
            check.wrong(place, message, "`keys:` says how many documents the chunks share");
        }
        (ShardBy::Hashed, _, Some(keys)) | (ShardBy::Ranged, None, Some(keys)) => {
            check.wrong(keys.place, "`keys` belongs to `ranged` with `chunks`", "leave it out");
        }
        _ if ranges(&shard, &made.stamps).is_none() => {
            let message = format!("`{}` cannot be split into ranges", shard.key);
            let hint = "shard by an int, long, double, date or objectid with `value: key`";
            check.wrong(key.as_ref().map_or(place, |it| it.place), message, hint);
        }
        _ => {}
    }
    Some(shard)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(by: ShardBy, keys: u64, form: StampForm) -> Option<Vec<(Option<Bson>, Bson)>> {
        let stamp = Stamp {
            path: vec!["k".to_owned()],
            form,
            from: StampSource::Key,
            add: 0,
            prefix: None,
            width: None,
        };
        let shard = Shard { by, key: "k".to_owned(), chunks: Some(4), keys };
        super::ranges(&shard, &[stamp])
    }

    #[test]
    fn ranges_share_the_keys_evenly() {
        let int = |from: i32| ((from > 0).then_some(Bson::Int32(from)), Bson::Int32(from + 500));
        let quarters = [0, 1_000, 2_000, 3_000].map(int).to_vec();
        assert_eq!(ranges(ShardBy::Ranged, 4_000, StampForm::Int32), Some(quarters));
        let all = ranges(ShardBy::Ranged, u64::MAX / 4, StampForm::Int64).expect("they fit");
        assert_eq!(all.len(), 4, "no overflow");
        assert_eq!(ranges(ShardBy::Ranged, 1 << 40, StampForm::Int32), None, "beyond an int");
        assert_eq!(ranges(ShardBy::Ranged, 4_000, StampForm::GuidString), None, "in no order");
        assert_eq!(ranges(ShardBy::Hashed, 4_000, StampForm::Guid), Some(Vec::new()));
    }
}
