"""The stationary workload: forward chains, backward samples."""
