"""Short word lists that text cleaning and sentence cutting go by."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Prefixes and first parts that writers hyphenate: a hyphen after one at a line's end stays.
HYPHEN_FIRST = _words("""
    self non multi cross semi pre post anti quasi pseudo co state well high low end few zero one two three four five
    long short real large small fine coarse open closed out off on in full half near best worst first second third human
    data task model domain user time text image video token word sentence document label class vision language graph
    node edge black white mixed single double triple deep weakly fully highly newly plug play chain mean max min top
    bottom cost energy compute memory parameter sample query item rule score event finite
""")
# Second parts of compounds: a hyphen before one at a line's end stays.
HYPHEN_SECOND = _words("""
    based aware level free like wise scale scaled shot specific driven dimensional supervised training trained time term
    rank order quality world modal agnostic invariant equivariant guided oriented efficient dependent independent tuning
    tuned generated learning augmented source sourced end of the art to and by sample width head layer class label box
    play stage step way fold hop view fidelity resolution performing performance known defined designed theoretic
    theoretical optimal maximizing minimizing preserving resistant robust centric related
""")
# Abbreviations after which a sentence always goes on.
NEVER_LAST = _words("""
    e.g i.e eg ie cf vs fig figs eq eqs eqn sec secs tab ref refs ch chap dr mr mrs ms prof st resp approx ca viz dept
    univ no nos vol pp def thm prop lem alg app aka s.t
""")
# Abbreviations that may end a sentence: they do where a word follows that begins one.
SOMETIMES_LAST = _words("al etc w.r.t i.i.d a.k.a inc ltd co corp jr sr ph.d u.s u.k d.c a.m p.m")
# Of NEVER_LAST, those that are words or abbreviate only before a number.
BEFORE_NUMBER = _words("no app def prop ref st sec tab ch alg")
# Words that begin sentences of abstracts.
STARTERS = _words("""
    a an the we our in this these that those it its to for however moreover furthermore additionally here there while
    when although as at by on with from based using first second third finally then thus hence therefore instead also
    both they experiments experimental results extensive code codes specifically existing recent unlike if since such
    through under one another many most despite given unfortunately notably importantly consequently meanwhile what how
    why all each compared motivated inspired empirically theoretically further after before during because but and or
    not no
""")
