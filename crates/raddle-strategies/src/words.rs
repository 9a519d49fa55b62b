//! Sets of up to 64 threads as words, in which thread number `i` is the bit of value `1 << i`.

use raddle_engine::Rng;
use raddle_model::ThreadId;

/// Iterates over the threads of a word, in thread order.
#[inline]
pub(crate) fn threads(mut word: u64) -> impl Iterator<Item = ThreadId> {
    std::iter::from_fn(move || {
        let thread = (word != 0).then(|| ThreadId(word.trailing_zeros()));
        word &= word.wrapping_sub(1);
        thread
    })
}

/// Draws one of the threads of a word, which must not be empty.
#[inline]
pub(crate) fn draw(mut word: u64, rng: &mut Rng) -> ThreadId {
    // Few of the bits are set: counting them one by one is quicker than without an instruction for it.
    let count = threads(word).fold(0, |count, _| count + 1);
    for _ in 0..rng.below(count) {
        word &= word - 1;
    }
    ThreadId(word.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_testkit::affordable;

    #[test]
    fn each_thread_of_a_word_is_drawn_equally_often() {
        let word = 1 << 63 | 0b1001_0010;
        assert_eq!(threads(word).map(|thread| thread.0).collect::<Vec<_>>(), [1, 4, 7, 63]);
        let mut rng = Rng::for_run(5, 0);
        let mut drawn = [0_u64; 64];
        let rounds = affordable(40_000);
        for _ in 0..rounds {
            drawn[draw(word, &mut rng).index()] += 1;
        }
        // Three sigma of 40,000 draws with probability 1/4 are 260.
        assert!(threads(word).all(|thread| drawn[thread.index()].abs_diff(rounds / 4) < 260), "{drawn:?}");
        assert_eq!(drawn.iter().sum::<u64>(), threads(word).map(|thread| drawn[thread.index()]).sum::<u64>());
    }
}
