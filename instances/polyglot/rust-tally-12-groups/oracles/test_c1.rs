//! No group is written outside of the folder, whatever it is called.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A new folder with a table in it.
fn folder(name: &str, table: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tally-{name}-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("out")).unwrap();
    std::fs::write(folder.join("week.csv"), table).unwrap();
    folder
}

fn tally(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tally"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

const SPLIT: [&str; 6] = ["hours", "week.csv", "--by", "who", "--split", "out"];

fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(below(&path));
        }
        found.push(path);
    }
    found
}

#[test]
fn a_group_stays_in_the_folder() {
    for key in ["../escaped", "....//escaped", "..//../escaped", "x/../../escaped", "ABSOLUTE/escaped", "../out2/escaped"] {
        let folder = folder("split", "");
        for inside in ["out2", "out/x", "out/..x"] {
            std::fs::create_dir_all(folder.join(inside)).unwrap();
        }
        let key = key.replace("ABSOLUTE", folder.to_str().unwrap());
        std::fs::write(folder.join("week.csv"), format!("who,hours\n{key},1\n")).unwrap();
        tally(&folder, &SPLIT);
        let outside = below(&folder).into_iter().filter(|path| !path.starts_with(folder.join("out")));
        let written: Vec<_> = outside.filter(|path| path.ends_with("escaped.txt")).collect();
        assert!(written.is_empty(), "{key}: {written:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn other_groups_have_their_files() {
    let folder = folder("plain", "who,hours\nann,1\nbob v. 2,2\n");
    let out = tally(&folder, &SPLIT);
    assert!(out.status.success());
    assert_eq!(std::fs::read_to_string(folder.join("out/ann.txt")).unwrap(), "1.00\n");
    assert_eq!(std::fs::read_to_string(folder.join("out/bob v. 2.txt")).unwrap(), "2.00\n");
}
