"""What every page owes to everybody: it needs no mouse, is read in both themes and on a phone, and rounds honestly."""

from collections.abc import Iterator

from playwright.sync_api import Page, ViewportSize

from tests.console.conftest import serious_faults

PHONE: ViewportSize = {"width": 380, "height": 860}
DESK: ViewportSize = {"width": 1280, "height": 860}
MOST_TABS = 400
#: Rules that may find something in one theme alone.
OF_COLOURS = ("color-contrast", "link-in-text-block")
#: Listens to where the focus goes, and whether one sees it there.
LISTEN = """() => {
    window.reached = new Set();
    window.unseen = new Set();
    document.addEventListener("focusin", (event) => {
        const {target} = event;
        window.reached.add(target);
        const drawn = target.matches("svg a") ? target.querySelector("circle") : target.closest(".cm-editor") || target;
        const {outlineStyle, outlineWidth, strokeWidth} = getComputedStyle(drawn);
        const isSeen = outlineStyle !== "none" && parseFloat(outlineWidth) >= 1;
        if (!isSeen && !(drawn.matches("circle") && parseFloat(strokeWidth) >= 3)) window.unseen.add(target);
    });
    document.activeElement?.blur();
}"""
LEFT = """() => {
    const controls = "a[href], button, input, select, textarea, summary, [tabindex='0'], [contenteditable='true']";
    const wanted = document.querySelectorAll(controls);
    const isSeen = (each) => each.checkVisibility({visibilityProperty: true}); // not in what is folded up
    const isMeant = (each) => !each.disabled && !each.closest("[aria-hidden=true]") && each.tabIndex >= 0;
    const said = (each) => each.outerHTML.slice(0, 160);
    return {
      missed: [...wanted].filter((each) => isSeen(each) && isMeant(each) && !window.reached.has(each)).map(said),
      unseen: [...window.unseen].map(said),
    };
}"""
BARE = r"""() => [...document.querySelectorAll(".number")].filter((each) => {
    const text = each.textContent.trim();
    const isNone = /^(not known.*|not counted|does not apply|unknown|never|…)$/.test(text);
    const isExact = isNone || /^(more than )?[\d,]*( [a-z]+)?$/.test(text);
    return !isExact && !each.closest("[title]") && !each.querySelector("[title]") && each.checkVisibility();
}).map((each) => each.outerHTML.slice(0, 160))"""


NAMELESS = """() => [...document.querySelectorAll("table.plain td:not([colspan])")]
    .filter((each) => each.checkVisibility() && !/^".+"$/.test(getComputedStyle(each, "::before").content))
    .map((each) => each.outerHTML.slice(0, 160))"""
#: Names beside cells, on a phone, that reach into what is below.
OVERLAPPING = """() => [...document.querySelectorAll("table.plain td:not([colspan])")]
    .filter((each) => each.checkVisibility()
        && parseFloat(getComputedStyle(each, "::before").height) > each.getBoundingClientRect().height)
    .map((each) => each.outerHTML.slice(0, 160))"""


def faults_of(page: Page) -> Iterator[str]:
    """Yield what keeps somebody from using the page as it stands."""
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        ground = {"light": "rgb(246, 247, 249)", "dark": "rgb(16, 21, 28)"}[theme]
        page.wait_for_function(f"getComputedStyle(document.body).backgroundColor === '{ground}'")
        for fault in serious_faults(page, () if theme == "light" else OF_COLOURS):
            yield f"{theme}: {fault}"
    yield from (f"no raw value on hover: {each}" for each in page.evaluate(BARE))
    yield from _unreached(page)
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(200)
    yield from (f"phone: {fault}" for fault in serious_faults(page))
    yield from (f"phone: no name of a column beside {each}" for each in page.evaluate(NAMELESS))
    yield from (f"phone: the name of a column lies over what is below {each}" for each in page.evaluate(OVERLAPPING))
    width = page.evaluate("document.documentElement.scrollWidth")
    if width > PHONE["width"]:
        yield f"it is {width} pixels wide on a phone: {widest(page)}"
    page.set_viewport_size(DESK)


def _unreached(page: Page) -> Iterator[str]:
    """Walk through the page with Tab, and yield what one does not get to, or does not see when one is there."""
    page.evaluate(LISTEN)
    for _ in range(
        min(MOST_TABS, page.locator("a, button, input, select, summary, [tabindex], .cm-content").count() + 2)
    ):
        if page.evaluate("document.activeElement?.closest('.cm-editor') !== null"):
            page.keyboard.press("Escape")  # a Tab after it leaves the text
        page.keyboard.press("Tab")
    left = page.evaluate(LEFT)
    yield from (f"Tab does not lead to {each}" for each in left["missed"])
    yield from (f"the focus is not seen on {each}" for each in left["unseen"])


def widest(page: Page) -> str:
    """Return the innermost element that reaches furthest out to the right."""
    script = """() => {
        const every = [...document.body.querySelectorAll("*")];
        const wide = every.filter((each) => each.getBoundingClientRect().right > innerWidth + 1);
        return wide.at(-1)?.outerHTML.slice(0, 200) || "";
    }"""
    return str(page.evaluate(script))
