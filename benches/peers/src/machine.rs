//! What figures depend on: the CPU, which code runs on it, and which versions are compared.

use std::fs;

use wireline::Cpu;

/// What the CPU calls itself.
pub(crate) fn model() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or_else(|| format!("unknown, {}", std::env::consts::ARCH), |(_, name)| name.trim().to_owned())
}

/// The implementations of wireline's scanner that run here, the best first.
pub(crate) fn cpus() -> Vec<Cpu> {
    Cpu::available().collect()
}

/// What an implementation is called here.
pub(crate) fn cpu_name(cpu: Cpu) -> String {
    format!("{cpu:?}").to_lowercase()
}

/// All that is compared.
const PACKAGES: [&str; 6] = ["wireline", "simd-json", "sonic-rs", "serde_json", "tokio-util", "rmcp"];

/// A line for each package that is compared: its name and its version.
pub(crate) fn versions() -> String {
    PACKAGES.map(|package| format!("{package} {}\n", version(package))).concat()
}

/// For which CPU everybody was compiled, and who cares.
pub(crate) fn build() -> &'static str {
    if cfg!(all(target_arch = "x86_64", target_feature = "avx2")) {
        "for a CPU with AVX2, as programs are not by default; it matters to sonic-rs most"
    } else {
        "no target-cpu for anyone; wireline, simd-json and memchr look at the CPU when the program runs, sonic-rs when \
         it is compiled"
    }
}

/// The version of `package` that is linked in.
fn version(package: &str) -> &'static str {
    const LOCK: &str = include_str!("../Cargo.lock");
    let name = format!("name = \"{package}\"");
    let mut lines = LOCK.lines().skip_while(|line| *line != name);
    lines.nth(1).and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"')).unwrap_or("?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found() {
        for package in PACKAGES {
            assert!(version(package).starts_with(|first: char| first.is_ascii_digit()), "{package}");
        }
        assert_eq!(version("no such package"), "?");
    }

    #[test]
    fn portable_code_runs_everywhere() {
        assert_eq!(cpus().last().map(|&cpu| cpu_name(cpu)).as_deref(), Some("portable"));
    }
}
