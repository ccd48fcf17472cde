//! Groups come in the order of their names, byte by byte.

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

#[test]
fn groups_are_sorted() {
    let names = ["b", "a", "Z", "é", "aa", "10", "9", "c d", "_", "B", "ab", "x", "y", "k", "m", "w"];
    let lines: String = names.iter().enumerate().map(|(number, name)| format!("{name},{number}\n")).collect();
    let folder = folder("sorted", &format!("who,hours\n{lines}"));
    let out = tally(&folder, &["hours", "week.csv", "--by", "who"]);
    let printed = String::from_utf8(out.stdout).unwrap();
    let told: Vec<&str> = printed.lines().map(|line| line.rsplit_once(' ').unwrap().0).collect();
    let mut wanted = names.to_vec();
    wanted.sort();
    assert_eq!(told, wanted);
}

#[test]
fn sums_stay_with_their_groups() {
    let folder = folder("sums", "who,hours\nbob,1\nbob,2\n");
    let out = tally(&folder, &["hours", "week.csv", "--by", "who"]);
    assert_eq!(String::from_utf8_lossy(&out.stdout), "bob 3.00\n");
}
