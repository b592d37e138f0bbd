// Painting: the content (ribbons, arcs, bars, marks) onto a layer, and what stands around it (names, axis) onto the page.
import { STEPS, step } from "./colours.js";

const STRIP = 96;
const MOST_LABELS = 400;
const MOST_TRACKS = 12;

// The content between two instants; `area` has from, to, width, height and top, the first visible pixel of the rows.
export function paintContent(context, scene, area, colours, chosen) {
  const { from, to, width, height, top } = area;
  const scale = width / (to - from);
  const x = (at) => (at - from) * scale;
  context.clearRect(0, 0, width, height);
  const seen = { detections: 0, left: 0, matches: 0, matchesLeft: 0 };
  const visible = scene.rows.filter((row) => row.y + row.height >= top && row.y <= top + height);
  paintEpisodes(context, scene, area, x, colours, chosen);
  const detections = inView(scene, from, to, seen);
  stack(scene, detections);
  for (const each of detections) paintRibbon(context, scene, each, x, scale, area, colours);
  for (const each of detections) paintSeen(context, scene, each, x, area, colours, chosen);
  const matches = matchesInView(scene, from, to, seen);
  paintMatches(context, scene, matches, x, area, colours, chosen);
  paintAlerts(context, scene, area, x, colours, chosen);
  return { ...seen, rows: visible.length };
}

function inView(scene, from, to, seen) {
  const found = [];
  for (const each of scene.detections.values()) {
    const template = scene.template(each.template);
    const first = each.at + Math.min(0, template ? template.edges_us[0] : 0);
    const last = each.at + Math.max(0, template ? template.edges_us[template.edges_us.length - 1] : 0);
    if (last >= from && first <= to && (!scene.area || each.area === scene.area)) found.push(each);
  }
  seen.detections = found.length;
  const most = scene.mostDetections * 2; // the layer is twice as wide as the view
  if (found.length <= most) return found;
  const nth = found.length / most;
  const sample = found.filter((_, at) => Math.floor(at / nth) !== Math.floor((at - 1) / nth));
  seen.left = found.length - sample.length;
  return sample;
}

function matchesInView(scene, from, to, seen) {
  const found = [];
  for (const each of scene.matches.values()) {
    if (scene.shows(each) && each.last >= from && each.first <= to) found.push(each);
  }
  seen.matches = found.length;
  const most = scene.mostMatches * 2;
  if (found.length <= most) return found;
  seen.matchesLeft = found.length - most;
  return found.sort((a, b) => b.probability - a.probability).slice(0, most);
}

// Ribbons of one lane that overlap lie one below the other, so that each is seen: `track` of `tracks`.
function stack(scene, detections) {
  const lanes = new Map();
  for (const each of detections) {
    const edges = scene.template(each.template)?.edges_us;
    if (!edges || edges.length < 2) continue;
    const key = `${each.area}\n${each.sensor}`;
    if (!lanes.has(key)) lanes.set(key, []);
    lanes.get(key).push({ each, begin: each.at + edges[0], end: each.at + edges[edges.length - 1] });
  }
  for (const spans of lanes.values()) {
    spans.sort((a, b) => a.begin - b.begin);
    let group = [];
    let ends = []; // of each track, when it is free again
    const close = () => {
      for (const { each } of group) each.tracks = ends.length;
    };
    for (const span of spans) {
      if (!ends.some((end) => end > span.begin)) {
        close();
        [group, ends] = [[], []];
      }
      let track = ends.findIndex((end) => end <= span.begin);
      if (track < 0) track = ends.length < MOST_TRACKS ? ends.length : group.length % MOST_TRACKS;
      ends[track] = Math.max(ends[track] ?? span.end, span.end);
      span.each.track = track;
      group.push(span);
    }
    close();
  }
}

