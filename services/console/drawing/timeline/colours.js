// Colours of a theme. Probability goes from pale to strong in lightness, so that it is read without seeing hues.
const SCALES = {
  light: ["#b9c3cf", "#86a8c6", "#4f86b5", "#22639a", "#0a3566"],
  dark: ["#4d5a69", "#5c86a0", "#79b0a0", "#bccb78", "#ffe45c"],
};
export const STEPS = 16;

export function palette(isDark) {
  const stops = SCALES[isDark ? "dark" : "light"].map(rgb);
  return {
    isDark,
    surface: isDark ? "#171e27" : "#ffffff",
    band: isDark ? "#1c2530" : "#f4f6f9",
    line: isDark ? "#33404f" : "#d5dae1",
    text: isDark ? "#e8edf3" : "#17202b",
    soft: isDark ? "#a5b1bf" : "#55606e",
    ribbon: isDark ? [96, 180, 214] : [34, 116, 165],
    seen: isDark ? "#cfd9e4" : "#3b4654",
    chosen: isDark ? "#ffb454" : "#b35900",
    critical: isDark ? "#ff7d45" : "#c2410c",
    warning: isDark ? "#f2b134" : "#a86b00",
    other: isDark ? "#6cc5e9" : "#0b5d80",
    now: isDark ? "#ff9a9a" : "#a4262c",
    steps: Array.from({ length: STEPS }, (_, nth) => between(stops, nth / (STEPS - 1))),
  };
}

// Square roots spread small probabilities, which are what thresholds are often about.
export function step(p) {
  return Math.min(STEPS - 1, Math.floor(Math.sqrt(Math.max(0, p)) * STEPS));
}

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function between(stops, share) {
  const at = share * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(at));
  const mixed = stops[low].map((each, nth) => Math.round(each + (stops[low + 1][nth] - each) * (at - low)));
  return `rgb(${mixed.join(",")})`;
}
