//! Which process runs when.
//!
//! A block is two pairs of a cell, run back to back as ABBA or BAAB, so that a linear drift of the
//! machine falls on both arms alike. The seed of the plan chooses the order of the cells in every
//! round and which arm a block starts with; the same plan always gives the same schedule.

use super::plan::Plan;
use super::workload::Execution;

/// One process to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index into the plan's cells.
    pub cell: usize,
    /// Which pair of the cell, from 0.
    pub pair: u32,
    /// Whether it is the first or the second of its pair.
    pub slot: u8,
    /// The arm.
    pub execution: Execution,
}

/// Every process of a session, in order.
#[must_use]
pub fn schedule(plan: &Plan) -> Vec<Step> {
    let cells = plan.cells().len();
    let mut random = SplitMix(plan.seed);
    let mut steps = Vec::with_capacity(plan.processes());
    let mut first_pair = 0;
    while first_pair < plan.repetitions {
        let pairs = first_pair..plan.repetitions.min(first_pair.saturating_add(2));
        for cell in random.shuffled(cells) {
            let reversed = random.coin();
            for pair in pairs.clone() {
                push_pair(&mut steps, plan, cell, pair, reversed ^ (pair % 2 == 1));
            }
        }
        first_pair = pairs.end;
    }
    steps
}

fn push_pair(steps: &mut Vec<Step>, plan: &Plan, cell: usize, pair: u32, reversed: bool) {
    let [a, b] = plan.arms;
    let order = if reversed { [b, a] } else { [a, b] };
    for (slot, execution) in (0..).zip(order) {
        steps.push(Step {
            cell,
            pair,
            slot,
            execution,
        });
    }
}

/// SplitMix64: enough to shuffle, the same on every machine, and a line long.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn coin(&mut self) -> bool {
        self.next() >> 63 == 1
    }

    /// Fisher and Yates.
    fn shuffled(&mut self, length: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..length).collect();
        for last in (1..length).rev() {
            let bound = u64::try_from(last).unwrap_or(u64::MAX).saturating_add(1);
            let other = usize::try_from(self.next() % bound).unwrap_or(0);
            order.swap(last, other);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(repetitions: u32) -> Plan {
        Plan::find("native-tcp")
            .unwrap()
            .with(None, Some(repetitions), None)
            .unwrap()
    }

    fn letters(plan: &Plan, cell: usize) -> String {
        let steps = schedule(plan);
        let of_cell = steps.iter().filter(|step| step.cell == cell);
        of_cell
            .map(|step| {
                if step.execution == plan.arms[0] {
                    'A'
                } else {
                    'B'
                }
            })
            .collect()
    }

    #[test]
    fn every_block_is_abba_or_baab_and_both_occur() {
        let plan = plan(4);
        let mut seen = std::collections::BTreeSet::new();
        for cell in 0..plan.cells().len() {
            let order = letters(&plan, cell);
            for block in [&order[..4], &order[4..]] {
                assert!(block == "ABBA" || block == "BAAB", "{order}");
                seen.insert(block.to_owned());
            }
        }
        assert_eq!(seen.len(), 2, "the seed never reversed a block");
    }

    #[test]
    fn the_two_pairs_of_a_block_are_adjacent() {
        let steps = schedule(&plan(4));
        for block in steps.chunks(4) {
            assert!(
                block.iter().all(|step| step.cell == block[0].cell),
                "{block:?}"
            );
        }
    }

    #[test]
    fn every_pair_has_each_arm_once() {
        let plan = plan(3);
        let mut keys: Vec<_> = schedule(&plan)
            .iter()
            .map(|step| (step.cell, step.pair, step.execution))
            .collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), plan.processes());
    }

    #[test]
    fn the_seed_decides_the_order_and_nothing_else_does() {
        let one = plan(3);
        let mut other = one.clone();
        other.seed += 1;
        assert_eq!(schedule(&one), schedule(&one));
        assert_ne!(schedule(&one), schedule(&other));
    }
}