function paintRibbon(context, scene, detection, x, scale, area, colours) {
  const row = scene.laneOf(detection);
  const template = scene.template(detection.template);
  if (!row || !template || template.edges_us.length < 2) return;
  const top = row.y - area.top;
  if (top > area.height || top + row.height < 0) return;
  const tall = (row.height * 0.7) / detection.tracks;
  const first = top + row.height * 0.15 + detection.track * tall;
  const y = detection.tracks > 1 ? Math.round(first) : first;
  const begin = x(detection.at + template.edges_us[0]);
  const wide = (template.edges_us[template.edges_us.length - 1] - template.edges_us[0]) * scale;
  const thick = detection.tracks > 1 ? Math.max(1, Math.floor(tall) - 1) : tall;
  if (wide < 4) {
    context.fillStyle = `rgba(${colours.ribbon.join(",")},0.45)`;
    context.fillRect(begin, y, Math.max(1.5, wide), thick);
  } else {
    context.drawImage(strip(template, colours), begin, y, wide, thick);
  }
}

function paintSeen(context, scene, detection, x, area, colours, chosen) {
  const row = scene.laneOf(detection);
  if (!row) return;
  const middle = row.y - area.top + row.height / 2;
  if (middle + row.height < 0 || middle - row.height > area.height) return;
  const tall = row.height * 0.7;
  const at = x(detection.at);
  context.fillStyle = chosen?.detections?.has(detection.key) ? colours.chosen : colours.seen;
  context.globalAlpha = detection.matches ? 1 : 0.65;
  context.fillRect(at - 1, middle - tall / 2 - 1, 2, tall + 2);
  context.globalAlpha = 1;
}

// The density of a template as a strip of pixels, made once for each theme.
function strip(template, colours) {
  const kept = template.strips.get(colours.isDark);
  if (kept) return kept;
  const canvas = document.createElement("canvas");
  canvas.width = STRIP;
  canvas.height = 1;
  const context = canvas.getContext("2d");
  const edges = template.edges_us;
  const densities = template.mass.map((mass, nth) => mass / (edges[nth + 1] - edges[nth]));
  const most = Math.max(...densities);
  const span = edges[edges.length - 1] - edges[0];
  const sizes = densities.map((each) => each / most);
  for (let pixel = 0, nth = 0; pixel < STRIP; pixel++) {
    const at = edges[0] + ((pixel + 0.5) / STRIP) * span;
    while (nth < sizes.length - 1 && at > edges[nth + 1]) nth++;
    context.fillStyle = `rgba(${colours.ribbon.join(",")},${0.1 + 0.5 * sizes[nth]})`;
    context.fillRect(pixel, 0, 1, 1);
  }
  template.strips.set(colours.isDark, canvas);
  return canvas;
}

function paintMatches(context, scene, matches, x, area, colours, chosen) {
  const paths = Array.from({ length: STEPS }, () => null);
  const many = matches.length > 150;
  let picked = null;
  for (const match of matches) {
    if (chosen?.id === match.id) {
      picked = match;
      continue;
    }
    const nth = step(match.probability);
    paths[nth] ??= new Path2D();
    traceMatch(paths[nth], scene, match, x, area);
  }
  context.lineWidth = many ? 1 : 1.8;
  paths.forEach((path, nth) => {
    if (!path) return;
    context.globalAlpha = (many ? 0.45 : 0.85) * (picked ? 0.35 : 1);
    context.strokeStyle = colours.steps[nth];
    context.stroke(path);
  });
  context.globalAlpha = 1;
  if (picked) {
    const path = new Path2D();
    traceMatch(path, scene, picked, x, area);
    context.strokeStyle = colours.surface;
    context.lineWidth = 6;
    context.stroke(path);
    context.strokeStyle = colours.chosen;
    context.lineWidth = 3;
    context.stroke(path);
  }
}

// From member to member, in the order of their lanes.
export function links(scene, match, x, top) {
  const points = [];
  for (const member of match.members) {
    const row = scene.laneOf(member);
    if (row) points.push({ x: x(member.at), y: row.y + row.height / 2 - top, row });
  }
  points.sort((a, b) => a.y - b.y || a.x - b.x);
  const found = [];
  for (let nth = 1; nth < points.length; nth++) {
    const [a, b] = [points[nth - 1], points[nth]];
    const middle = (a.y + b.y) / 2;
    // Within one lane the arc rises above it; between lanes it leaves and arrives upright.
    const lift = a.row === b.row ? -a.row.height * 0.8 : 0;
    found.push([a.x, a.y, a.x, middle + lift, b.x, middle + lift, b.x, b.y]);
  }
  return found;
}

