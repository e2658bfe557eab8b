//! What the results depend on: the CPU, the kernels that run on it, and the versions compared.

use std::fs;

use wireline_json::Cpu;

/// The CPU's model name.
pub(crate) fn model() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or_else(|| format!("unknown, {}", std::env::consts::ARCH), |(_, name)| name.trim().to_owned())
}

/// The kernels of wireline's scanner that this CPU supports, the best first.
pub(crate) fn cpus() -> Vec<Cpu> {
    Cpu::available().collect()
}

/// The name of a kernel on the command line and in the report.
pub(crate) fn cpu_name(cpu: Cpu) -> String {
    format!("{cpu:?}").to_lowercase()
}

/// The packages compared.
const PACKAGES: &[&str] = &[
    "wireline",
    "simd-json",
    "sonic-rs",
    "serde_json",
    "tokio-util",
    "rmcp",
    #[cfg(feature = "jsonrpsee")]
    "jsonrpsee",
];

/// The name and version of each package compared, one per line.
pub(crate) fn versions() -> String {
    PACKAGES.iter().map(|package| format!("{package} {}\n", version(package))).collect()
}

/// The build profile, by the folder that Cargo has put the program into.
pub(crate) fn profile() -> String {
    let folder = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.file_name()?.to_owned()));
    folder.map_or_else(|| "unknown".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The CPU that everything was compiled for, and whom this affects.
pub(crate) fn build() -> &'static str {
    if cfg!(all(target_arch = "x86_64", target_feature = "avx2")) {
        "for a CPU with AVX2, which is not the default; this affects sonic-rs most"
    } else {
        "default target CPU; wireline, simd-json and memchr detect the CPU at run time, sonic-rs at compile time"
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
