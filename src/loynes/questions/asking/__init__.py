"""How a question is asked: its record, its options, its run folder, its command line."""
