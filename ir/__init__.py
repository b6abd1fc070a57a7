"""The intermediate representation: what a network means, and nothing about how it is run."""
