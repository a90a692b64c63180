"""Debug information of a PTX module: which source variable lives where."""
