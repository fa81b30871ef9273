"""From tallies, samples and jobs to estimates with intervals; and the register of metrics."""
