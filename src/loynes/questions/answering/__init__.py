"""What answers have in common: the rate that is judged, the methods of evaluation, objectives, limits."""
