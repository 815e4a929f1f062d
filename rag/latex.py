"""LaTeX in running text to Unicode; mathematics stays as it is, to be rendered.

pylatexenc knows the accents and symbols, but its conversion of whole texts does not hold up on abstracts: it takes "%"
for a comment and drops the rest, drops macros it does not know, and takes the sign of "~10" for a blank. So macros are
found here, and pylatexenc is asked for one accent or symbol at a time.
"""

from __future__ import annotations

import functools
import re

# A dollar sign opens mathematics only before no space, and closes it only after no space and before no digit
# (the rule of Pandoc), so that "$5 and $10" stays money.
MATH = re.compile(
    r"\$\$[^$]{1,2000}?\$\$"
    r"|(?<![\\$])\$(?![\s$])(?:[^$\\]|\\.){0,600}?(?<![\s\\])\$(?![\d$])"
    r"|\\\((?:[^\\]|\\(?![()])).{0,600}?\\\)"
    r"|\\\[.{1,2000}?\\\]"
    r"|\\begin\{(equation|align|gather|multline|eqnarray|displaymath|math)(\*?)\}.{0,4000}?\\end\{\1\2\}",
    re.DOTALL,
)
# Dollars that only set words in another face, or hold nothing but a number, are no mathematics.
_PLAIN_MATH = re.compile(
    r"\$\s*(?:\\(?:text(?:bf|it|tt|sc|sf|rm|normal)?|emph|underline|math(?:tt|sf|rm|it|bf)(?=\{[A-Za-z][\w -]{2,}\}))"
    r"\{(?P<text>[^{}$\\^]*)\}|(?P<number>[-+~<>≈]?\d[\d.,]*)\s*(?P<unit>\\+%|%|\\times)?)\s*\$"
)
_UNITS = {"": "", "%": "%", "times": "×"}
_ACCENT = re.compile(
    r"""\\["'`^~=.](?:\{\\?[A-Za-z]\}|\s?\\[ij](?![A-Za-z])|\s?[A-Za-z])"""
    r"""|\\[uvHcdbkrt](?:\{\\?[A-Za-z]{1,2}\}|\s[A-Za-z](?![A-Za-z]))"""
)
_SYMBOL = re.compile(r"\\([A-Za-z]+)(?![A-Za-z])(?:\{\}|\s(?=[a-z\s])|\s(?=\S))?")
_WRAPPER = re.compile(
    r"\\(?:text(?:bf|it|tt|sc|sf|sl|rm|up|md|normal|quote|superscript|subscript|color\{[^{}]*\})?|emph|underline|uline|ul"
    r"|mbox|hbox|uppercase|lowercase|ensuremath|math(?:rm|bf|it|cal|bb|sf)|operatorname|enquote|color\{[^{}]*\}|url|path"
    r"|nolinkurl|xspace|hl|st|sout|section|paragraph)\*?\s?\{([^{}]*)\}"
)
_HREF = re.compile(r"\\href\s?\{([^{}]*)\}\s?\{([^{}]*)\}")
_CITE = re.compile(r"(\s|~)*\\(?:no|auto|text|paren|foot)?cite[a-zA-Z]*\*?\s?(?:\[[^\[\]]*\]){0,2}\{([^{}]*)\}")
_NOTE = re.compile(r"\\(?:footnote|thanks|footnotetext)\s?\{([^{}]*)\}")
_DROPPED = re.compile(
    r"\\(?:label|vspace|hspace|begin|end|footnotemark|phantom|includegraphics|bibliographystyle)\*?\s?"
    r"(?:\[[^\[\]]*\])?\{[^{}]*\}(?:\[[^\[\]]*\])?"
    r"|\\(?:it|em|bf|tt|sc|sf|sl|rm|itshape|bfseries|ttfamily|scshape|sffamily|upshape|small|footnotesize|large|Large|"
    r"normalsize|normalfont|centering|noindent|par|maketitle|xspace|protect|relax|newline|linebreak|item|smallskip|"
    r"medskip|bigskip|left|right|hfill|boldmath|unboldmath)(?![A-Za-z])\s?"
)
_SWITCHED = re.compile(
    r"\{\\(?:it|em|bf|tt|sc|sf|sl|rm|itshape|bfseries|ttfamily|scshape|sffamily|upshape)\s([^{}]*)\}"
)
_ESCAPED = re.compile(r"\\([%&#_])")
_SPACING = re.compile(r"\\(?:\\(?:\[[^\]]{0,12}\])?|[ ,;:!/@]|-|quad\b|qquad\b|space\b|n(?=[A-Z(\d]))")
_ABBREVIATIONS = {
    "eg": "e.g.",
    "ie": "i.e.",
    "etc": "etc.",
    "etal": "et al.",
    "wrt": "w.r.t.",
    "cf": "cf.",
    "vs": "vs.",
    "iid": "i.i.d.",
    "deg": "°",
    "texttimes": "×",
    "textdegree": "°",
    "LaTeX": "LaTeX",
    "TeX": "TeX",
}
# Signs that reference managers write as macros because the bare sign means something to LaTeX.
_SIGNS = {
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
    "textquotesingle": "'",
    "textquotedbl": '"',
    "textasciitilde": "~",
    "textasciicircum": "^",
    "textunderscore": "_",
    "copyright": "©",
    "slash": "/",
}
_BARE_BRACES = re.compile(r"\{([^{},\\$]*)\}")


