"""The compiler as a program: driver, options, frontends, verification, command line."""
