"""Which character encoding bytes are in, and decoding that never fails.

Order: byte order mark; UTF-16 by where the NUL bytes lie; UTF-8 if it is valid, or nearly; Japanese and Korean by their
own letters; GB18030 if it is valid and reads as Chinese; Central European, Turkish and Macintosh text by signs within
words that Western languages do not have; Windows-1252 if accented letters stand within words of plain ones;
charset-normalizer for what is left, held to the encodings that exports are known to come in.
"""

from __future__ import annotations

import codecs
import re

# Windows-1252 leaves five bytes undefined; Latin-1 has (control) characters for them.
_HIGH = {byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(0x80, 0x100)}
_CP1252 = {byte: sign for byte, sign in _HIGH.items() if byte < 0xA0}
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CJK = re.compile(r"[\u4e00-\u9fff\u3000-\u303f\uff01-\uff5e]")
_CHINESE_TEXT = re.compile(r"[\u4e00-\u9fff\u3000-\u303f\uff01-\uff5e\u00b0-\u00f7\u0391-\u03c9\u2010-\u2266]")
_USUAL = re.compile(
    r"[\t\n\r\x20-\x7e\xa0-\u024f\u0370-\u04ff\u2010-\u2266\u3000-\u30ff\u4e00-\u9fff\uff01-\uff5e\ufeff]"
)
_OTHERS = ["cp1252", "big5", "shift_jis", "euc_kr", "cp1251", "koi8_r", "cp1250", "cp1253", "cp1254"]
_HIGH_LETTER = re.compile(r"([A-Za-z])?[\u00c0-\u024f](?=([A-Za-z])?)")
# Read as Windows-1252, these stand within words only where the text is in a Central European encoding ("g³êboki",
# "Tomáš", "£ukasz", Hungarian "nõk"), in Turkish or in the old one of the Macintosh ("prŽsente").
_CENTRAL = re.compile(
    r"[šžŠŽ\x8d\x8f\x9d](?=[A-Za-z\xe0-\xff])|(?<=[A-Za-z\xe0-\xff])[šž]|[a-z][³¿ªº¼¾±¶¹][a-z\xe0-\xff]|£[a-z]"
)
_HUNGARIAN = re.compile(r"[áéíóúöü].*?[a-zõû][õû][a-zõû]|[a-z][õû][a-z].*?[áéíóú]", re.DOTALL)
_TURKISH = re.compile(r"[ýþð][a-zçöü].*?[a-zçöü][ýþð]", re.DOTALL)
_MACINTOSH = re.compile(r"[a-z][ŽŠŸ\x8d\x8f\x9d‡ˆŒ][a-z]")
# A word with a sign in it that is no letter: the reading is wrong.
_TORN = re.compile(r"[^\W\d_][^\w\s\x00-\x7f‐-’…]+[^\W\d_]|[\x80-\x9f]")
_HANGUL, _HIRAGANA = re.compile(r"[\uac00-\ud7a3]"), re.compile(r"[\u3041-\u3096]")
SAMPLE = 1 << 16
MIXED = "abstract-qa-mixed"


