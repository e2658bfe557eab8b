//! Checks the layers of `src`: each folder imports only from the layers below it.

use std::fs;
use std::path::{Path, PathBuf};

/// The layers, lowest first. Each may import itself and those before it.
const LAYERS: [&str; 4] = ["json", "message", "decode", "encode"];
/// The adapters may import every layer, but not each other.
const ADAPTERS: [&str; 5] = ["ledger", "io", "aio", "codec", "stdio"];
/// The exceptions: writers send the ledger's answers, and `aio` shares reading and error types with `io`.
const BETWEEN_ADAPTERS: [(&str, &str); 4] = [("io", "ledger"), ("aio", "ledger"), ("aio", "io"), ("codec", "ledger")];

fn may_import(layer: &str, other: &str) -> bool {
    let rank = |name| LAYERS.iter().position(|layer| *layer == name);
    match (rank(layer), rank(other)) {
        (Some(layer), Some(other)) => other <= layer,
        (Some(_), None) => false,
        (None, Some(_)) => true,
        (None, None) => layer == other || BETWEEN_ADAPTERS.contains(&(layer, other)),
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// The name after each `crate::` in a file, without comments and tests.
fn imports(code: &str) -> Vec<&str> {
    let code = code.split("\n#[cfg(test)]\n").next().unwrap();
    let lines = code.lines().map(|line| line.split("//").next().unwrap());
    let paths = lines.flat_map(|line| line.split("crate::").skip(1));
    let name = |path: &'_ str| path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
    paths.map(|path| &path[..name(path)]).collect()
}

#[test]
fn no_layer_imports_a_higher_one() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut checked = 0;
    let mut wrong = Vec::new();
    for path in sources(&src) {
        let name = path.strip_prefix(&src).unwrap().to_str().unwrap().replace('\\', "/");
        let layer = name.split('/').next().unwrap().trim_end_matches(".rs");
        // The crate's front page and the guide refer to everything.
        if ["lib", "guide"].contains(&layer) || name.ends_with("/tests.rs") {
            continue;
        }
        assert!(LAYERS.contains(&layer) || ADAPTERS.contains(&layer), "{name} belongs to no layer");
        checked += 1;
        let code = fs::read_to_string(&path).unwrap();
        for import in imports(&code).into_iter().filter(|import| !may_import(layer, import)) {
            wrong.push(format!("{name} imports {import}"));
        }
    }
    assert!(checked > 30, "checked only {checked} files");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn imports_are_found() {
    let code = "use crate::json::{self, Text};\n// crate::io\nlet x = crate::ledger::Inbound; /// [`X`](crate::X)\n\n#[cfg(test)]\nuse crate::io;\n";
    assert_eq!(imports(code), ["json", "ledger"]);
    assert!(may_import("encode", "decode") && !may_import("decode", "encode"));
    assert!(may_import("io", "ledger") && !may_import("ledger", "io") && !may_import("json", "Frame"));
}
