//! The core's own connections: one a server, several where operations are dealt to several hosts.

use futures_util::future::{join_all, try_join_all};

use crate::admin::{Admin, MongodCounters};
use base::error::{Error, Result};
use bson::RawDocumentBuf;
use server::ServerHandle;
use workload::Workload;
use workload::places::PlanPart;
use workload::plan::{Collection, OperationKind, Plan};
use workload::server_needs;

/// What is done is done on all of them; what is read is their sum.
pub struct Hosts {
    /// Never empty.
    each: Vec<Admin>,
    /// Operations are dealt among them: the share of each is told.
    are_dealt: bool,
}

impl Hosts {
    /// Connects to all hosts of a server, and touches nothing.
    pub async fn connect(server: &ServerHandle, database: &str) -> Result<Self> {
        let uris = server.uris().into_iter().map(str::to_owned).collect();
        Self::of(server, uris, database).await
    }

    /// For [`Hosts::counters`] alone: the members of a replica set of ours are connected to one by
    /// one. Its primary does not count what secondaries are asked.
    pub async fn counting(server: &ServerHandle, database: &str) -> Result<Self> {
        Self::of(server, server.counted(), database).await
    }

    async fn of(server: &ServerHandle, uris: Vec<String>, database: &str) -> Result<Self> {
        let each = uris.iter().map(|uri| Admin::connect(uri, database));
        let are_dealt = server.uris().len() > 1;
        Ok(Self { each: try_join_all(each).await?, are_dealt })
    }

    fn first(&self) -> &Admin {
        &self.each[0]
    }

    pub async fn claim(&mut self, experiment: &str) -> Result<()> {
        try_join_all(self.each.iter_mut().map(|it| it.claim(experiment))).await.map(drop)
    }

    pub async fn create(&self, name: &str, collection: &Collection) -> Result<()> {
        try_join_all(self.each.iter().map(|it| it.create(name, collection))).await.map(drop)
    }

    pub async fn drop_collection(&self, name: &str) -> Result<()> {
        try_join_all(self.each.iter().map(|it| it.drop_collection(name))).await.map(drop)
    }

    /// [`fits`] lets nothing be loaded onto several.
    pub async fn load(
        &self,
        name: &str,
        documents: impl Iterator<Item = RawDocumentBuf>,
    ) -> Result<()> {
        self.first().load(name, documents).await
    }

    pub async fn flag(&self, name: &str, field: &str) -> Result<()> {
        self.first().flag(name, field).await
    }

    pub async fn settle(&self) {
        join_all(self.each.iter().map(Admin::settle)).await;
    }

    /// Waits until the members of a replica set have all that was written.
    pub async fn replicate(&self) {
        join_all(self.each.iter().map(Admin::replicate)).await;
    }

    /// Whether the database is gone from all of them.
    pub async fn leave(&self, hurried: bool) -> bool {
        join_all(self.each.iter().map(|it| it.leave(hurried))).await.into_iter().all(|gone| gone)
    }

    pub async fn works(&self) -> bool {
        join_all(self.each.iter().map(Admin::works)).await.contains(&true)
    }

    pub async fn count(&self, name: &str) -> Result<i64> {
        Ok(try_join_all(self.each.iter().map(|it| it.count(name))).await?.into_iter().sum())
    }

    /// The counters, with the documents that each of several hosts took: `host2.opcounters.insert`.
    pub async fn counters(&self, all: bool) -> Result<MongodCounters> {
        let each = try_join_all(self.each.iter().map(|it| it.counters(all))).await?;
        Ok(self.sum(each, "opcounters.insert"))
    }

    /// The sizes, with the documents of each of several hosts: `host2.collStats.count`.
    pub async fn sizes(&self, name: &str) -> MongodCounters {
        let each = join_all(self.each.iter().map(|it| it.sizes(name))).await;
        self.sum(each, "collStats.count")
    }

