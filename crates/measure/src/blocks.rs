//! The arms of a round that live at once: all, each by itself, or blocks that share the baseline.

use std::fs;

use rand_chacha::ChaCha8Rng;

use crate::arms::Arm;
use crate::{arrange, shuffle};
use record::process_limits::Limits;
use record::records::{Blocks, ClientMemory, PhaseInterleave, Settings, SizedBy};
use stats::order::Order;
use stats::threshold::Interleave;
use workload::plan::Plan;

/// Part of the free memory that arms may fill: the rest is for the server and the page cache.
const SHARE: f64 = 0.75;

/// Arms whose processes live side by side.
#[derive(Debug, PartialEq, Eq)]
pub struct ArmGroup {
    /// In their starting order.
    pub arms: Vec<usize>,
    /// Place of the first one.
    pub first: u32,
    pub block: u32,
}

/// The groups of one round, one after the other.
///
/// Blocks are dealt anew in each round. With the same arms in a block again and again, the noise of
/// its baseline would look like a step between two versions (decision 0075).
pub fn groups(settings: &Settings, arms: usize, rng: &mut ChaCha8Rng) -> Vec<ArmGroup> {
    let mut order: Vec<usize> = (0..arms).collect();
    arrange(settings.conduct.order(), &mut order, |arm| arm, rng);
    if is_alone(&settings.interleave) {
        let group = |(place, arm)| ArmGroup { arms: vec![arm], first: place, block: 0 };
        return (0..).zip(order).map(group).collect();
    }
    let Some(blocks) = &settings.blocks else {
        return vec![ArmGroup { arms: order, first: 0, block: 0 }];
    };
    order.retain(|arm| *arm != 0);
    if settings.conduct.order() != Order::Shuffled {
        // The order asked for holds within a block. Dealt by it, blocks would belong to arms.
        shuffle(&mut order, rng);
    }
    let deal = |block: u32| {
        let dealt = order.iter().skip(block as usize).step_by(blocks.count as usize);
        let mut arms: Vec<usize> = dealt.chain([&0]).copied().collect();
        arrange(settings.conduct.order(), &mut arms, |place| place, rng);
        ArmGroup { arms, first: 0, block }
    };
    (0..blocks.count).map(deal).collect()
}

/// Where no phase takes turns every arm runs whole, alone; else arms live together.
fn is_alone(interleave: &[PhaseInterleave]) -> bool {
    interleave.iter().all(|it| it.interleave == Interleave::Runs)
}

/// Blocks for arms that do not all fit into memory at once; None: they do. `twins` are the arms
/// that repeat the baseline.
pub fn blocks(
    plan: &Plan,
    interleave: &[PhaseInterleave],
    (arms, twins): (&[Arm<'_>], usize),
    memory: Option<&ClientMemory>,
) -> Option<Blocks> {
    if is_alone(interleave) {
        return None;
    }
    let need = |arm: &Arm<'_>| {
        let own = plan.with_processes(arm.asked.processes);
        let processes = own.phases.iter().map(|phase| phase.processes).max().unwrap_or(1);
        let mib = u64::from(arm.manifest.process_mib) * u64::from(processes);
        memory.map_or(mib << 20, |it| it.bytes)
    };
    let mut needs: Vec<u64> = arms.iter().map(need).collect();
    needs.extend(vec![needs[0]; twins]);
    let by = if memory.is_some() { SizedBy::ClientMemory } else { SizedBy::Manifest };
    divide(&needs, free_bytes(), by)
}

fn divide(needs: &[u64], free_bytes: u64, by: SizedBy) -> Option<Blocks> {
    let room = (free_bytes as f64 * SHARE) as u64;
    if needs.iter().sum::<u64>() <= room {
        return None;
    }
    let arm_bytes = needs.iter().copied().max()?.max(1);
    // Fewer than two compare nothing.
    let most = (room / arm_bytes).max(2) as usize;
    let others = needs.len() - 1;
    let count = others.div_ceil(most - 1);
    let arms_max = others.div_ceil(count) as u32 + 1;
    (count > 1).then_some(Blocks { count: count as u32, arms_max, free_bytes, arm_bytes, by })
}

/// Memory that this machine, or the control group that we are in, has left.
pub(crate) fn free_bytes() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    let limit = Limits::of(std::process::id()).and_then(|it| it.cgroup_memory_bytes);
    kib.map_or(u64::MAX, |kib| kib * 1024).min(limit.unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand_core::SeedableRng as _;
    use serde_json::json;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn settings(interleave: &str, order: &str, blocks: Option<&Blocks>) -> Settings {
        let value = json!({
            "seed": 1, "looks": stats::looks::LookPlan::fixed(8), "order": order,
            "interleave": [{"phase": "p", "interleave": interleave, "reason": ""}],
            "measured_s": 1.0, "blocks": blocks,
        });
        serde_json::from_value(value).expect("settings")
    }

    fn rng(stream: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        rng.set_stream(stream);
        rng
    }

    #[test]
    fn arms_that_fit_into_memory_have_no_blocks() {
        let divided = |arms: usize, free: u64| {
            let blocks = divide(&vec![100 * MIB; arms], free * MIB, SizedBy::Manifest)?;
            Some((blocks.count, blocks.arms_max))
        };
        assert_eq!(divided(30, 4000), None);
        assert_eq!(divided(31, 4000), Some((2, 16)), "as evenly as they can be");
        assert_eq!(divided(75, 4000), Some((3, 26)), "74 others, 29 a block at most");
        assert_eq!(divided(4, 10), Some((3, 2)), "a baseline and one other at least");
        assert_eq!(divided(2, 10), None, "fewer than two compare nothing");
        let uneven = divide(&[MIB, MIB, 200 * MIB], 300 * MIB, SizedBy::Manifest);
        assert_eq!(uneven, None, "their sum counts");
    }

    #[test]
    fn each_block_has_the_baseline_and_each_other_arm_one_block() {
        let blocks = divide(&[100 * MIB; 9], 600 * MIB, SizedBy::Manifest).expect("blocks");
        for order in ["shuffled", "given", "reverse"] {
            let settings = settings("turns", order, Some(&blocks));
            let mut partners = BTreeSet::new();
            for round in 0..20 {
                let groups = groups(&settings, 9, &mut rng(round));
                let sizes: Vec<usize> = groups.iter().map(|group| group.arms.len()).collect();
                assert_eq!(sizes, [4, 4, 3], "{groups:?}");
                let mut all: Vec<usize> = groups.iter().flat_map(|it| it.arms.clone()).collect();
                all.sort_unstable();
                assert_eq!(all, [0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
                let with_one = groups.iter().find(|it| it.arms.contains(&1)).expect("a block");
                partners.extend(with_one.arms.iter().copied());
                for group in &groups {
                    let sorted = group.arms.is_sorted();
                    assert!(order != "given" || sorted, "{groups:?}");
                    assert!(order != "reverse" || group.arms[group.arms.len() - 1] == 0);
                }
            }
            assert_eq!(partners.len(), 9, "dealt anew in each round: {order}");
        }
    }

    #[test]
    fn whole_runs_need_no_blocks() {
        let blocks = divide(&[100 * MIB; 9], 600 * MIB, SizedBy::Manifest).expect("blocks");
        let groups = groups(&settings("runs", "given", Some(&blocks)), 9, &mut rng(1));
        let alone: Vec<(Vec<usize>, u32)> =
            groups.into_iter().map(|group| (group.arms, group.first)).collect();
        assert_eq!(alone, (0..9).map(|arm| (vec![arm], arm as u32)).collect::<Vec<_>>());
    }
}
