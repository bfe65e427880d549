//! Tests of the emulator itself: it finds what it is there to find, and passes the sound twin.

#[allow(dead_code, reason = "each test program uses a part of it")]
mod emulate;

use emulate::{Arrays, Flavour, build};

#[test]
fn warps_add_up_alike_in_every_order_and_branch() {
    let values: Vec<u32> = (0..640_u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let inputs = Arrays::new().u32s(&values).u32s(&[3]);
    let mut found = Vec::new();
    for flavour in [Flavour::Cuda, Flavour::Metal, Flavour::Sanitized] {
        let Some(program) = build("checks/warp_sums", flavour) else {
            return;
        };
        found.push(program.run_in_all_orders(&inputs).u32s(0));
    }
    let round = |warp: &[u32]| {
        let sum = warp.iter().fold(0_u32, |sum, &value| sum.wrapping_add(value));
        (0..32).map(|lane| sum.wrapping_add(lane)).collect::<Vec<u32>>()
    };
    let warps: Vec<Vec<u32>> = values.chunks(32).map(|warp| round(&round(&round(warp)))).collect();
    let want: Vec<u32> =
        warps.chunks(2).map(|block| block.concat().iter().fold(0_u32, |sum, &value| sum.wrapping_add(value))).collect();
    found.iter().for_each(|found| assert_eq!(*found, want));
}
