"""What is taken along without the program: a page to replay, a film, a report, a worksheet."""
