use std::process::ExitCode;

use tally::Table;

const USAGE: &str = "\
usage: tally COLUMN FILE

Prints the sum of a column of a table.

  -h, --help  prints this
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|one| one == "-h" || one == "--help") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match run(&arguments) {
        Ok(printed) => {
            print!("{printed}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("tally: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<String, String> {
    let [column, file] = arguments else {
        return Err("a column and a file are needed; see tally --help".to_string());
    };
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let table = Table::parse(&text).map_err(|error| format!("{file}: {error}"))?;
    let sum = table.sum(column).map_err(|error| format!("{file}: {error}"))?;
    Ok(format!("{sum:.2}\n"))
}
