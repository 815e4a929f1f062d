"""Signing in and out: a page without a script of others, in both languages, and the two routes behind it."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from ui.accounts import LONGEST_PASSWORD, Accounts
from ui.limits import Limit, network_of
from ui.metrics import Metrics
from ui.prose import escape
from ui.sessions import COOKIE, Sessions
from ui.text import Language

PATH = "/sign-in"
_NEXT = re.compile(r"/(?![/\\])[A-Za-z0-9/_-]*(?:\?[A-Za-z0-9=&_-]*)?")
PER_ADDRESS, PER_NAME, WINDOW = 10, 30, 900.0
_WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "title": "Sign in",
        "name": "Name",
        "password": "Password",
        "go": "Sign in",
        "wrong": "The name or the password is not right.",
        "often": "Too many attempts; try again in {minutes} min.",
        "hint": "Forgotten? Whoever runs this server can set another password.",
        "other": "中文",
    },
    "zh": {
        "title": "登录",
        "name": "用户名",
        "password": "密码",
        "go": "登录",
        "wrong": "用户名或密码不正确。",
        "often": "尝试次数过多，请在 {minutes} 分钟后再试。",
        "hint": "忘记密码？此服务器的管理员可以重新设置。",
        "other": "English",
    },
}
# The theme chosen on the page holds here too.
_SCRIPT = (
    'try{const t=localStorage.getItem("aqa-theme");if(t)document.documentElement.dataset.theme=t}'
    "catch{/* no storage */}"
)
_LIGHT = (
    "--ground:#f6f7f8;--card:#fff;--ink:#1b2126;--muted:#5a6670;--line:#c4ccd3;--accent:#0b6b62;--strong:#08544d;"
    "--on:#fff;--error:#a3261d;--soft:#fbeceb;color-scheme:light"
)
_DARK = (
    "--ground:#14181b;--card:#1f252a;--ink:#e4e8eb;--muted:#9aa6b0;--line:#45505a;--accent:#5cc2b4;--strong:#7ad3c7;"
    "--on:#0c1a18;--error:#f0958e;--soft:#3a2220;color-scheme:dark"
)
_STYLE = (
    f":root{{{_LIGHT}}}@media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{{_DARK}}}}}"
    f":root[data-theme=dark]{{{_DARK}}}"
    "*{box-sizing:border-box}"
    "body{margin:0;min-height:100dvh;display:grid;place-items:center;padding:20px;background:var(--ground);"
    "color:var(--ink);font:15px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif}"
    "main{width:100%;max-width:360px}"
    "header{display:flex;align-items:baseline;justify-content:space-between;margin:0 2px 14px}"
    ".brand{font-size:17px;font-weight:650;letter-spacing:-.01em}"
    ".brand i{font-style:normal;color:var(--accent);margin-inline-end:7px}"
    ".brand span{color:var(--muted);font-weight:450}"
    "header a{color:var(--muted);font-size:13px;text-decoration:none;padding:4px}header a:hover{color:var(--ink)}"
    "form{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:24px;display:grid;gap:14px}"
    "h1{font-size:20px;line-height:1.3;margin:0;font-weight:650}"
    "label{display:grid;gap:5px;font-size:13px;color:var(--muted)}"
    "input{font:inherit;font-size:16px;color:var(--ink);background:var(--ground);border:1px solid var(--line);"
    "border-radius:8px;padding:9px 11px;width:100%}"
    "button{font:inherit;font-weight:600;color:var(--on);background:var(--accent);border:0;border-radius:8px;"
    "padding:11px;margin-top:4px;cursor:pointer}button:hover{background:var(--strong)}"
    "input:focus-visible,button:focus-visible,a:focus-visible{outline:2px solid var(--accent);outline-offset:2px}"
    ".error{margin:0;padding:9px 12px;border-radius:8px;background:var(--soft);color:var(--error);font-size:14px}"
    ".hint{color:var(--muted);font-size:13px;margin:14px 4px 0}"
)


_PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex">
<title>{words[title]} · abstract-qa</title>
<link rel="icon" href="data:,">
<script>{script}</script>
<style>{style}</style>
</head>
<body>
<main>
<header>
<span class="brand"><i aria-hidden="true">[1]</i>abstract<span>-qa</span></span>
<a href="{path}?language={other}&amp;next={then_quoted}" lang="{other}">{words[other]}</a>
</header>
<form method="post" action="{path}">
<h1>{words[title]}</h1>
{error}
<label>{words[name]}
<input name="name" value="{value}" autocomplete="username" autocapitalize="none" spellcheck="false" required{name_more}>
</label>
<label>{words[password]}
<input name="password" type="password" autocomplete="current-password" required{password_more}>
</label>
<input type="hidden" name="next" value="{then}">
<input type="hidden" name="language" value="{language}">
<button>{words[go]}</button>
</form>
<p class="hint">{words[hint]}</p>
</main>
</body>
</html>
"""


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


