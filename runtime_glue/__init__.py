"""Run a build: the schedule's JSON Schema and the runtimes that read it.

Nothing here knows the compiler; a runtime sees only a build folder (docs/schedule.md).
"""
