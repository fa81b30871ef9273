"""The command line: commands made from questions, tables or JSON out."""
