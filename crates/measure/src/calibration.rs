//! What an arm's own bookkeeping costs, and the making of its documents: no-ops before a phase.

use std::path::Path;
use std::time::Duration;

use crate::arm::LiveArm;
use crate::input_files::noop_prepare;
use adapter::patience::Patience;
use adapter::protocol::{Prepare, WorkerPrepare};
use base::clock::Epoch;

/// Duration of the calibration that makes documents.
const MAKING: Duration = Duration::from_millis(150);
/// Longest time of the calibration with no-ops; a count ends it after some milliseconds.
const NO_OPS: Duration = Duration::from_secs(5);

impl LiveArm {
    /// Cost of one operation's bookkeeping, ns: the adapter's own loop around a no-op.
    pub async fn calibrate(&mut self, epoch: &Epoch, folder: &Path) -> Option<f64> {
        let samples = folder.join(format!("noop-{}.bin", self.index));
        let schedule = folder.join("noop.schedule");
        let prepare = noop_prepare(&samples, &schedule);
        // The first process is enough: they are copies of one program.
        self.prepare(vec![Prepare::Worker(prepare)]).await;
        let patience = Patience::planned(NO_OPS, MAKING, Duration::ZERO);
        let turn = self.turn(epoch, patience, None).await;
        self.end().await;
        let _ = std::fs::remove_file(samples);
        let turned = turn.filter(|_| self.claimed().fault.is_none())?.turned;
        self.wakeups_us.clear();
        Some((turned.ended_ns - turned.began_ns) as f64 / turned.operations.max(1) as f64)
    }

    /// Cost of making one document, ns: the difference between a no-op with and one without a
    /// document, in the same process. Phases that make the same documents share it: to calibrate
    /// each took a tenth of the broker study's time.
    pub async fn calibrate_making(&mut self, epoch: &Epoch, making: &WorkerPrepare) -> Option<f64> {
        let mut plain = making.clone();
        let documents = plain.operations[0].documents.take()?;
        let pool = making.pools[documents.pool as usize].clone();
        let made = (pool, documents, plain.operations[0].shape.clone());
        if let Some((_, known_ns)) = self.making.iter().find(|(known, _)| *known == made) {
            return *known_ns;
        }
        let cost_ns = self.making_ns(epoch, plain, making).await;
        self.making.push((made, cost_ns));
        cost_ns
    }

    async fn making_ns(
        &mut self,
        epoch: &Epoch,
        plain: WorkerPrepare,
        making: &WorkerPrepare,
    ) -> Option<f64> {
        let (plain_ns, _) = self.each_ns(epoch, plain).await?;
        let (making_ns, made_all) = self.each_ns(epoch, making.clone()).await?;
        let _ = std::fs::remove_file(&making.samples);
        made_all.then_some((making_ns - plain_ns).max(0.0))
    }

    /// Time of one no-op, ns, and whether each made a document.
    async fn each_ns(&mut self, epoch: &Epoch, prepare: WorkerPrepare) -> Option<(f64, bool)> {
        self.prepare(vec![Prepare::Worker(prepare)]).await;
        let turn = self.turn(epoch, Patience::timed(MAKING, Duration::ZERO), None).await;
        self.wakeups_us.pop();
        let ended = self.end().await?;
        let turned = turn.filter(|_| self.claimed().fault.is_none())?.turned;
        let each_ns = (turned.ended_ns - turned.began_ns) as f64 / turned.operations.max(1) as f64;
        Some((each_ns, ended.totals.documents == turned.operations))
    }
}