    fn sum(&self, each: Vec<MongodCounters>, by_host: &str) -> MongodCounters {
        sum(each, Some(by_host).filter(|_| self.are_dealt))
    }
}

fn sum(mut each: Vec<MongodCounters>, by_host: Option<&str>) -> MongodCounters {
    if each.len() == 1 {
        return each.remove(0);
    }
    let mut sum = MongodCounters::new();
    for (host, counters) in (1..).zip(&each) {
        for (name, value) in counters {
            let so_far = sum.entry(name.clone()).or_default();
            // A mean has no sum.
            *so_far = if name.contains("avg") { *value } else { *so_far + value };
        }
        if let Some(name) = by_host
            && let Some(value) = counters.get(name)
        {
            sum.insert(format!("host{host}.{name}"), *value);
        }
    }
    sum
}

/// Whether some phase has transactions.
pub fn has_transactions(plan: &Plan) -> bool {
    let mut operations = plan.phases.iter().flat_map(|phase| &phase.operations);
    operations.any(|made| made.kind == OperationKind::Transaction)
}

/// Refuses what a server cannot do, which is asked when it answers.
///
/// # Errors
/// Sharding without shards. With several hosts that know nothing of each other: operations that may
/// look for a document on the wrong one; a tap or a link.
pub fn fits(server: &ServerHandle, workload: &Workload, through: bool) -> Result<()> {
    let (plan, topology) = (&workload.plan, &server.record().topology);
    let sharded = plan.collections.iter().find(|it| it.shard.is_some());
    if let Some(collection) = sharded.filter(|_| !topology.starts_with("sharded")) {
        let message =
            format!("`{}` is sharded, and this server is not: {topology}", collection.name);
        let hint = "use `--server mongod:shards=2`, or name a mongos with --uri";
        return Err(workload.places.error(PlanPart::Shard(&collection.name), message, hint).into());
    }
    let has_oplog = ["replica set", "sharded"].iter().any(|it| topology.starts_with(it));
    let mut phases = plan.phases.iter();
    let needs = phases.find_map(|phase| Some((phase, server_needs::of_replicas(phase)?)));
    if let Some((phase, need)) = needs.filter(|_| !has_oplog) {
        let message = format!("{} take a replica set, this server is: {topology}", need.name);
        let hint = "use `--server embedded:replset=1`, or leave the phase out with --phase";
        return Err(workload.places.error(PlanPart::Phase(&phase.name), message, hint).into());
    }
    if server.uris().len() == 1 {
        return Ok(());
    }
    if through {
        return Err(Error::usage(
            "--tap and --link work with one address, not with several hosts",
            "leave them out, or name one server",
        ));
    }
    let other = plan.phases.iter().find(|phase| {
        let dealt = |name| ["insert_one", "insert_many", "noop"].contains(&name);
        phase.consumer || !phase.operations.iter().all(|it| dealt(it.kind.name()))
    });
    other.map_or(Ok(()), |phase| {
        Err(Error::usage(
            format!("{}: several hosts take inserts alone, dealt in turn", phase.name),
            "choose the phases that insert with --phase, or name one server",
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_added_up_and_told_apart() {
        let host = |count: i64| {
            let each = [("collStats.count", count), ("collStats.avgObjSize", 320)];
            MongodCounters::from(each.map(|(name, it)| (name.to_owned(), it)))
        };
        let both = sum(vec![host(3), host(4)], Some("collStats.count"));
        assert_eq!(both["collStats.count"], 7);
        assert_eq!(both["collStats.avgObjSize"], 320);
        assert_eq!((both["host1.collStats.count"], both["host2.collStats.count"]), (3, 4));
        assert_eq!(sum(vec![host(3)], Some("collStats.count")), host(3), "one host has no number");
        assert_eq!(sum(vec![host(3), host(4)], None).len(), 2, "nothing is dealt to members");
    }
}
