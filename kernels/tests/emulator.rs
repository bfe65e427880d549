//! Tests of the emulator itself: it finds what it is there to find, passes the sound twin, and every word of
//! `port.h` means the same in its CUDA and its Metal branch.

#[allow(dead_code, reason = "each test program uses a part of it")]
mod emulate;

use emulate::{Arrays, Flavour, ORDERS, Outputs, Program, build};

/// Faults of `emulator/checks/faults.cc`, by number.
const SOUND: u32 = 0;
const BARRIER_REMOVED: u32 = 1;
const BARRIER_IN_BRANCH: u32 = 2;
const TWO_BARRIERS: u32 = 3;
const WRITTEN_PAST_THE_END: u32 = 4;
const READ_FROM_EXITED_LANE: u32 = 5;
const DIFFERENT_OPERATIONS: u32 = 6;
const NOT_INITIALISED: u32 = 7;
const TICKETS: u32 = 8;
const ENDLESS_WAIT: u32 = 9;
const LOST_UPDATE: u32 = 10;

/// The exit code of a program whose kernel is broken.
const BROKEN: Option<i32> = Some(70);

fn values() -> Vec<u32> {
    (0..256_u32).map(|i| i.wrapping_mul(2_654_435_761)).collect()
}

fn with_fault(fault: u32) -> Arrays {
    Arrays::new().u32s(&values()).u32s(&[fault])
}

fn faults(flavour: Flavour) -> Option<Program> {
    let program = build("checks/faults", flavour)?;
    let outputs = program.run_in_all_orders(&with_fault(SOUND));
    let sum = |block: &[u32]| block.iter().fold(0_u32, |sum, &value| sum.wrapping_add(value));
    assert_eq!(outputs.u32s(0), values().chunks(64).map(sum).collect::<Vec<u32>>(), "the sound twin");
    assert_eq!(outputs.u32s(1)[..256], (0..256).collect::<Vec<u32>>(), "the sound twin");
    Some(program)
}

/// The fault gives results that differ from order to order.
fn depends_on_order(fault: u32) {
    let Some(program) = faults(Flavour::Cuda) else {
        return;
    };
    let run = |order: u32| program.run(order, &with_fault(fault)).unwrap_or_else(|failure| panic!("{failure}"));
    let runs: Vec<Outputs> = ORDERS.iter().map(|&order| run(order)).collect();
    assert!(runs[1..].iter().any(|outputs| *outputs != runs[0]), "no order gives another result");
    assert!(run(2) == run(2), "one order gives two results");
}

/// The fault ends the program in every order with a report that holds each of `parts`.
fn is_reported(flavour: Flavour, fault: u32, code: Option<i32>, parts: &[&str]) {
    let Some(program) = faults(flavour) else {
        return;
    };
    for order in ORDERS {
        let Err(failure) = program.run(order, &with_fault(fault)) else {
            panic!("order {order} passed");
        };
        assert!(code.is_none() || failure.code == code, "{failure}");
        parts.iter().for_each(|part| assert!(failure.report.contains(part), "{part}: {failure}"));
    }
}

#[test]
fn a_removed_barrier_shows_as_dependence_on_order() {
    depends_on_order(BARRIER_REMOVED);
}

#[test]
fn shared_memory_that_no_one_wrote_shows_as_dependence_on_order() {
    depends_on_order(NOT_INITIALISED);
}

#[test]
fn turns_taken_at_an_atomic_show_as_dependence_on_order() {
    depends_on_order(TICKETS);
}

#[test]
fn an_update_lost_around_an_atomic_shows_in_the_shuffled_orders() {
    depends_on_order(LOST_UPDATE);
}

#[test]
fn a_barrier_that_half_of_the_block_goes_to_is_reported() {
    let parts = ["block ", "different barriers: lines", "at the block's barrier: threads 0 1 2"];
    is_reported(Flavour::Cuda, BARRIER_IN_BRANCH, BROKEN, &parts);
    is_reported(Flavour::Metal, BARRIER_IN_BRANCH, BROKEN, &parts);
    is_reported(Flavour::Cuda, TWO_BARRIERS, BROKEN, &parts);
}

#[test]
fn a_write_past_the_end_is_found_with_its_line_or_its_array() {
    is_reported(Flavour::Cuda, WRITTEN_PAST_THE_END, BROKEN, &["array `order` of 1028 bytes was written outside"]);
    is_reported(
        Flavour::Sanitized,
        WRITTEN_PAST_THE_END,
        None,
        &["heap-buffer-overflow", "faults.cc:", "WRITE of size 4"],
    );
}

#[test]
fn a_read_from_a_lane_that_is_gone_is_reported() {
    let parts = ["reads from lane 7, which has exited", "have exited: threads "];
    is_reported(Flavour::Cuda, READ_FROM_EXITED_LANE, BROKEN, &parts);
    is_reported(Flavour::Metal, READ_FROM_EXITED_LANE, BROKEN, &parts);
}

