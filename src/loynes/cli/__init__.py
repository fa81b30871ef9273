"""The command line: options in, one function of `loynes.study` called, tables or JSON out."""
