"""What tests do again and again in a page."""


def ask(page, question, wait=True):
    box = page.locator("#aqa-box textarea")
    box.fill(question)
    box.press("Enter")
    if wait:
        page.locator("#aqa-live [data-state=done]", has_text=question).wait_for()


def tab(page, place):
    """Show a tab by its place: 0 asking, 1 library, 2 evaluation, 3 settings."""
    page.locator("#aqa-views > .tab-wrapper [role=tab]").nth(place).click()


def listed_titles(page):
    return page.locator("#aqa-papers tbody .aqa-open-paper").all_inner_texts()
