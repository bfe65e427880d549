//! The orders in which nodes are visited: seeded, and the same on every device.
//!
//! Knows numbers only.

/// Seeded mixing of 64 bits. Source: Steele, Lea, Flood, «Fast splittable pseudorandom number generators»
/// (splitmix64).
pub(in crate::cpu) fn mix(z: u64) -> u64 {
    let mut z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The seed of one phase: every start, round and level has its own.
pub(in crate::cpu) fn key(seed: u64, start: u32, round: u32, level: u32) -> u64 {
    let place = (u64::from(start) << 40).wrapping_add(u64::from(round) << 20).wrapping_add(u64::from(level));
    mix(seed ^ mix(place))
}

/// An order of `0..m` that a device can step through without storing it: `(start + p·stride) mod m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cpu) struct Affine {
    start: u32,
    stride: u32,
    m: u32,
}

impl Affine {
    pub(in crate::cpu) fn new(key: u64, m: u32) -> Self {
        if m <= 1 {
            return Self { start: 0, stride: 0, m };
        }
        let bits = mix(key);
        let scale = |bits: u64, below: u32| (((bits & 0xffff_ffff) * u64::from(below)) >> 32) as u32;
        let start = scale(bits, m);
        let mut stride = 1 + scale(bits >> 32, m - 1);
        // 1 has no common divisor with anything, so this ends.
        while gcd(stride, m) != 1 {
            stride = if stride + 1 == m { 1 } else { stride + 1 };
        }
        Self { start, stride, m }
    }

    /// All of `0..m`, each once.
    pub(in crate::cpu) fn nodes(self) -> impl Iterator<Item = usize> {
        let (mut next, stride, m) = (self.start as usize, self.stride as usize, self.m as usize);
        (0..m).map(move |_| {
            let node = next;
            next += stride;
            next -= if next >= m { m } else { 0 };
            node
        })
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_names_every_node_once() {
        for m in 0..200 {
            for seed in 0..20 {
                let mut nodes: Vec<usize> = Affine::new(key(seed, 1, 2, 3), m).nodes().collect();
                nodes.sort_unstable();
                assert_eq!(nodes, (0..m as usize).collect::<Vec<_>>(), "{m}");
            }
        }
    }

    #[test]
    fn orders_differ_by_seed_start_round_and_level() {
        let order = |seed, start, round, level| Affine::new(key(seed, start, round, level), 101);
        let first = order(7, 0, 0, 0);
        assert_eq!(first, order(7, 0, 0, 0));
        for other in [order(8, 0, 0, 0), order(7, 1, 0, 0), order(7, 0, 1, 0), order(7, 0, 0, 1)] {
            assert_ne!(first, other);
        }
    }
}
