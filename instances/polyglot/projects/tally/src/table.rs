use std::fmt;

/// The lines of a table, each with a field for each name of the first line.
#[derive(Debug)]
pub struct Table {
    names: Vec<String>,
    lines: Vec<Vec<String>>,
}

/// What is wrong with a table, and in which line of its file.
#[derive(Debug, PartialEq)]
pub struct TableError {
    line: usize,
    what: String,
}

impl TableError {
    pub fn new(line: usize, what: impl Into<String>) -> Self {
        let what = what.into();
        TableError { line, what }
    }
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl Table {
    /// Reads a table.
    pub fn parse(text: &str) -> Result<Table, TableError> {
        let mut rows = text.lines().map(fields);
        let names = rows.next().ok_or_else(|| TableError::new(1, "there is no line"))?;
        let lines: Vec<_> = rows.collect();
        for (number, line) in lines.iter().enumerate() {
            if line.len() != names.len() {
                let what = format!("{} fields, where there should be {}", line.len(), names.len());
                return Err(TableError::new(number + 2, what));
            }
        }
        Ok(Table { names, lines })
    }

    /// Returns the fields of a column, from the first line to the last.
    pub fn column(&self, name: &str) -> Result<Vec<&str>, TableError> {
        let place = self.names.iter().position(|one| one == name);
        let place = place.ok_or_else(|| TableError::new(1, format!("no column {name}")))?;
        Ok(self.lines.iter().map(|line| line[place].as_str()).collect())
    }

    /// Returns the sum of a column.
    pub fn sum(&self, name: &str) -> Result<f64, TableError> {
        let mut sum = 0.0;
        for (number, field) in self.column(name)?.into_iter().enumerate() {
            sum += number_in(field, number + 2)?;
        }
        Ok(sum)
    }
}

fn fields(line: &str) -> Vec<String> {
    line.split(',').map(|field| field.trim().to_string()).collect()
}

fn number_in(field: &str, line: usize) -> Result<f64, TableError> {
    let found = field.parse();
    found.map_err(|_| TableError::new(line, format!("{field:?} is no number")))
}