function traceMatch(path, scene, match, x, area) {
  for (const [x0, y0, x1, y1, x2, y2, x3, y3] of links(scene, match, x, area.top)) {
    path.moveTo(x0, y0);
    path.bezierCurveTo(x1, y1, x2, y2, x3, y3);
  }
}

export function counted(episode) {
  return episode.count === 1 ? `1 ${episode.unit.replace(/e?s$/, "")}` : `${episode.count} ${episode.unit}`;
}

export function episodeBox(scene, episode, x, top) {
  const row = scene.rowOf.get(`episodes\n${episode.area}\n${episode.query}`);
  if (!row) return null;
  const begin = x(episode.start);
  const wide = Math.max(5, x(episode.end) - begin);
  return { x: begin, y: row.y - top + 3, wide, tall: row.height - 6 };
}

function paintEpisodes(context, scene, area, x, colours, chosen) {
  let labels = 0;
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  for (const episode of scene.episodes.values()) {
    if (!scene.shows(episode) || episode.end < area.from || episode.start > area.to) continue;
    const box = episodeBox(scene, episode, x, area.top);
    if (!box || box.y > area.height || box.y + box.tall < 0) continue;
    context.fillStyle = episode.probability === null ? colours.soft : colours.steps[step(episode.probability)];
    context.beginPath();
    context.roundRect(box.x, box.y, box.wide, box.tall, Math.min(4, box.wide / 2));
    context.fill();
    if (chosen?.id === episode.id) {
      context.strokeStyle = colours.chosen;
      context.lineWidth = 2.5;
      context.stroke();
    } else if (episode.open) {
      context.strokeStyle = colours.text;
      context.lineWidth = 1;
      context.setLineDash([3, 2]);
      context.stroke();
      context.setLineDash([]);
    }
    if (box.wide > 62 && labels++ < MOST_LABELS) {
      const strong = (episode.probability ?? 0) > 0.3;
      context.fillStyle = strong === colours.isDark ? "#10151c" : strong ? "#ffffff" : colours.text;
      const left = Math.max(box.x, 0) + 6;
      context.fillText(counted(episode), left, box.y + box.tall / 2 + 0.5, box.wide - 10);
    }
  }
}

export function alertPoint(scene, alert, x, top) {
  const row = scene.rowOf.get(`area\n${alert.area}`);
  return { x: x(alert.at), y: row ? row.y - top + row.height - 8 : 8 };
}

function paintAlerts(context, scene, area, x, colours, chosen) {
  for (const alert of scene.alerts.values()) {
    if (!scene.shows(alert) || alert.at < area.from || alert.at > area.to) continue;
    const at = alertPoint(scene, alert, x, area.top);
    context.fillStyle = alert.state === "resolved" ? colours.soft : (colours[alert.severity] ?? colours.other);
    context.beginPath();
    if (alert.severity === "critical") {
      context.moveTo(at.x, at.y - 8);
      context.lineTo(at.x + 7, at.y + 5);
      context.lineTo(at.x - 7, at.y + 5);
    } else {
      context.moveTo(at.x, at.y - 7);
      context.lineTo(at.x + 7, at.y);
      context.lineTo(at.x, at.y + 7);
      context.lineTo(at.x - 7, at.y);
    }
    context.closePath();
    context.fill();
    context.lineWidth = chosen?.id === alert.id ? 2.5 : 1;
    context.strokeStyle = chosen?.id === alert.id ? colours.chosen : colours.surface;
    context.stroke();
  }
}

// What stands behind the content: a band for each area, and a line between lanes.
export function paintRows(context, scene, box, colours) {
  context.fillStyle = colours.surface;
  context.fillRect(0, box.axis, box.width, box.height);
  for (const row of scene.rows) {
    const y = row.y - box.top + box.axis;
    if (y > box.axis + box.height || y + row.height < box.axis) continue;
    if (row.kind !== "lane") {
      context.fillStyle = colours.band;
      context.fillRect(0, y, box.width, row.height);
    }
    context.fillStyle = colours.line;
    context.globalAlpha = row.kind === "area" ? 1 : 0.45;
    context.fillRect(0, Math.round(y), box.width, 1);
    context.globalAlpha = 1;
  }
}

