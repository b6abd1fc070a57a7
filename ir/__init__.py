"""The intermediate representation: the meaning of a network, independent of its execution."""
