/// Imported by all that is compiled without optimization.
