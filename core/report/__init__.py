"""A launch as a document: what was launched, what it cost, what is wrong with it."""
