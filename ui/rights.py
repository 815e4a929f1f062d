"""What users who are not admins may do in the page: its events by the functions that answer them; the rest is admins'.

A test holds that every event of the page stands in one of the two lists.
"""

from __future__ import annotations

# Asking, reading, one's own conversations, looking at the library and at reports.
EVERYBODYS = frozenset(
    {
        "page.<locals>.typed",
        "page.<locals>.pressed",
        "page.<locals>.chosen_conversation",
        "page.<locals>.load",
        "page.<locals>.begun",
        "page.<locals>.found",
        "page.<locals>.stopped",
        "page.<locals>.cleared",
        "page.<locals>.in_force",
        "page.<locals>.bar_pressed",
        "page.<locals>.paper",
        "page.<locals>.other_papers",
        "library_tab.<locals>.page_of",
        "library_tab.<locals>.found",
        "library_tab.<locals>.pressed",
        "library_tab.<locals>.saved",
        "library_tab.<locals>.plotted",
        "evaluation_tab.<locals>.reported",
        "evaluation_tab.<locals>.refreshed",
        "evaluation_tab.<locals>.saved",
        "settings_tab.<locals>.kept",
        "settings_tab.<locals>.cleared",
        "settings_tab.<locals>.shown",
        "settings_tab.<locals>.themed",
        "settings_tab.<locals>.spoken",
        "tools.<locals>.ask",
        "tools.<locals>.search_papers",
        "tools.<locals>.get_paper",
    }
)
# What changes the library or the server, or takes its time: reading and removing papers, models, evaluations.
ADMINS = frozenset(
    {
        "library_tab.<locals>.uploaded",
        "library_tab.<locals>.named",
        "library_tab.<locals>.removed",
        "library_tab.<locals>.emptied",
        "settings_tab.<locals>.pressed",
        "settings_tab.<locals>.named",
        "evaluation_tab.<locals>.running",
        "evaluation_tab.<locals>.stopped",
        "evaluation_tab.<locals>.newest",
    }
)


def may(admin: bool, function: str) -> bool:
    """Whether somebody may have the function of that qualified name run."""
    return admin or function in EVERYBODYS
