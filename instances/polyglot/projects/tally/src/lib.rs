//! Adds up a column of a table.

mod table;

pub use table::{Table, TableError};
