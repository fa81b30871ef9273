"""One function per question: check, stability, evaluate, sample."""
