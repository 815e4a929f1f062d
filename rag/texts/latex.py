"""LaTeX in running text to Unicode; mathematics stays as it is, to be rendered.

pylatexenc knows the accents and symbols, but its conversion of whole texts does not hold up on abstracts: it takes "%"
for a comment and drops the rest, drops macros it does not know, and takes the sign of "~10" for a blank. So macros are
found here, and pylatexenc is asked for one accent or symbol at a time.
"""

from __future__ import annotations

import functools
import re

from rag.texts.formulas import ARGUMENT, MATH, set_apart

__all__ = ["MATH", "untex"]

# Dollars that only set words in another face, or hold nothing but a number, are no mathematics.
_PLAIN_MATH = re.compile(
    r"\$\s*(?:\\(?:text(?:bf|it|tt|sc|sf|rm|normal)?|emph|underline|math(?:tt|sf|rm|it|bf)(?=\{[A-Za-z][\w -]{2,}\}))"
    r"\{(?P<text>[^{}$\\^]*)\}|(?P<number>[-+~<>≈]?\d[\d.,]*)\s*(?P<unit>\\+%|%|\\times)?)\s*\$"
)
_DEGREE = re.compile(r"\$\s*\^\s*(?:\\circ|\{\s*\\circ\s*\})\s*\$")
# "$4.5$$\times$": two formulas, and no display.
_GLUED = re.compile(r"(?<!\$)\$([^\s$]{1,20})\$\$([^\s$]{1,20})\$(?!\$)")
# Signs as reference managers protect them: `{\{}`, `{\~{}}`, `{\^{}}`.
_BRACED_SIGN = re.compile(r"\{(\\[{}])\}|\{\\([~^])\{\}\}")
# Mathematics that a reference manager took for text: `\$O(n{\textasciicircum}2)\$`, `{\$}{\textbackslash}alpha{\$}`.
_DOLLAR = r"(?:\\\$|\{\\\$\})"
_ESCAPED_MATH = re.compile(
    rf"{_DOLLAR}(?=[^$]*(?:\\text(?:backslash|asciicircum)|\\backslash|\\_|\^))([^$\n]{{1,300}}?){_DOLLAR}"
)
_ESCAPES = re.compile(
    r"\{?\\(?:textbackslash|backslash|textasciicircum|textasciitilde|textless|textgreater|textbar)(?![A-Za-z])(?:\{\})?\}?\s?"
    r"|\{?\\([_{}%&#])\}?"
)
_UNESCAPED = {
    "textbackslash": "\\",
    "backslash": "\\",
    "textasciicircum": "^",
    "textasciitilde": "~",
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
}
_SPLIT_TAG = re.compile(r"\$<\$(/?[A-Za-z]{1,6})\$>\$")  # `$<$i$>$`, as the ACM writes HTML
_UNITS = {"": "", "%": "%", "times": "×"}
_ACCENT = re.compile(
    r"""\\["'`^~=.](?:\{\\?[A-Za-z]\}|\s?\\[ij](?![A-Za-z])|\s?[A-Za-z])"""
    r"""|\\[uvHcdbkrt](?:\{\\?[A-Za-z]{1,2}\}|\s[A-Za-z](?![A-Za-z]))"""
)
# Before an accent that was turned already, or an escape of Markdown's.
_STRAY = re.compile(r"\\(?=[^\x00-\x7f]|[*~](?=\w))")
# An umlaut whose quotation mark was lost on the way: JSON takes the one in `\"o` for its own.
_LOST_UMLAUT = re.compile(r"(?<=[A-Za-z])\\([oui](?=[a-z])(?!urs?\b)|a(?=tze))")
_UMLAUTS = {"a": "ä", "o": "ö", "u": "ü", "i": "ï"}
_SYMBOL = re.compile(r"\\([A-Za-z]+)(?![A-Za-z])(?:\{\}|\s(?=[a-z\s])|\s(?=\S))?")
_WRAPPER = re.compile(
    r"\\(?:text(?!color)[a-z]*|emph|underline|uline|ul|[mhf]box|uppercase|lowercase|ensuremath|pmb"
    r"|math(?:rm|bf|it|cal|bb|sf|tt)|operatorname|enquote|url|href|path|nolinkurl|xspace|hl|st|sout|section|paragraph|(?:text)?color\s?\{[^{}]*\}"
    r"|(?:it|em|bf|tt|sc|sf|sl|rm)|hyper(?:link|target|ref)\s?(?:\{[^{}]*\}|\[[^\[\]]*\]))\*?\s?(ARG)".replace(
        "ARG", ARGUMENT
    )
)
_QUOTE = re.compile(rf"\\(?:say|textquote)\s?({ARGUMENT})")
_RAISED = re.compile(r"\\text(super|sub)script\s?\{\s*([-−+]?\d{1,3})\s*\}")
_SUPERSCRIPTS = str.maketrans("0123456789-−+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁺")
_SUBSCRIPTS = str.maketrans("0123456789-−+", "₀₁₂₃₄₅₆₇₈₉₋₋₊")
# A macro that nobody knows around words: their own, or one of a package. It only sets them.
_UNKNOWN = re.compile(r"\\[A-Za-z]{2,}\*?\{([^{}\\$\ue000\ue001]*[A-Za-z][^{}\\$\ue000\ue001]*)\}")
_HREF = re.compile(r"\\href\s?\{([^{}]*)\}\s?" + f"({ARGUMENT})")
_OPEN_LINK = re.compile(r"\\(?:url|href|textcolor)\s?\{?(?=https?:)|\\textcolor\{\w+\}(?=https?:)")
_CITE = re.compile(
    r"(\s|~)*\\(?:(?:no|auto|text|paren|foot)?cite[a-zA-Z]*|[ceEC]?q?ref|autoref)\*?\s?(?:\[[^\[\]]*\]){0,2}\{([^{}]*)\}"
)
_NOTE = re.compile(rf"\\(?:footnote|thanks|footnotetext)\s?(?:\[\d+\])?({ARGUMENT})")
_DROPPED = re.compile(
    r"\\(?:label|vspace|hspace|begin|end|footnotemark|phantom|includegraphics|bibliographystyle)\*?\s?"
    r"(?:\[[^\[\]]*\])?\{[^{}]*\}(?:\[[^\[\]]*\])?"
    r"|\\color\s?\{[^{}]*\}\s?"
    r"|\\(?:it|em|bf|tt|sc|sf|sl|rm|itshape|bfseries|ttfamily|scshape|sffamily|upshape|small|footnotesize|large|Large|"
    r"normalsize|normalfont|centering|noindent|par|maketitle|xspace|protect|relax|newline|linebreak|item|smallskip|"
    r"medskip|bigskip|left|right|[bB]igg?[lr]?|limits|nolimits|displaystyle|hfill|boldmath|unboldmath)(?![A-Za-z{])\s?"
)
_SWITCHED = re.compile(
    r"\{\\(?:it|em|bf|tt|sc|sf|sl|rm|itshape|bfseries|ttfamily|scshape|sffamily|upshape|color\s?\{[^{}]*\})\s?([^{}]*)\}"
)
_ESCAPED = re.compile(r"\\([%&#_])")
_SPACING = re.compile(r"\\(?:\\(?:\[[^\]]{0,12}\])?|[ ,;:!/@]|-|quad\b|qquad\b|space\b|n(?=[A-Z(\d]))")
# Dashes as TeX writes them; not those of addresses, of options (" --help") and of arrows.
_DASHES = re.compile(
    r"(?:https?://|www\.)\S+|(?<![-<!])---(?![->])|(?<=[\w)\]}.,%”’])--(?=[\w(\[{“‘$\ue000]|\s|$)|(?<=\s)--(?=\s)"
)
_TIE = re.compile(r"(?<=[\w.,;)])~(?=[A-Za-z(\[\\$\ue000])|(?<=\.)~(?=\d)")
# "is~10" may mean "about"; after these words it is a tie.
_NUMBERED = re.compile(
    r"\b(Fig(?:ure)?s?|Tables?|Sec(?:tion)?s?|Eqs?|Equations?|Theorems?|Lemmas?|Chapters?|Appendix|Algorithms?|Steps?|Tasks?"
    r"|Type|Level|Stage|Phase|Part|Problem|Version|version|and|or|of|with|by|to|for|in)~(?=\d)"
)
_OPERATOR_NAMES = """
log ln exp min max sup inf lim arg argmin argmax sin cos tan tanh det dim ker deg gcd Pr poly polylog mod
"""
_OPERATORS = frozenset(_OPERATOR_NAMES.split())
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
    "hyp": "-",
    "la": "≲",
    "lsim": "≲",
    "ga": "≳",
    "gsim": "≳",
    "degr": "°",
    "micron": "µm",
    "arcsec": "″",
    "arcmin": "′",
    "sun": "☉",
    "Msun": "M☉",
    "msun": "M☉",
    "Holder": "Hölder",
    "Renyi": "Rényi",
    "Frechet": "Fréchet",
    "Lojasiewicz": "Łojasiewicz",
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
_KEPT = re.compile("\ue000(\\d+)\ue001")
_BARE_BRACES = re.compile(r"\{([^{},\\$]*)\}")