#[test]
fn lanes_that_meet_at_different_operations_are_reported() {
    is_reported(Flavour::Cuda, DIFFERENT_OPERATIONS, BROKEN, &["of a warp meet at different operations"]);
}

#[test]
fn a_wait_that_cannot_end_is_reported_with_who_waits_where() {
    let parts = ["deadlock", "wait for lanes of their warp: threads 16 17", "at the block's barrier: threads 0 1"];
    is_reported(Flavour::Cuda, ENDLESS_WAIT, BROKEN, &parts);
}

/// Whole numbers of every size, the same on every run.
fn numbers(n: usize) -> Vec<i64> {
    let edges = [0, 1, -1, 2, i64::MAX, i64::MIN, i64::MIN + 1, 1 << 32, -(1 << 32), u32::MAX as i64, 7, -7];
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..n)
        .map(|i| if i % 3 == 0 { edges[next() as usize % edges.len()] } else { (next() as i64) >> (next() % 64) })
        .collect()
}

const N_WORDS: usize = 12;
const N_WIDE: usize = 9;

/// What `warp_words` of `checks/words.cc` must give for one warp's values.
fn words_of_warp(values: &[i64]) -> Vec<[i64; N_WORDS]> {
    let sum = |values: &[i64]| values.iter().fold(0_i64, |sum, &value| sum.wrapping_add(value));
    let ballot = values.iter().enumerate().fold(0, |votes, (lane, value)| votes | (value & 1) << lane);
    let sum_u32 = i64::from(sum(values) as u32);
    let max_i32 = i64::from(values.iter().map(|&value| value as i32).max().unwrap_or(0));
    // Small enough that 32 of them do not overflow.
    let parts: Vec<i64> = values.iter().map(|value| value / 64).collect();
    let any = values.iter().any(|&value| value > 0);
    let one = |(lane, &value): (usize, &i64)| {
        let odd = value as u32 | 0x8000_0000;
        let x = (value % 1_000_001) as f32 / 8.0;
        let flags = 1 | i64::from(any) << 1 | i64::from(value <= 7) << 2 | i64::from(value >= 7) << 3;
        [
            sum(&parts),
            values.iter().copied().max().unwrap_or(0),
            values.iter().copied().min().unwrap_or(0),
            sum(&parts[..=lane]),
            if lane >= 3 { values[lane - 3] } else { value },
            values[(value & 31) as usize],
            values[lane ^ 5],
            ballot,
            sum_u32,
            max_i32,
            i64::from(odd.count_ones()) << 32 | i64::from(odd.trailing_zeros()),
            (x.round() as i64) << 8 | flags,
        ]
    };
    values.iter().enumerate().map(one).collect()
}

/// What `wide_words` must give for a, b, c and d.
fn words_of_wide(numbers: &[i64]) -> [i64; N_WIDE] {
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| i128::from(numbers[i]));
    let parts = |value: i128| [(value >> 64) as i64, value as i64];
    let ([high, low], [sum_high, sum_low]) = (parts(a * b - c * d), parts(a * b + c * d));
    let less = i64::from(a * b < c * d);
    [high, low, high, low, sum_high, sum_low, 1, less, less]
}

#[test]
fn every_word_means_the_same_on_cuda_and_metal() {
    let (values, numbers) = (numbers(640), numbers(4 * 1000));
    let inputs = Arrays::new().i64s(&values).i64s(&numbers);
    let words: Vec<i64> = values.chunks(32).flat_map(words_of_warp).flatten().collect();
    let wide: Vec<i64> = numbers.chunks(4).flat_map(words_of_wide).collect();
    let sum = values.iter().fold(0_u64, |sum, &value| sum.wrapping_add(value as u64));
    let low: Vec<u32> = values.iter().map(|&value| value as u32).collect();
    let bits = low.iter().enumerate().fold(0, |bits, (at, value)| bits | value & 0x10101 << (at % 8));
    let low_sum = low.iter().fold(0_u32, |sum, &value| sum.wrapping_add(value));
    let (least, most) = (low.iter().min().copied(), low.iter().max().copied());
    let atomics = [low_sum, least.unwrap_or(0), most.unwrap_or(0), bits, !bits, 1, 1, values.len() as u32];
    for flavour in [Flavour::Cuda, Flavour::Metal, Flavour::Sanitized] {
        let Some(program) = build("checks/words", flavour) else {
            return;
        };
        let outputs = program.run_in_all_orders(&inputs);
        let signed = |array_idx: usize| outputs.u64s(array_idx).into_iter().map(|word| word as i64);
        assert_eq!(signed(0).collect::<Vec<i64>>(), words, "{flavour:?}");
        assert_eq!(signed(1).collect::<Vec<i64>>(), wide, "{flavour:?}");
        assert_eq!(outputs.u64s(2), [sum], "{flavour:?}");
        assert_eq!(outputs.u32s(3), atomics, "{flavour:?}");
    }
}
