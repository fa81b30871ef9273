"""How much load a cluster can take: the growth rate of the pile."""
