//! Builds the emulated kernels with the machine's C++ compiler and runs them as children: bytes in, bytes out.
//!
//! Knows `emulator/job.h`'s way of passing arrays. Does not know what any kernel computes.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The orders of threads, warps and blocks that results must not depend on: ascending, descending, shuffled.
pub const ORDERS: [u32; 4] = [0, 1, 2, 3];

/// How a program is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flavour {
    /// The kernel's CUDA branch, optimised.
    Cuda,
    /// The kernel's Metal branch through the stand-in for Apple's header, optimised.
    Metal,
    /// The CUDA branch under the address and undefined-behaviour sanitizers.
    Sanitized,
}

/// An emulated kernel, compiled.
#[derive(Clone)]
pub struct Program {
    path: PathBuf,
}

/// Why a run gave no arrays.
#[derive(Debug)]
pub struct Failure {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What the program said on stderr.
    pub report: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit code {:?}: {}", self.code, self.report)
    }
}

/// The programs of this process: each is compiled once.
static BUILT: Mutex<BTreeMap<(String, Flavour), Option<Program>>> = Mutex::new(BTreeMap::new());

/// Compiles `emulator/<name>.cc`; `None`, having said so, where the machine has no C++ compiler.
///
/// # Panics
/// When the source does not compile.
pub fn build(name: &str, flavour: Flavour) -> Option<Program> {
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let program = built.entry((name.to_owned(), flavour)).or_insert_with(|| compile(name, flavour)).clone();
    if program.is_none() {
        println!("skipped: no C++ compiler to build the emulator with");
    }
    program
}

fn compile(name: &str, flavour: Flavour) -> Option<Program> {
    let compiler = compiler()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // A folder for each checkout, each file moved into place when whole: tests may run beside each other and share a
    // target folder.
    let mut checkout = DefaultHasher::new();
    root.hash(&mut checkout);
    // Tests inside the crate are not told the target folder.
    let target = option_env!("CARGO_TARGET_TMPDIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = target.join(format!("emulator-{:x}", checkout.finish()));
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let path = folder.join(format!("{}-{flavour:?}", name.replace('/', "-")));
    let part = path.with_extension(std::process::id().to_string());
    let mut command = compiler.to_command();
    command.args(["-std=c++17", "-Wall", "-Wextra", "-Wno-unused-parameter"]);
    // Another machine's compiler may warn of more.
    command.args(std::env::var_os("CI").map(|_| "-Werror"));
    // Metal's attributes mean nothing here, and each compiler has its own name for saying so.
    command.args(["-Wno-attributes", "-Wno-unknown-attributes"]);
    // Products and sums stay apart unless the source fuses them.
    command.arg("-ffp-contract=off").args(flags(flavour)).arg("-I").arg(root.join("emulator/metal"));
    command.arg(root.join("emulator").join(format!("{name}.cc"))).arg("-o").arg(&part);
    let output = command.output().expect("the compiler starts");
    assert!(output.status.success(), "{name}.cc: {}", String::from_utf8_lossy(&output.stderr));
    fs::rename(&part, &path).expect("the target folder can be written");
    Some(Program { path })
}

fn flags(flavour: Flavour) -> Vec<&'static str> {
    let mut flags = match flavour {
        Flavour::Cuda => vec!["-O2"],
        Flavour::Metal => vec!["-O2", "-DSTRATA_METAL"],
        Flavour::Sanitized => {
            vec!["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
        }
    };
    // Without it every fused multiply-add is a call.
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") {
        flags.push("-mfma");
    }
    flags
}

/// The C++ compiler that build scripts would use, if it can be started.
fn compiler() -> Option<cc::Tool> {
    let vendor = if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-gnu" };
    let triple = format!("{}-{vendor}", std::env::consts::ARCH);
    let mut build = cc::Build::new();
    build.cpp(true).cargo_metadata(false).cargo_warnings(false).cargo_debug(false);
    build.target(&triple).host(&triple).opt_level(2).no_default_flags(true);
    let tool = build.try_get_compiler().ok()?;
    let starts = tool.to_command().arg("--version").output().is_ok_and(|output| output.status.success());
    starts.then_some(tool)
}

