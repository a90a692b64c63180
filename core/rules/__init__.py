"""How the hardware counts: sectors, banks, atomics and issue, by Nsight Compute's rules."""
