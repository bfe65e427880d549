//! What the processor says of itself.

use crate::Traits;

/// Its architecture, the threads that work here and the widest vectors it has.
pub(crate) fn traits() -> Traits {
    Traits {
        title: std::env::consts::ARCH.to_owned(),
        threads: u32::try_from(rayon::current_num_threads()).ok(),
        vector_unit: Some(vector_unit().to_owned()),
        ..Traits::default()
    }
}

#[cfg(target_arch = "x86_64")]
fn vector_unit() -> &'static str {
    match (is_x86_feature_detected!("avx512f"), is_x86_feature_detected!("avx2")) {
        (true, _) => "avx512",
        (_, true) => "avx2",
        _ => "sse2",
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn vector_unit() -> &'static str {
    if cfg!(target_arch = "aarch64") { "neon" } else { "none" }
}
