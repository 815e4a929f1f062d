"""Gradio's theme in this page's colours, with the system's own fonts: nothing is fetched."""

from __future__ import annotations

import gradio as gr

SANS = (
    "ui-sans-serif",
    "system-ui",
    "-apple-system",
    "Segoe UI",
    "Roboto",
    "Noto Sans",
    "Noto Sans CJK SC",
    "Microsoft YaHei",
    "PingFang SC",
    "sans-serif",
)
MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "Liberation Mono", "monospace")


def theme() -> gr.themes.Base:
    """The theme; colours come from the variables of `style.css`, so that both have one source."""
    return gr.themes.Base(
        primary_hue=gr.themes.colors.teal,
        neutral_hue=gr.themes.colors.slate,
        radius_size=gr.themes.sizes.radius_md,
        spacing_size=gr.themes.sizes.spacing_md,
        text_size=gr.themes.sizes.text_md,
        font=SANS,
        font_mono=MONO,
    ).set(
        body_background_fill="var(--aqa-ground)",
        body_background_fill_dark="var(--aqa-ground)",
        body_text_color="var(--aqa-ink)",
        body_text_color_dark="var(--aqa-ink)",
        background_fill_primary="var(--aqa-ground)",
        background_fill_primary_dark="var(--aqa-ground)",
        background_fill_secondary="var(--aqa-panel)",
        background_fill_secondary_dark="var(--aqa-panel)",
        border_color_primary="var(--aqa-line)",
        border_color_primary_dark="var(--aqa-line)",
        block_background_fill="transparent",
        block_background_fill_dark="transparent",
        block_border_width="0px",
        block_shadow="none",
        block_label_text_color="var(--aqa-muted)",
        block_label_text_color_dark="var(--aqa-muted)",
        block_title_text_color="var(--aqa-muted)",
        block_title_text_color_dark="var(--aqa-muted)",
        block_title_text_weight="500",
        body_text_color_subdued="var(--aqa-muted)",
        body_text_color_subdued_dark="var(--aqa-muted)",
        input_background_fill="var(--aqa-raised)",
        input_background_fill_dark="var(--aqa-raised)",
        input_border_color="var(--aqa-line)",
        input_border_color_dark="var(--aqa-line)",
        input_border_color_focus="var(--aqa-accent)",
        input_border_color_focus_dark="var(--aqa-accent)",
        input_placeholder_color="var(--aqa-muted)",
        input_placeholder_color_dark="var(--aqa-muted)",
        button_primary_background_fill="var(--aqa-accent)",
        button_primary_background_fill_dark="var(--aqa-accent)",
        button_primary_background_fill_hover="var(--aqa-accent-strong)",
        button_primary_background_fill_hover_dark="var(--aqa-accent-strong)",
        button_primary_text_color="var(--aqa-on-accent)",
        button_primary_text_color_dark="var(--aqa-on-accent)",
        button_secondary_background_fill="var(--aqa-raised)",
        button_secondary_background_fill_dark="var(--aqa-raised)",
        button_secondary_background_fill_hover="var(--aqa-hover)",
        button_secondary_background_fill_hover_dark="var(--aqa-hover)",
        button_secondary_border_color="var(--aqa-line)",
        button_secondary_border_color_dark="var(--aqa-line)",
        button_secondary_text_color="var(--aqa-ink)",
        button_secondary_text_color_dark="var(--aqa-ink)",
        button_border_width="1px",
        color_accent="var(--aqa-accent)",
        color_accent_soft="var(--aqa-accent-soft)",
        color_accent_soft_dark="var(--aqa-accent-soft)",
        slider_color="var(--aqa-accent)",
        slider_color_dark="var(--aqa-accent)",
        link_text_color="var(--aqa-accent)",
        link_text_color_dark="var(--aqa-accent)",
    )