// The names of the rows, over the content.
export function paintNames(context, scene, box, colours) {
  context.fillStyle = colours.surface;
  context.fillRect(0, box.axis, box.gutter, box.height);
  context.textBaseline = "middle";
  for (const row of scene.rows) {
    const y = row.y - box.top + box.axis;
    if (y > box.axis + box.height || y + row.height < box.axis) continue;
    if (row.kind !== "lane") {
      context.fillStyle = colours.band;
      context.fillRect(0, y, box.gutter, row.height);
    }
    const isArea = row.kind === "area";
    context.font = `${isArea ? "600 13px" : row.kind === "episodes" ? "11px" : "13px"} system-ui, sans-serif`;
    context.fillStyle = row.kind === "episodes" ? colours.soft : colours.text;
    context.fillText(shortened(context, row.label, box.gutter - (isArea ? 16 : 26)), isArea ? 10 : 20, y + row.height / 2 + 1);
  }
  context.fillStyle = colours.line;
  context.fillRect(box.gutter - 1, box.axis, 1, box.height);
}

const widths = new Map();

function shortened(context, text, most) {
  const key = `${context.font}\n${most}\n${text}`;
  let fitting = widths.get(key);
  if (fitting === undefined) {
    fitting = text;
    while (fitting && context.measureText(fitting).width > most) fitting = fitting.slice(0, fitting.length > 2 ? -2 : 0);
    if (fitting !== text) fitting += "…";
    if (widths.size > 5000) widths.clear();
    widths.set(key, fitting);
  }
  return fitting;
}

export function paintAxis(context, times, box, from, to, now, colours) {
  const scale = (box.width - box.gutter) / (to - from);
  const { step: apart, found } = times.ticks(from, to, Math.max(2, (box.width - box.gutter) / 105));
  context.fillStyle = colours.surface;
  context.fillRect(0, 0, box.width, box.axis);
  context.textBaseline = "alphabetic";
  let day = null;
  for (const at of found) {
    const x = box.gutter + (at - from) * scale;
    context.fillStyle = colours.line;
    context.fillRect(Math.round(x), box.axis - 6, 1, box.height + 6);
    context.fillStyle = colours.text;
    context.font = "12px system-ui, sans-serif";
    const label = times.label(at, apart);
    const half = context.measureText(label).width / 2;
    const middle = Math.max(box.gutter + half + 2, Math.min(box.width - half - 2, x));
    const isCovered = Math.abs(box.gutter + (now - from) * scale - middle) < half + 18; // by the word "now"
    if (!isCovered) context.fillText(label, middle - half, box.axis - 10);
    const today = times.day(at);
    if (today !== day && apart < 86400e6) {
      context.fillStyle = colours.soft;
      context.font = "11px system-ui, sans-serif";
      if (day === null || x > box.gutter + 130) context.fillText(today, Math.max(box.gutter + 2, Math.min(x - half, box.width - 110)), box.axis - 25);
      day = today;
    }
  }
  context.fillStyle = colours.soft;
  context.font = "11px system-ui, sans-serif";
  context.fillText(times.zone || "local time", 10, box.axis - 10);
  context.fillStyle = colours.line;
  context.fillRect(0, box.axis - 1, box.width, 1);
}

export function paintNow(context, box, from, to, now, colours) {
  const x = box.gutter + ((now - from) / (to - from)) * (box.width - box.gutter);
  if (x < box.gutter || x > box.width) return;
  context.fillStyle = colours.now;
  context.fillRect(x - 0.75, box.axis - 6, 1.5, box.height + 6);
  context.font = "600 11px system-ui, sans-serif";
  context.textBaseline = "alphabetic";
  const wide = context.measureText("now").width;
  context.fillStyle = colours.surface;
  context.fillRect(Math.min(x - wide / 2, box.width - wide - 4) - 3, box.axis - 20, wide + 6, 13);
  context.fillStyle = colours.now;
  context.fillText("now", Math.min(x - wide / 2, box.width - wide - 4), box.axis - 10);
}
