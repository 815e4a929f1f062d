"""The few line icons of the page, as inline SVG so that nothing is fetched."""

from __future__ import annotations

_PATHS = {  # drawn on a grid of 24
    "copy": '<rect x="8" y="8" width="12" height="12" rx="2"/>'
    '<path d="M16 8V6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v8a2 2 0 0 0 2 2h2"/>',
    "retry": '<path d="M20 11a8 8 0 1 0-2.3 6.3"/><path d="M20 4v7h-7"/>',
    "edit": '<path d="M4 20h4L19 9a2.1 2.1 0 0 0-3-3L5 17z"/>',
    "up": '<path d="M7 11v9H4v-9zM7 11l4-8a2 2 0 0 1 2 2v4h5a2 2 0 0 1 2 2.3l-1.2 7A2 2 0 0 1 16.800 20H7"/>',
    "down": '<path d="M7 13V4H4v9zM7 13l4 8a2 2 0 0 0 2-2v-4h5a2 2 0 0 0 2-2.300l-1.200-7A2 2 0 0 0 16.800 4H7"/>',
    "close": '<path d="M6 6l12 12M18 6L6 18"/>',
    "open": '<path d="M14 4h6v6M20 4l-9 9M18 14v5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1h5"/>',
    "trash": '<path d="M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v6M14 11v6"/>',
    "chevron": '<path d="M6 9l6 6 6-6"/>',
    "theme": '<circle cx="12" cy="12" r="8"/><path d="M12 4a8 8 0 0 1 0 16z" fill="currentColor"/>',
    "menu": '<path d="M4 7h16M4 12h16M4 17h10"/>',
    "plus": '<path d="M12 5v14M5 12h14"/>',
    "search": '<circle cx="11" cy="11" r="6"/><path d="M20 20l-4.500-4.500"/>',
    "similar": '<circle cx="7" cy="7" r="3"/><circle cx="17" cy="9" r="3"/><circle cx="10" cy="17" r="3"/>',
    "quote": '<path d="M5 6h14M5 12h14M5 18h8"/>',
}


def icon(name: str) -> str:
    """An icon of 16 pixels in the colour of the text, hidden from screen readers."""
    return (
        '<svg class="aqa-svg" viewBox="0 0 24 24" width="16" height="16" fill="none" stroke="currentColor" '
        'stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">'
        f"{_PATHS[name]}</svg>"
    )