def untex(text: str, *, braces: bool = False) -> str:
    """`text` with LaTeX outside mathematics turned to Unicode. Macros that are not known stay as they are.

    `braces`: braces only group letters, as in BibTeX, and go as well.
    """
    if not braces and not any(sign in text for sign in "\\`~$"):
        return text
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        if plain := _PLAIN_MATH.fullmatch(found[0]):
            return (
                plain["text"]
                if plain["number"] is None
                else plain["number"] + _UNITS[(plain["unit"] or "").strip("\\")]
            )
        kept.append(found[0])
        return f"\ue000{len(kept) - 1}\ue001"

    # Mathematics stands inside the arguments of macros too, so it is set aside rather than cut around.
    prose = _prose(MATH.sub(keep, text.replace("\ue000", "").replace("\ue001", "")), braces)
    return re.sub("\ue000(\\d+)\ue001", lambda found: kept[int(found[1])], prose)


def _prose(text: str, braces: bool) -> str:
    if "\\" in text:
        text = _ACCENT.sub(lambda found: _accented(found[0]), text)
        text = _SPACING.sub(lambda found: "" if found[0] in (r"\-", r"\/", r"\!", r"\@") else " ", text)
        text = _ESCAPED.sub(r"\1", text)
        before = ""
        while before != text:  # inner macros first, then those around them
            before = text
            text = _SWITCHED.sub(r"\1", text)
            text = _CITE.sub(lambda found: f" [{found[2].strip()}]", text)
            text = _HREF.sub(r"\2 (\1)", text)
            text = _NOTE.sub(r" (\1)", text)
            text = _DROPPED.sub("", text)
            text = _WRAPPER.sub(r"\1", text)
        text = _SYMBOL.sub(_symbol, text)
        text = re.sub(r"\{([^{}\w]|\w)\}", r"\1", text)
        text = text.replace(r"\{", "{").replace(r"\}", "}")
    text = re.sub(r"(?<=[\w.,;)])~(?=[A-Za-z(\[\\$])|(?<=\.)~(?=\d)", " ", text)
    if "``" in text:
        text = re.sub(r"``([^`]{0,400}?)''", r"“\1”", text).replace("``", "“")
    if braces:
        before = ""
        while before != text:
            before = text
            text = _BARE_BRACES.sub(r"\1", text)
    return text


def _symbol(found: re.Match[str]) -> str:
    name = found[1]
    if name in _ABBREVIATIONS:
        after = found[0][len(name) + 1 :]
        return _ABBREVIATIONS[name] + ("" if after == "{}" else after)
    if name in _SIGNS:
        return _SIGNS[name]
    converted = _character(name)
    if not converted:
        return found[0]
    # TeX swallows the blank after a macro; it is kept unless the sign is a letter within a word.
    blank = " " if found[0].endswith((" ", "\n")) and converted not in "æœøåłßıȷđðþÆŒØÅŁĐÐÞ" else ""
    return converted + blank


@functools.lru_cache(maxsize=4096)
def _accented(piece: str) -> str:
    """A letter with its accent; the piece itself where pylatexenc does not know it."""
    from pylatexenc.latex2text import LatexNodes2Text
    from pylatexenc.latexwalker import LatexWalkerError

    try:
        return str(LatexNodes2Text().latex_to_text(piece)).strip() or piece
    except LatexWalkerError:
        return piece


@functools.lru_cache(maxsize=4096)
def _character(name: str) -> str | None:
    """The sign that a macro without arguments stands for, by pylatexenc's table."""
    from pylatexenc.latex2text import get_default_latex_context_db

    sign = getattr(get_default_latex_context_db().get_macro_spec(name), "simplify_repl", None)
    return sign if isinstance(sign, str) and 0 < len(sign) <= 2 and not sign.isascii() else None
