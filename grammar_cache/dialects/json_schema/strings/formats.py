"""The formats that are enforced, as languages over code points.

Each is the RFC's own syntax, or a part of it where the whole is not worth its size; no text outside of the
RFC is ever let through. Dates exist in the calendar. Host names are in ASCII also where the format is an
international one. A format that the standard doesn't list says nothing about the text.
"""

from __future__ import annotations

from collections.abc import Mapping

from grammar_cache.dialects.json_schema.expressions.combine import alt, seq
from grammar_cache.dialects.json_schema.strings.pattern_format import PATTERN
from grammar_cache.dialects.regex import compiler as regex
from grammar_cache.expression import ANY_CHAR, And, Bytes, Expression, Not, Repeat


def _regex(pattern: str) -> Expression:
    return regex.parse(pattern)


# RFC 3339. Year 0 is left out (Python has none), and so are leap seconds: which exist is not syntax.
_YEAR = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_LEAP = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_DAYS = (
    "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8])"
)
_DATE = f"(?:{_YEAR}-(?:{_DAYS})|{_LEAP}-02-29)"
_CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_TIME = f"{_CLOCK}:[0-5][0-9](?:\\.[0-9]{{1,9}})?(?:Z|[+-]{_CLOCK})"
_DATE_TIME = f"{_DATE}T{_TIME}"

# RFC 3339, appendix A.
_CLOCK_DURATION = "T(?:[0-9]{1,9}H(?:[0-9]{1,9}M(?:[0-9]{1,9}S)?)?|[0-9]{1,9}M(?:[0-9]{1,9}S)?|[0-9]{1,9}S)"
_DAY_DURATION = "(?:[0-9]{1,9}Y(?:[0-9]{1,9}M(?:[0-9]{1,9}D)?)?|[0-9]{1,9}M(?:[0-9]{1,9}D)?|[0-9]{1,9}D)"
_DURATION = f"P(?:{_CLOCK_DURATION}|{_DAY_DURATION}(?:{_CLOCK_DURATION})?|[0-9]{{1,9}}W)"

# RFC 3986, and 3987 with the characters that it adds.
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = f"{_OCTET}(?:\\.{_OCTET}){{3}}"
_H16 = "[0-9A-Fa-f]{1,4}"
_LS32 = f"(?:{_H16}:{_H16}|{_IPV4})"
_IPV6 = "|".join(
    (
        f"(?:{_H16}:){{6}}{_LS32}",
        f"::(?:{_H16}:){{5}}{_LS32}",
        f"(?:{_H16})?::(?:{_H16}:){{4}}{_LS32}",
        f"(?:(?:{_H16}:){{0,1}}{_H16})?::(?:{_H16}:){{3}}{_LS32}",
        f"(?:(?:{_H16}:){{0,2}}{_H16})?::(?:{_H16}:){{2}}{_LS32}",
        f"(?:(?:{_H16}:){{0,3}}{_H16})?::{_H16}:{_LS32}",
        f"(?:(?:{_H16}:){{0,4}}{_H16})?::{_LS32}",
        f"(?:(?:{_H16}:){{0,5}}{_H16})?::{_H16}",
        f"(?:(?:{_H16}:){{0,6}}{_H16})?::",
    )
)
_UCSCHAR = "\\u00A0-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF" + "".join(
    f"\\u{{{plane:X}{0x1000 if plane == 0xE else 0:04X}}}-\\u{{{plane:X}FFFD}}" for plane in range(1, 0xF)
)
_IPRIVATE = "\\uE000-\\uF8FF\\u{F0000}-\\u{FFFFD}\\u{100000}-\\u{10FFFD}"


