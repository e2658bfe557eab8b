//! Timing several contenders on a busy machine.
//!
//! Each contender runs once per round, in a different order each time, so that a disturbance affects all of them, and
//! none always follows the same one. The best of all rounds counts, because disturbances only ever add time.
//!
//! In a round, each runs [`IN_A_ROW`] times: the first run brings its buffers back into the caches, which the others have
//! filled with theirs. A program that decodes all the time has them there.

use std::time::{Duration, Instant};

use wireline_corpus::Random;

use crate::progress::Progress;

/// The minimum number of rounds, however little time there is.
const FEWEST: u32 = 5;

/// How often a contender runs in a round.
const IN_A_ROW: u32 = 2;

/// A contender, which processes the slice with the given index.
pub(crate) type Runner<'a> = Box<dyn FnMut(usize) + 'a>;

/// The best times of all rounds.
pub(crate) struct Best {
    /// The time of each runner for all slices: the sum of its best times for each slice.
    pub(crate) times: Vec<Duration>,
    pub(crate) rounds: u32,
}

/// Runs each runner on all slices, for as many rounds as `time` allows.
pub(crate) fn best(runners: &mut [Runner<'_>], slices: usize, time: Duration, progress: &Progress) -> Best {
    let mut best = vec![vec![Duration::MAX; runners.len()]; slices];
    let mut order: Vec<usize> = (0..runners.len()).collect();
    let mut random = Random::new(1);
    let start = Instant::now();
    let mut rounds = 0;
    while rounds < FEWEST || start.elapsed() < time {
        for (slice, best) in best.iter_mut().enumerate() {
            shuffle(&mut order, &mut random);
            for &runner in &order {
                for _ in 0..IN_A_ROW {
                    let start = Instant::now();
                    runners[runner](slice);
                    best[runner] = best[runner].min(start.elapsed());
                }
            }
        }
        rounds += 1;
        progress.rounds(rounds, start.elapsed().as_secs_f64() / time.as_secs_f64());
    }
    let times = (0..runners.len()).map(|runner| best.iter().map(|best| best[runner]).sum());
    Best { times: times.collect(), rounds }
}

pub(crate) fn shuffle(order: &mut [usize], random: &mut Random) {
    for end in (1..order.len()).rev() {
        order.swap(end, random.below(end + 1));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::thread::sleep;

    use super::*;

    #[test]
    fn all_run_equally_often() {
        let runs = [const { Cell::new(0) }; 3];
        let mut runners: Vec<Runner<'_>> = runs
            .iter()
            .map(|runs| Box::new(|slice| runs.set(runs.get() + [1_u32, 100][slice])) as Runner<'_>)
            .collect();
        let best = best(&mut runners, 2, Duration::ZERO, &Progress::silent());
        drop(runners);
        assert_eq!(best.rounds, FEWEST);
        assert!(runs.iter().all(|runs| runs.get() == 101 * FEWEST * IN_A_ROW), "{runs:?}");
    }

    #[test]
    fn slices_are_added_up() {
        let mut runners: Vec<Runner<'_>> =
            vec![Box::new(|slice| sleep(Duration::from_millis([1, 3][slice]))), Box::new(|_| ())];
        let times = best(&mut runners, 2, Duration::ZERO, &Progress::silent()).times;
        assert!(times[0] >= Duration::from_millis(4) && times[1] < times[0], "{times:?}");
    }

    #[test]
    fn shuffling_changes_the_order_and_keeps_all() {
        let (mut order, mut random) = ([0, 1, 2, 3, 4, 5], Random::new(1));
        shuffle(&mut order, &mut random);
        assert_ne!(order, [0, 1, 2, 3, 4, 5]);
        order.sort();
        assert_eq!(order, [0, 1, 2, 3, 4, 5]);
    }
}