def _as_windows_1252(error: UnicodeError) -> tuple[str, int]:
    """Stray bytes in UTF-8 are most often pieces of Windows-1252 that a concatenation brought in."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    if error.encoding != "utf-8":
        return "\ufffd", error.end
    return "".join(_HIGH[byte] for byte in error.object[error.start : error.end]), error.end


codecs.register_error(MIXED, _as_windows_1252)


def is_binary(sample: bytes) -> bool:
    """Whether bytes are no text in any encoding known here."""
    if not sample or any(sample.startswith(bom) for bom, _ in _BOMS):
        return False
    if b"\0" in sample:
        return _utf16_without_mark(sample) is None
    controls = sum(sample.count(byte) for byte in (*range(1, 8), *range(14, 27), 28, 29, 30, 31))
    return controls > len(sample) // 50


def detect(sample: bytes) -> str:
    """Name of the encoding of `sample` (a piece of a file from its start, or from its first byte above 127 on).

    "utf-8" is also the answer for ASCII and for UTF-8 with a few stray bytes; decode with errors=MIXED.
    """
    for mark, name in _BOMS:
        if sample.startswith(mark):
            return name
    if b"\0" in sample:
        return _utf16_without_mark(sample) or "utf-8"
    if _is_utf8(sample):
        return "utf-8"
    return _legacy(sample)


def decode(data: bytes) -> str:
    """`data` as text, in whatever encoding it is."""
    return data.decode(detect(data[:SAMPLE]), MIXED)


def _utf16_without_mark(sample: bytes) -> str | None:
    """Text has NUL bytes only in UTF-16, where it then reads as ASCII, Latin or Chinese nearly throughout."""
    for name in ("utf-16-le", "utf-16-be"):
        text = sample[: len(sample) & ~1].decode(name, "replace")
        if len(_USUAL.findall(text)) > 0.95 * len(text):
            return name
    return None


def _is_utf8(sample: bytes) -> bool:
    """Valid but for a character cut at the end, or with far more valid sequences than stray bytes."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(sample)
    except UnicodeDecodeError:
        text = sample.decode("utf-8", "replace")
        stray = text.count("\ufffd")
        valid = sum(1 for char in text if char > "\x7f") - stray
        return valid > 8 * stray
    return True


def _legacy(sample: bytes) -> str:
    if eastern := _japanese_or_korean(sample):
        return eastern
    try:
        text = codecs.getincrementaldecoder("gb18030")().decode(sample)
    except UnicodeDecodeError:
        text = ""
    high = sum(1 for char in text if char > "\x7f")
    # Two Latin-1 letters in a row also read as one Chinese character, but rarely as one of the common block in runs.
    if high and len(_CHINESE_TEXT.findall(text)) > 0.9 * high and re.search(f"{_CJK.pattern}{{2}}", text):
        return "gb18030"
    western = sample.decode("latin-1").translate(_CP1252)
    if other := _not_western(sample, western):
        return other
    letters = list(_HIGH_LETTER.finditer(western))
    if not letters and not re.search(r"[^\x00-\x7f\u2010-\u203a\u20ac\u2122\xa0-\xbf\xd7]", western):
        return "cp1252"  # nothing but typographic marks
    # Accented letters of Western languages stand among unaccented ones; those of other scripts stand in runs.
    if letters and sum(bool(found[1] or found[2]) for found in letters) > 0.6 * len(letters):
        return "cp1252"
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=_OTHERS).best()
    return best.encoding if best is not None else "cp1252"


def _japanese_or_korean(sample: bytes) -> str | None:
    """Where nearly all is Hangul, or a good part Hiragana; Chinese misread so is neither."""
    for name, script, share in (("euc_kr", _HANGUL, 0.8), ("shift_jis", _HIRAGANA, 0.25), ("euc_jp", _HIRAGANA, 0.25)):
        try:
            text = codecs.getincrementaldecoder(name)().decode(sample)
        except UnicodeDecodeError:
            continue
        high = sum(1 for char in text if char > "\x7f")
        if len(script.findall(text)) > max(4, share * high):
            return name
    return None


def _not_western(sample: bytes, text: str) -> str | None:
    """The encoding of text that Windows-1252 is no good reading of, though it has no false letter."""
    if _MACINTOSH.search(text):
        return "mac_roman"
    if not re.search("[áéíóúæÁÉÍÓÚÆ]", text) and _TURKISH.search(text):
        return "cp1254"
    high = sum(1 for char in text if char > "\x7f")
    central = len(_CENTRAL.findall(text))
    hungarian = not re.search("[ãçåæøñä]", text) and _HUNGARIAN.search(text)
    few = central < 3 and re.search("[çñåà]|õ[^ã]*ä|ä[^ã]*õ", text)  # a name or two among Western ones, or Estonian
    if not hungarian and (few or not central or central < high // 20):
        return None
    from charset_normalizer import from_bytes

    found = {
        match.encoding: match.chaos for match in from_bytes(sample, cp_isolation=["cp1250", "iso8859_2", "cp1252"])
    }
    torn = {name: len(_TORN.findall(sample.decode(name, "replace"))) for name in ("cp1250", "iso8859_2", "cp1252")}
    return min(torn, key=lambda name: (torn[name], found.get(name, 1.0)))