_POLICY = (
    f"default-src 'none'; script-src {_hash(_SCRIPT)}; style-src {_hash(_STYLE)}; form-action 'self'; img-src 'self' "
    "data:; base-uri 'none'; frame-ancestors 'none'"
)


class SignIn:
    """The routes, and what they remember of attempts."""

    def __init__(self, accounts: Accounts, sessions: Sessions, metrics: Metrics, own: Language) -> None:
        self._accounts = accounts
        self._sessions = sessions
        self._metrics = metrics
        self._own = own
        self._addresses = Limit(PER_ADDRESS, WINDOW)
        self._names = Limit(PER_NAME, WINDOW)

    def router(self) -> APIRouter:
        """`/sign-in` and `/sign-out`."""
        routes = APIRouter(include_in_schema=False)

        @routes.get(PATH)
        def page(
            request: Request,
            next: str = "/",  # noqa: A002 - the parameter's public name
            language: Annotated[Language | None, Query()] = None,
        ) -> Response:
            if self._sessions.user(request.cookies.get(COOKIE, "")):
                return RedirectResponse(_own_path(next), status_code=303)
            return self._page(self._language(request, language), next)

        @routes.post(PATH)
        def sign_in(
            request: Request,
            name: Annotated[str, Form(max_length=200)] = "",
            password: Annotated[str, Form(max_length=LONGEST_PASSWORD)] = "",
            next: Annotated[str, Form(max_length=500)] = "/",  # noqa: A002 - the field's public name
            language: Annotated[Language | None, Form()] = None,
        ) -> Response:
            shown = self._language(request, language)
            address = network_of(request.client.host if request.client else "")
            named = name.strip().lower()
            wait = max(self._addresses.wait(address), self._names.wait(named))
            if wait:
                self._metrics.limited.labels("sign_in").inc()
                return self._page(shown, next, named, "often", 429, wait)
            user = self._accounts.check(named, password)
            self._metrics.sign_ins.labels("right" if user else "wrong").inc()
            if user is None:
                # Only failures count, so that nobody is kept out by signing in often.
                self._addresses.take(address)
                self._names.take(named)
                return self._page(shown, next, named, "wrong", 401)
            response = RedirectResponse(_own_path(next), status_code=303)
            response.set_cookie(
                COOKIE,
                self._sessions.begin(user),
                max_age=int(self._sessions.seconds),
                httponly=True,
                samesite="strict",
                secure=request.url.scheme == "https",
                path="/",
            )
            return response

        @routes.post("/sign-out")
        def sign_out(request: Request) -> Response:
            self._sessions.end(request.cookies.get(COOKIE, ""))
            response = RedirectResponse(PATH, status_code=303)
            response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
            return response

        return routes

    def _language(self, request: Request, chosen: Language | None) -> Language:
        if chosen:
            return chosen
        wanted = request.headers.get("accept-language", "")
        return "zh" if wanted.lower().startswith("zh") else "en" if wanted.lower().startswith("en") else self._own

    def _page(
        self, language: Language, then: str, name: str = "", problem: str = "", status: int = 200, wait: int = 0
    ) -> HTMLResponse:
        words = _WORDS[language]
        then = _own_path(then)
        other: Language = "zh" if language == "en" else "en"
        said = words[problem].format(minutes=-(-wait // 60)) if problem else ""
        described = ' aria-describedby="said" aria-invalid="true"' if problem == "wrong" else ""
        html = _PAGE.format(
            language=language,
            other=other,
            path=PATH,
            script=_SCRIPT,
            style=_STYLE,
            error=f'<p class="error" role="alert" id="said">{escape(said)}</p>' if said else "",
            value=escape(name[:64]),
            then=escape(then),
            then_quoted=quote(then, safe=""),
            name_more=described if name else described + " autofocus",
            password_more=described + " autofocus" if name else described,
            words={key: escape(text) for key, text in words.items()},
        )
        headers = {"Content-Security-Policy": _POLICY, **({"Retry-After": str(wait)} if wait else {})}
        return HTMLResponse(html, status_code=status, headers=headers)


def _own_path(text: str) -> str:
    """`text` where it is a path of this server, else the page: nobody is sent elsewhere after signing in."""
    return text if _NEXT.fullmatch(text) else "/"
