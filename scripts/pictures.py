"""Makes the pictures of the documentation: `python scripts/pictures.py --home HOME`, with the sample library in HOME.

Asks with the model that the settings name, in Chromium, so it is best run on a machine that does nothing else.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from eval.browser_latency import chromium, served
from rag.errors import InputError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
QUESTIONS = ("By how much does LoRA cut the trainable parameters of GPT-3?", "How does QLoRA differ from LoRA?")
WAIT_MS = 300_000


def opened(browser: Browser, address: str, width: int, height: int, scheme: str = "light") -> Page:
    """A page of that size and colour scheme, ready to ask in."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(address)
    page.locator(".aqa-welcome, .aqa-exchange").first.wait_for()
    page.locator(".aqa-rail-frame").wait_for(state="attached")  # out of sight on a phone
    return page


def asked(page: Page, question: str) -> None:
    """Ask and wait until the answer is complete."""
    page.locator("#aqa-box textarea").fill(question)
    page.keyboard.press("Enter")
    page.locator("#aqa-live .aqa-question", has_text=question).wait_for()
    page.locator("#aqa-live [data-state=done]").wait_for()


def save(page: Page, name: str) -> None:
    """The page as `docs/images/NAME.png`, once nothing moves any more."""
    page.wait_for_timeout(1200)
    page.screenshot(path=IMAGES / f"{name}.png")
    click.echo(f"docs/images/{name}.png")


def pictures(browser: Browser, address: str) -> None:
    """All of them."""
    page = opened(browser, address, 1360, 860)
    for question in QUESTIONS:
        asked(page, question)
    page.locator("#aqa-earlier .aqa-answer .aqa-cite").first.click()
    page.locator("#aqa-scroll").evaluate("(box) => { box.scrollTop = 0; }")
    save(page, "chat")
    conversation = page.url.partition("?")[2]
    dark = opened(browser, f"{address}/?{conversation}", 1360, 860, "dark")
    dark.locator("#aqa-live .aqa-answer .aqa-cite").last.click()
    save(dark, "chat-dark")
    phone = opened(browser, f"{address}/?{conversation}", 390, 844)
    phone.locator("#aqa-live .aqa-exchange").wait_for()
    save(phone, "phone")
    library = opened(browser, address, 1360, 860)
    library.locator("#aqa-views > .tab-wrapper [role=tab]").nth(1).click()
    library.locator("#aqa-overview > button").click()
    library.locator("#aqa-map .js-plotly-plot[data-bound]").wait_for()
    library.locator("#aqa-map").scroll_into_view_if_needed()
    save(library, "map")


@click.command()
@click.option("--home", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True)
def main(home: Path) -> None:
    """Make the pictures in docs/images."""
    try:
        with served(home, None) as address, chromium() as browser:
            pictures(browser, address)
    except InputError as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