def untex(text: str, *, braces: bool = False) -> str:
    """`text` with LaTeX outside mathematics turned to Unicode. Macros that are not known stay as they are.

    `braces`: braces only group letters, as in BibTeX, and go as well.
    """
    if not braces and not any(sign in text for sign in ("\\", "`", "~", "$", "--", "{")):
        return text
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        formula = found[0]
        if (plain := _plain_math(found)) is not None:
            return plain
        if formula[1:2] != "$" and formula[0] == "$":
            formula = f"${formula[1:-1].strip()}$"
        if "\\textascii" in formula or "\\textbackslash" in formula:
            formula = _ESCAPES.sub(_unescaped, formula)
        kept.append(formula)
        return f"\ue000{len(kept) - 1}\ue001"

    # Mathematics stands inside the arguments of macros too, so it is set aside rather than cut around.
    if "\ue000" in text or "\ue001" in text:
        text = text.replace("\ue000", "").replace("\ue001", "")
    if "\\" in text:
        text = _BRACED_SIGN.sub(lambda found: found[1] or found[2], text)
        text = _ESCAPED_MATH.sub(_math_again, text)
    if "$<$" in text:
        text = _SPLIT_TAG.sub(r"<\1>", text)
    if "$$" in text:
        text = _GLUED.sub(r"$\1 \2$", text)
    prose = MATH.sub(keep, text) if "$" in text or "\\" in text else text
    if "$" not in prose and (apart := set_apart(prose)) != prose:
        prose = MATH.sub(keep, apart)
    prose = _prose(prose, braces)
    if r"\$" in prose and not kept and not MATH.search(money := prose.replace(r"\$", "$")):
        prose = money
    return _KEPT.sub(lambda found: kept[int(found[1])], prose) if kept else prose