impl Program {
    /// Where the program lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs the kernel in `order` on `inputs` and gives its output arrays.
    ///
    /// # Errors
    /// [`Failure`] with the program's report, when it ends with another code than 0.
    pub fn run(&self, order: u32, inputs: &Arrays) -> Result<Outputs, Failure> {
        let mut child = Command::new(&self.path)
            .arg(order.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("piped");
        let output = std::thread::scope(|scope| {
            // A program that stops early closes its end; its report says why.
            scope.spawn(move || drop(stdin.write_all(&inputs.bytes)));
            child.wait_with_output()
        });
        let output = output.expect("the program ends");
        if !output.status.success() {
            let report = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Failure { code: output.status.code(), report });
        }
        Ok(Outputs::parse(&output.stdout))
    }

    /// Runs the kernel in every order of [`ORDERS`] and gives the arrays, which must be the same.
    ///
    /// # Panics
    /// When a run fails or two orders differ.
    pub fn run_in_all_orders(&self, inputs: &Arrays) -> Outputs {
        let run = |order: u32| match self.run(order, inputs) {
            Ok(outputs) => outputs,
            Err(failure) => panic!("order {order}: {failure}"),
        };
        let first = run(ORDERS[0]);
        for order in &ORDERS[1..] {
            assert!(run(*order) == first, "orders {} and {order} give different results", ORDERS[0]);
        }
        first
    }
}

/// Arrays for a program's stdin, in the order in which its job asks for them.
#[derive(Default)]
pub struct Arrays {
    bytes: Vec<u8>,
}

impl Arrays {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn with(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend((bytes.len() as u64).to_le_bytes());
        self.bytes.extend(bytes);
        self
    }

    /// Adds an array of bytes, or of any struct as its bytes.
    pub fn bytes(self, values: &[u8]) -> Self {
        self.with(values)
    }

    /// Adds an array of 32-bit words; a struct of such words is one too.
    pub fn u32s(self, values: &[u32]) -> Self {
        self.with(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
    }

    /// Adds an array of signed words.
    pub fn i32s(self, values: &[i32]) -> Self {
        self.with(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
    }

    /// Adds an array of 64-bit words.
    pub fn i64s(self, values: &[i64]) -> Self {
        self.with(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
    }

    /// Adds an array of floats.
    pub fn f32s(self, values: &[f32]) -> Self {
        self.with(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
    }
}

/// The arrays that a program wrote, in the order in which its job asked for them.
#[derive(PartialEq, Eq)]
pub struct Outputs {
    arrays: Vec<Vec<u8>>,
}

impl Outputs {
    fn parse(mut bytes: &[u8]) -> Self {
        let mut arrays = Vec::new();
        while let Some((length, rest)) = bytes.split_first_chunk::<8>() {
            let (array, rest) = rest.split_at(u64::from_le_bytes(*length) as usize);
            arrays.push(array.to_vec());
            bytes = rest;
        }
        assert!(bytes.is_empty(), "the output ends within an array");
        Self { arrays }
    }

    /// Array `array_idx` as bytes.
    pub fn u8s(&self, array_idx: usize) -> Vec<u8> {
        self.arrays[array_idx].clone()
    }

    /// Array `array_idx` as 16-bit words.
    pub fn u16s(&self, array_idx: usize) -> Vec<u16> {
        self.words(array_idx, u16::from_le_bytes)
    }

    /// Array `array_idx` as 32-bit words.
    pub fn u32s(&self, array_idx: usize) -> Vec<u32> {
        self.words(array_idx, u32::from_le_bytes)
    }

    /// Array `array_idx` as signed words.
    pub fn i32s(&self, array_idx: usize) -> Vec<i32> {
        self.words(array_idx, i32::from_le_bytes)
    }

    /// Array `array_idx` as 64-bit words.
    pub fn u64s(&self, array_idx: usize) -> Vec<u64> {
        self.words(array_idx, u64::from_le_bytes)
    }

    fn words<T, const N: usize>(&self, array_idx: usize, word: fn([u8; N]) -> T) -> Vec<T> {
        let chunks = self.arrays[array_idx].chunks_exact(N);
        chunks.map(|chunk| word(chunk.try_into().expect("whole"))).collect()
    }
}
