//! Fills in the options that a driver does not report, for arms that no probe has tried: a separate
//! process inserts and finds one document.

use crate::arm::LiveArm;
use crate::observed_options::{STANDALONE, Untold, fill};
use crate::runner::Runner;
use crate::trial::{Ground, Tried};
use record::records::{Arm, Seen};

impl Runner {
    /// Fills in what the driver of an arm leaves out of `resolved`, before its first phase. A
    /// driver that reports all of them costs nothing.
    pub async fn fill_in(&mut self, live: &LiveArm) {
        let arm = &self.experiment.arms[live.index];
        let simulated = self.configurations[live.index].environment.simulated;
        let sends = live.alive() && live.opened.is_some() && !simulated;
        if arm.seen.is_some() || !sends || self.experiment.plan.needs_no_server() {
            return;
        }
        let is_standalone = self.experiment.server.topology == STANDALONE;
        let untold = Untold::of(&arm.resolved, is_standalone);
        let work = |it: &&Arm| {
            (&it.adapter, &it.version, &it.options) == (&arm.adapter, &arm.version, &arm.options)
        };
        let twin = self.experiment.arms.iter().filter(work).find_map(|it| it.seen.clone());
        let seen = match twin {
            Some(seen) => seen,
            // On the heap: it happens once.
            None if untold.shown => Box::pin(self.see(live.index, is_standalone)).await,
            None => Seen::default(),
        };
        let uri = &self.configurations[live.index].uri;
        let arm = &mut self.experiment.arms[live.index];
        arm.seen = untold.in_seen(seen, &arm.resolved, uri);
        arm.seen.iter().for_each(|seen| fill(&mut arm.resolved, seen));
    }

    async fn see(&self, index: usize, is_standalone: bool) -> Seen {
        self.world.progress.arm(index, "reading on the wire the options of");
        let configuration = &self.configurations[index];
        let ground = Ground {
            folder: &self.world.folder,
            epoch: &self.world.epoch,
            admin: self.world.server.admin.as_ref(),
            database: &self.world.server.database,
            is_standalone,
        };
        let tried = Tried {
            index,
            environment: &configuration.environment,
            uri: &configuration.uri,
            log: self.world.folder.join(&format!("logs/seen-arm{index}.log")),
        };
        match ground.watched(&tried).await {
            Ok((_, seen)) => seen,
            Err(reason) => Seen { reason: Some(reason), ..Seen::default() },
        }
    }
}
