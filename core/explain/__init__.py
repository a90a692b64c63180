"""Why a number is what it is: rules with the values of one launch put in."""
