"""Lessons as data: read, posed, marked and checked; no answer is typed, all are computed."""