def _math_again(found: re.Match[str]) -> str:
    return f"${_ESCAPES.sub(_unescaped, found[1])}$"


def _unescaped(escape: re.Match[str]) -> str:
    return escape[1] or _UNESCAPED[escape[0].strip("{}\\ \n")]


def _plain_math(found: re.Match[str]) -> str | None:
    """What stands between dollars that make no mathematics; None where they do."""
    formula = found[0]
    if plain := _PLAIN_MATH.fullmatch(formula):
        if plain["number"] is None:
            return plain["text"]
        return plain["number"] + _UNITS[(plain["unit"] or "").strip("\\")]
    if _DEGREE.fullmatch(formula):
        return "°"
    # No dollar closes mathematics before a digit, so a lone sign there stands without them.
    if formula[0] == "$" and found.string[found.end() : found.end() + 1].isdigit():
        inner = formula.strip("$")
        return _character(inner[1:]) or None if inner[:1] == "\\" else inner if len(inner) == 1 else None
    return None


def _prose(text: str, braces: bool) -> str:
    if "\\" in text:
        text = _without_macros(text)
    if "{" in text:
        text = re.sub(r"\{([^{}\w\s])\}", r"\1", text)
    text = _NUMBERED.sub(r"\1 ", _TIE.sub(" ", text)) if "~" in text else text
    if "--" in text:
        text = _DASHES.sub(lambda found: {"--": "–", "---": "—"}.get(found[0], found[0]), text)
    if "``" in text:
        text = re.sub(r"``([^`]{0,400}?)''", r"“\1”", text).replace("``", "“")
    if braces:
        before = ""
        while before != text:
            before = text
            text = _BARE_BRACES.sub(r"\1", text)
    return text


def _without_macros(text: str) -> str:
    text = _ACCENT.sub(lambda found: _accented(found[0]), re.sub(r"\^\\circ(?![A-Za-z])", "°", text))
    text = _SPACING.sub(lambda found: "" if found[0] in (r"\-", r"\/", r"\!", r"\@") else " ", text)
    text = _STRAY.sub("", _ESCAPED.sub(r"\1", text))
    before = ""
    while before != text:  # inner macros first, then those around them
        before = text
        text = _SWITCHED.sub(r"\1", text)
        text = _CITE.sub(lambda found: f" [{found[2].strip()}]", text)
        text = _HREF.sub(lambda found: f"{found[2][1:-1]} ({found[1]})", text)
        text = _NOTE.sub(lambda found: f" ({found[1][1:-1]})", text)
        text = _RAISED.sub(_raised, text)
        text = _QUOTE.sub(lambda found: f"“{found[1][1:-1]}”", text)
        text = _DROPPED.sub("", text)
        text = _WRAPPER.sub(_unwrapped, text)
    text = _OPEN_LINK.sub("", text)
    text = _SYMBOL.sub(_symbol, text)
    text = _LOST_UMLAUT.sub(lambda found: _UMLAUTS[found[1]], text)
    text = re.sub(r"(\\[A-Za-z]+)\{\}", r"\1", _UNKNOWN.sub(r"\1", text))
    text = re.sub(r"(\\[A-Za-z]+\s?|[_^])?\{(\w)\}", lambda found: found[0] if found[1] else found[2], text)
    return text.replace(r"\{", "{").replace(r"\}", "}")


def _unwrapped(found: re.Match[str]) -> str:
    """What a macro only sets; one that is a sign of its own ("\textless{}") is left for later."""
    inner = found[1][1:-1]
    name = re.match(r"\\([A-Za-z]*)", found[0])
    return found[0] if not inner and name and (name[1] in _SIGNS or _character(name[1])) else inner


def _raised(found: re.Match[str]) -> str:
    return found[2].translate(_SUPERSCRIPTS if found[1] == "super" else _SUBSCRIPTS)


def _symbol(found: re.Match[str]) -> str:
    name = found[1]
    after = found[0][len(name) + 1 :]
    if name in _ABBREVIATIONS:
        return _ABBREVIATIONS[name] + ("" if after == "{}" else after)
    if name in _OPERATORS:
        return name + ("" if after == "{}" else after)
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
