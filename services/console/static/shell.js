// The switches of the shell: they leave their position in a cookie, by which the server draws the next page.
// And the focus: what is drawn anew keeps it.
(() => {
  "use strict";
  const read = (name) => document.cookie.split("; ").find((each) => each.startsWith(name + "="))?.slice(name.length + 1);
  const write = (name, value) => {
    document.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=strict`;
  };
  const words = () => new Set((read("coincide_view") || "").split(".").filter(Boolean));
  const keep = (chosen) => write("coincide_view", [...chosen].join("."));

  const zone = encodeURIComponent(Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC");
  if (read("coincide_zone") !== zone) {
    write("coincide_zone", zone);
    // The page was drawn without knowing the zone; once is enough, also where cookies are refused.
    if (!words().has("utc") && zone !== "UTC" && read("coincide_zone") === zone) location.reload();
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-clock]")) {
      const chosen = words();
      chosen.has("utc") ? chosen.delete("utc") : chosen.add("utc");
      keep(chosen);
      location.reload();
    } else if (event.target.closest("[data-theme]")) {
      const chosen = words();
      const isDark = document.body.classList.contains("body--dark");
      chosen.delete("dark");
      chosen.delete("light");
      chosen.add(isDark ? "light" : "dark");
      keep(chosen);
    }
  }, true);

  // Where the element that has the focus is drawn anew, the one of the same name gets it: the nth, if as many have it.
  const named = (element) => {
    const label = element.getAttribute("aria-label") ?? element.closest("label")?.innerText ?? element.textContent;
    return [element.closest("[data-key]")?.dataset.key, label, element.getAttribute("href")].join("\n");
  };
  const alike = (name, tag) => [...document.querySelectorAll(tag)].filter((each) => named(each) === name);
  let focused = null;
  document.addEventListener("focusin", ({ target }) => {
    focused = null;
    if (!target.matches("a, button, input, select, textarea, summary")) return;
    const found = alike(named(target), target.tagName);
    focused = { element: target, name: named(target), nth: found.indexOf(target), of: found.length };
  });
  document.addEventListener("focusout", ({ target }) => {
    queueMicrotask(() => { // some browsers tell it of an element that is taken out, too
      if (focused?.element === target && target.isConnected && document.activeElement !== target) focused = null;
    });
  });
  new MutationObserver(() => {
    if (!focused || focused.element.isConnected || document.activeElement !== document.body) return;
    const found = alike(focused.name, focused.element.tagName);
    if (found.length === focused.of) found[focused.nth].focus({ preventScroll: true });
  }).observe(document, { childList: true, subtree: true });
})();
