"""XML from a stranger: no DTD, so no entities; bounded size; one clear error."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

LARGEST = 256 * 2**20
CHUNK = 2**16


class UnsafeXml(Exception):
    """Text that is no well-formed XML, or more than a report needs."""


class _Builder(ElementTree.TreeBuilder):
    """Refuses a document type at its start, before any entity is declared or read."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise UnsafeXml("it declares a document type, which no test report has")


def parse_xml(path: Path) -> ElementTree.ElementTree[Any]:
    """The tree of a regular file. Raises UnsafeXml, and OSError where it cannot be read."""
    if not path.is_file():
        raise UnsafeXml("no such file" if not path.exists() else "not a regular file")
    if (size := path.stat().st_size) > LARGEST:
        raise UnsafeXml(f"{size >> 20} MiB are more than the {LARGEST >> 20} MiB that are read")
    parser = ElementTree.XMLParser(target=_Builder())
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                parser.feed(chunk)
        return ElementTree.ElementTree(parser.close())
    except ElementTree.ParseError as error:
        raise UnsafeXml(f"not well-formed XML, truncated or damaged ({error})") from None
    except (ValueError, LookupError) as error:  # an encoding that expat or Python cannot read
        raise UnsafeXml(f"not readable as XML ({error})") from None
