"""Read schedule.json: from untrusted text to a document that fits the schema.

JSON that only Python accepts is refused (NaN, Infinity, numbers beyond float64, duplicate names,
lone surrogates), so that all runtimes accept the same builds.
"""

from __future__ import annotations

import json
import math
import re
import sys
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import jsonschema_rs

from ...errors import ShadergenError

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEDULE = "schedule.json"
SCHEMA = Path(__file__).parent.parent / "schedule.schema.json"
FORMAT = "shadergen"
MAJOR, MINOR = 5, 7
MAX_SCHEDULE_BYTES = 1 << 26
_VERSION = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")  # perhaps: a backslash may be escaped itself
_MESSAGE_LENGTH = 200
_MAX_SUGGESTED = 3  # builds that lie in the folder


def read_document(folder: Path) -> dict[str, Any]:
    """Return the schedule of the build in ``folder``, checked against the schema.

    Raises:
        ShadergenError: SG0502 if the folder is not a build, SG0503 if the schedule is malformed,
            SG0504 if the schedule has another major version than this runtime.
    """
    try:
        return parse_document(read_limited(folder / SCHEDULE))
    except NotADirectoryError:
        raise ShadergenError(
            "SG0502",
            f"'{folder}' is a file, but a build is a folder",
            help="give the folder that 'shadergen compile -o' wrote\nto make one from a model: "
            "shadergen compile MODEL -o FOLDER",
        ) from None
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not folder.exists():
            raise ShadergenError(
                "SG0502",
                f"'{folder}' does not exist",
                help="give the folder that 'shadergen compile -o' wrote",
            ) from None
        found = islice(folder.glob(f"*/{SCHEDULE}"), _MAX_SUGGESTED)
        inside = " or ".join(sorted(f"'{path.parent}'" for path in found))
        meant = f"\ndid you mean {inside}?" if inside else ""
        raise ShadergenError(
            "SG0502",
            f"there is no build in '{folder}'",
            why=f"{SCHEDULE} cannot be read: {error.strerror}",
            help=f"give the folder that 'shadergen compile -o' wrote{meant}",
        ) from None


def read_limited(path: Path) -> bytes:
    """Return the bytes of a schedule's file, up to ``MAX_SCHEDULE_BYTES``.

    Raises:
        ShadergenError: SG0503 when they are.
        OSError: when it cannot be read.
    """
    if path.stat().st_size > MAX_SCHEDULE_BYTES:
        malformed(f"{SCHEDULE} is larger than {MAX_SCHEDULE_BYTES >> 20} MiB")
    return path.read_bytes()


def parse_document(content: bytes) -> dict[str, Any]:
    """Return the schedule in a text, checked against the schema.

    Raises:
        ShadergenError: SG0502 to SG0504.
    """
    try:
        document = parse(content)
        newer = check_version(document)
        validate(document, lenient=newer)
    except RecursionError:
        malformed("the JSON is nested too deeply")
    return document  # type: ignore[no-any-return]


def malformed(what: str, where: str = SCHEDULE, **more: str) -> NoReturn:
    """Raise SG0503."""
    raise ShadergenError("SG0503", what, where=where, **more)


def parse(content: bytes) -> Any:
    """Return JSON as Python objects; refuse JSON that only some parsers accept."""
    try:
        document = json.loads(
            content.decode("utf-8"),
            parse_constant=_refuse_number,
            parse_float=_finite,
            parse_int=_whole,
            object_pairs_hook=_object,
        )
    except UnicodeDecodeError:
        malformed(f"{SCHEDULE} is not UTF-8")
    except json.JSONDecodeError as error:
        malformed(
            f"{SCHEDULE} is not JSON: {error.msg}",
            f"{SCHEDULE}: line {error.lineno}, column {error.colno}",
        )
    if _SURROGATE.search(content):
        try:
            json.dumps(document, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            malformed("a string has an unpaired surrogate")
    return document


def _refuse_number(text: str) -> NoReturn:
    malformed(f"{_short(text)} is not a number that JSON allows")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse_number(text)


def _whole(text: str) -> int:
    if len(text) > sys.float_info.max_10_exp:  # shorter numbers fit float64
        _finite(text)
    return int(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        malformed(f"the member {_short(repr(twice))} is given twice")
    return result


def check_version(document: Any) -> bool:
    """Return whether the schedule has a newer minor version; refuse other major versions."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ShadergenError(
            "SG0502", f"{SCHEDULE} is not a schedule", why=f'it lacks "format": "{FORMAT}"'
        )
    version = document.get("version")
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    if not match:
        malformed("the version is not of the form 'major.minor'", f"{SCHEDULE}: version")
    major, minor = int(match[1]), int(match[2])
    if major != MAJOR:
        raise ShadergenError(
            "SG0504",
            f"the schedule is of version {major}.{minor}",
            where=f"{SCHEDULE}: version",
            why=f"this runtime supports version {MAJOR} (newest known: {MAJOR}.{MINOR})",
            help="update shadergen" if major > MAJOR else "compile the model again",
        )
    return minor > MINOR


def validate(document: dict[str, Any], *, lenient: bool = False) -> None:
    """Check a document against the schema.

    Args:
        document: the parsed schedule.
        lenient: ignore unknown members, which newer minor versions may add.
    """
    if _validator(lenient).is_valid(document):
        return
    # This one takes hundreds of times as long, and names all that is allowed.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(_schema(lenient)).iter_errors(document))
    if error is None:
        malformed("it does not match the schema")
    malformed(_short(_message(error)), f"{SCHEDULE}: {place(error.absolute_path)}")


@cache
def _validator(lenient: bool) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(_schema(lenient))


@cache
def _schema(lenient: bool) -> Any:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return _opened(schema) if lenient else schema


def _opened(schema: Any) -> Any:
    """Return a schema that allows unknown members."""
    if isinstance(schema, list):
        return [_opened(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    return {k: _opened(v) for k, v in schema.items() if k != "additionalProperties"}


def _message(error: Any) -> str:
    """Return jsonschema's message, or our own if it would mention schemas."""
    if error.validator == "not":
        return "this member does not belong here"
    if error.validator == "oneOf":
        choices = ", ".join(name for s in error.validator_value for name in s["required"])
        return f"give exactly one of {choices}"
    return str(error.message)


def place(path: Iterable[str | int]) -> str:
    """Return a JSON path as people write it: ``passes[3].reads[0].uniform``."""
    text = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path)
    return text.removeprefix(".") or "the whole document"


def _short(text: str) -> str:
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")  # lone surrogates
    return text if len(text) <= _MESSAGE_LENGTH else f"{text[:_MESSAGE_LENGTH]}..."
