"""Back ends: a placed graph becomes GPU passes, shaders, and a build on disk."""
