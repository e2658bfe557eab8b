//! Checks the layers of `src`: each folder imports only from the layers below it. Also that CONTRIBUTING.md, which explains
//! them, names files and items that exist, and that no file of tests is forgotten.

use std::fs;
use std::path::{Path, PathBuf};

/// The layers, lowest first. A module may import those of lower layers, but not the others of its own.
const LAYERS: [&[&str]; 9] = [
    &["sync"],
    &["pipe", "message"],
    &["decode", "dom"],
    &["encode"],
    &["ledger"],
    &["connection"],
    &["codec", "process", "stdio"],
    &["io", "aio"],
    &["testing"],
];

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

fn may_import(module: &str, other: &str) -> bool {
    module == other || layer_of(other).is_some_and(|other| layer_of(module).is_some_and(|module| other < module))
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// The lines of a file, without comments, tests and models.
fn lines(code: &str) -> impl Iterator<Item = &str> {
    let code = code.split("\n#[cfg(test)]\n").next().unwrap();
    let code = code.split("\n#[cfg(all(test, wireline_loom))]\nmod models {\n").next().unwrap();
    code.lines().map(|line| line.split("//").next().unwrap())
}

/// The name after each `crate::` in a file.
fn imports(code: &str) -> Vec<&str> {
    let paths = lines(code).flat_map(|line| line.split("crate::").skip(1));
    let name = |path: &'_ str| path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
    paths.map(|path| &path[..name(path)]).collect()
}

/// Whether a `super::super::…` in a file leads out of its layer, where `imports` would miss it.
fn leaves_layer(name: &str, code: &str) -> bool {
    let module = name.trim_end_matches(".rs").trim_end_matches("/mod");
    let out = "super::".repeat(module.split('/').count());
    lines(code).any(|line| line.contains(&out))
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
        assert!(layer_of(layer).is_some(), "{name} belongs to no layer");
        checked += 1;
        let code = fs::read_to_string(&path).unwrap();
        for import in imports(&code).into_iter().filter(|import| !may_import(layer, import)) {
            wrong.push(format!("{name} imports {import}"));
        }
        if leaves_layer(&name, &code) {
            wrong.push(format!("{name} imports by `super::` from outside its layer"));
        }
    }
    assert!(checked > 30, "checked only {checked} files");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn imports_are_found() {
    let code = "use crate::message::{self, Id};\n// crate::io\nlet x = crate::ledger::Inbound; /// [`X`](crate::X)\n\n#[cfg(test)]\nuse crate::io;\n";
    assert_eq!(imports(code), ["message", "ledger"]);
    assert!(
        leaves_layer("decode/hint.rs", "use super::super::message;") && leaves_layer("io/mod.rs", "use super::decode;")
    );
    assert!(
        !leaves_layer("encode/serializer/mod.rs", "use super::line;")
            && !leaves_layer("decode/hint.rs", "use super::fault;")
    );
    assert!(may_import("encode", "decode") && !may_import("decode", "encode"));
    assert!(may_import("io", "ledger") && !may_import("ledger", "io") && !may_import("message", "Frame"));
    assert!(may_import("aio", "stdio") && !may_import("aio", "io"));
}

/// The text between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn places_to_change_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let contributing = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let (_, table) = contributing.split_once("\n## Where a change goes\n").unwrap();
    let table = table.split("\n## ").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | ")).skip(1);
    let mut checked = 0;
    for (change, places) in rows {
        let mut items = Vec::new();
        for place in quoted(places).map(|place| place.split(' ').next().unwrap()) {
            if !place.contains(['/', '.']) {
                items.push(place);
                continue;
            }
            let found = [root.join("src").join(place), root.join(place)].into_iter().find(|path| path.exists());
            let Some(path) = found else {
                // The published package contains the library alone.
                assert!(!root.join("cli").exists(), "{change}: there is no {place}");
                items.clear();
                continue;
            };
            let text = if items.is_empty() { String::new() } else { fs::read_to_string(path).unwrap() };
            for item in items.drain(..) {
                assert!(text.contains(item), "{change}: there is no {item} in {place}");
            }
            checked += 1;
        }
        assert!(items.is_empty(), "{change}: where is {items:?}?");
    }
    assert!(checked > 20, "checked only {checked} places");
}

/// The files and folders in a folder of modules that are neither declared in `declarations` nor programs of their own.
fn undeclared(folder: &Path, declarations: &str, manifest: &str) -> Vec<PathBuf> {
    let mut wrong = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let file = if path.is_dir() { path.join("mod.rs") } else { path.clone() };
        let is_program = manifest.contains(&format!("path = \"tests/{name}.rs\""));
        if !file.exists() || file.extension().is_none_or(|extension| extension != "rs") || is_program || name == "mod" {
            continue;
        }
        if !declarations.lines().any(|line| line.strip_prefix("pub ").unwrap_or(line) == format!("mod {name};")) {
            wrong.push(path);
        } else if path.is_dir() {
            wrong.extend(undeclared(&path, &fs::read_to_string(file).unwrap(), ""));
        }
    }
    wrong
}

/// Cargo doesn't look for tests by itself here, so a file that isn't declared would never be compiled.
#[test]
fn every_file_of_tests_is_declared() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for package in
        ["", "c", "cli", "transports/acp", "transports/jsonrpsee", "transports/rmcp"].map(|name| root.join(name))
    {
        if !package.exists() {
            continue; // the published package contains the library alone
        }
        let read = |name| fs::read_to_string(package.join(name)).unwrap();
        let wrong = undeclared(&package.join("tests"), &read("tests/main.rs"), &read("Cargo.toml"));
        assert!(wrong.is_empty(), "not in tests/main.rs: {wrong:?}");
    }
}