def _references(more: str, private: str) -> tuple[str, str]:
    """URIs, and relative references, with more characters (as inside of a class) in names, and others in queries."""
    name = f"(?:[A-Za-z0-9._~!$&'()*+,;={more}-]|%[0-9A-Fa-f]{{2}})"
    pchar = f"(?:[A-Za-z0-9._~!$&'()*+,;=:@{more}-]|%[0-9A-Fa-f]{{2}})"
    first_segment = f"(?:[A-Za-z0-9._~!$&'()*+,;=@{more}-]|%[0-9A-Fa-f]{{2}})+"
    query = f"\\?(?:{pchar}|[/?{private}])*"
    tail = f"(?:{query})?(?:#(?:{pchar}|[/?])*)?"
    authority = f"(?:(?:{name}|:)*@)?(?:\\[(?:{_IPV6})\\]|{name}*)(?::[0-9]{{0,5}})?"
    path = f"(?:{pchar}|/)*"  # segments and slashes together: where lengths are bounded, one part is better than many
    rooted = f"(?://{authority}(?:/{path})?|/(?:{pchar}{path})?)"
    absolute = f"[A-Za-z][A-Za-z0-9+.-]*:(?:{rooted}|{pchar}{path})?{tail}"
    return absolute, f"(?:{rooted}|{first_segment}(?:/{path})?)?{tail}"


_URI, _RELATIVE = _references("", "")
_IRI, _RELATIVE_IRI = _references(_UCSCHAR, _IPRIVATE)

# RFC 6570 and RFC 6901.
_VARIABLE = "(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})+(?:\\.(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})+)*(?::[1-9][0-9]{0,3}|\\*)?"
_LITERAL = f"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?#\\[\\]{_UCSCHAR}{_IPRIVATE}-]|%[0-9A-Fa-f]{{2}})"
_URI_TEMPLATE = f"(?:{_LITERAL}|\\{{[+#./;?&]?{_VARIABLE}(?:,{_VARIABLE})*\\}})*"
_JSON_POINTER = "(?:/(?:[^/~]|~[01])*)*"

_UUID = "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_ATEXT = "A-Za-z0-9!#$%&'*+/=?^_`{|}~-"


def _label(most: int) -> Expression:
    """A label of RFC 1123 that claims no encoding (`xn--`, or any other hyphens in places 3 and 4)."""
    shape = _regex(f"[A-Za-z0-9](?:[A-Za-z0-9-]{{0,{most - 2}}}[A-Za-z0-9])?")
    claim = seq(ANY_CHAR, ANY_CHAR, Bytes(b"--"), Repeat(ANY_CHAR, 0, None))
    return And((shape, Not(claim)))


def _hostname() -> Expression:
    """Host name of at most 253 characters: four labels of any length, or ten short ones; the whole is not counted."""
    long = seq(Repeat(seq(_label(63), Bytes(b".")), 0, 3), _label(61))
    short = seq(Repeat(seq(_label(24), Bytes(b".")), 0, 9), _label(24))
    return alt((long, short))


def _email(more: str, longest: int) -> Expression:
    """RFC 5321 without quoted local parts; `more`: characters that these have besides (as inside of a class)."""
    atom = f"[{more}{_ATEXT}]+"
    local = And((_regex(f"{atom}(?:\\.{atom})*"), Repeat(ANY_CHAR, 1, longest)))
    domain = seq(Repeat(seq(_label(63), Bytes(b".")), 0, 2), _label(61))
    return seq(local, Bytes(b"@"), domain)


def _formats() -> dict[str, Expression]:
    syntax = {
        "date": _DATE,
        "time": _TIME,
        "date-time": _DATE_TIME,
        "duration": _DURATION,
        "ipv4": _IPV4,
        "ipv6": _IPV6,
        "uuid": _UUID,
        "uri": _URI,
        "uri-reference": f"{_URI}|{_RELATIVE}",
        "iri": _IRI,
        "iri-reference": f"{_IRI}|{_RELATIVE_IRI}",
        "uri-template": _URI_TEMPLATE,
        "json-pointer": _JSON_POINTER,
        "relative-json-pointer": f"(?:0|[1-9][0-9]{{0,8}})(?:#|{_JSON_POINTER})",
    }
    found = {name: _regex(pattern) for name, pattern in syntax.items()}
    found["hostname"] = found["idn-hostname"] = _hostname()
    # A local part has at most 64 bytes, a code point at most four.
    found["email"] = _email("", 64)
    found["idn-email"] = alt((found["email"], _email(_UCSCHAR, 16)))
    found["regex"] = PATTERN
    return found


FORMATS: Mapping[str, Expression] = _formats()
