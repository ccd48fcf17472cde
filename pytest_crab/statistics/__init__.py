"""Pure statistics of rates and of pairs: no file, no clock, no record, and every draw from a seed."""
