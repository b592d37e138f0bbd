// The switches of the shell: they leave their position in a cookie, by which the server draws the next page.
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
})();
