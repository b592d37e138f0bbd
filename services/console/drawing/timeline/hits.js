// What lies under the pointer, and how it is said in words. Words only: they are written as text, never as markup.
import { alertPoint, counted, episodeBox, links } from "./paint.js";
import { duration, percent } from "./times.js";

const NEAR = 7;

export function under(scene, x, top, left, y, from, to) {
  return alertUnder(scene, x, top, left, y) || episodeUnder(scene, x, top, left, y) ||
    seenUnder(scene, x, top, left, y, NEAR) || matchUnder(scene, x, top, left, y, from, to) || ribbonUnder(scene, x, top, left, y);
}

function alertUnder(scene, x, top, left, y) {
  for (const each of scene.alerts.values()) {
    const at = alertPoint(scene, each, x, top);
    if (scene.shows(each) && Math.hypot(at.x - left, at.y - y) < NEAR + 2) return { kind: "alert", thing: each };
  }
  return null;
}

function episodeUnder(scene, x, top, left, y) {
  for (const each of scene.episodes.values()) {
    const box = scene.shows(each) && episodeBox(scene, each, x, top);
    if (box && left >= box.x - 3 && left <= box.x + box.wide + 3 && y >= box.y - 2 && y <= box.y + box.tall + 2) {
      return { kind: "episode", thing: each };
    }
  }
  return null;
}

function inLane(scene, detection, top, y) {
  const row = scene.laneOf(detection);
  return row && y >= row.y - top && y < row.y - top + row.height;
}

function seenUnder(scene, x, top, left, y, near) {
  let best = null;
  for (const each of scene.detections.values()) {
    const away = Math.abs(x(each.at) - left);
    if (away < near && inLane(scene, each, top, y)) [near, best] = [away, each];
  }
  return best && { kind: "detection", thing: best };
}

function ribbonUnder(scene, x, top, left, y) {
  let best = null;
  let least = Infinity;
  for (const each of scene.detections.values()) {
    const edges = scene.template(each.template)?.edges_us;
    if (!edges || left < x(each.at + edges[0]) || left > x(each.at + edges[edges.length - 1])) continue;
    const away = Math.abs(x(each.at) - left);
    if (away < least && inLane(scene, each, top, y)) [least, best] = [away, each];
  }
  return best && { kind: "detection", thing: best };
}

function matchUnder(scene, x, top, left, y, from, to) {
  let best = null;
  let least = NEAR;
  for (const match of scene.matches.values()) {
    if (!scene.shows(match) || match.last < from || match.first > to) continue;
    for (const link of links(scene, match, x, top)) {
      const away = distance(link, left, y);
      if (away < least || (away === least && best && match.probability > best.probability)) [least, best] = [away, match];
    }
  }
  return best && { kind: "match", thing: best };
}

function distance([x0, y0, x1, y1, x2, y2, x3, y3], left, y) {
  if (left < Math.min(x0, x3) - NEAR || left > Math.max(x0, x3) + NEAR) return Infinity;
  let least = Infinity;
  for (let nth = 0; nth <= 24; nth++) {
    const t = nth / 24;
    const u = 1 - t;
    const px = u * u * u * x0 + 3 * u * u * t * x1 + 3 * u * t * t * x2 + t * t * t * x3;
    const py = u * u * u * y0 + 3 * u * u * t * y1 + 3 * u * t * t * y2 + t * t * t * y3;
    least = Math.min(least, Math.hypot(px - left, py - y));
  }
  return least;
}

// The lines of a tooltip; the first is its title.
export function words(scene, times, { kind, thing }) {
  if (kind === "detection") {
    const template = scene.template(thing.template);
    const matches = thing.matches === 1 ? "in 1 match" : thing.matches ? `in ${thing.matches} matches` : "in no match";
    return [thing.sensor, `seen ${times.exact(thing.at)}, ${template ? template.words : "by its own clock"}`, `${thing.stream}, ${matches}`];
  }
  if (kind === "match") {
    const sensors = thing.members.map((each) => each.sensor).join(", ");
    const when = thing.occurred ? [`happened most likely between ${times.exact(thing.occurred[1])} and ${times.exact(thing.occurred[2])}`] : [];
    const sure = thing.posterior === null || thing.posterior === undefined ? [] : [`one event: ${percent(thing.posterior)}`];
    return [`${thing.query}: times fit with ${percent(thing.probability)}`, `${sensors} may have happened together`, ...sure, ...when];
  }
  if (kind === "episode") {
    const isLasting = thing.unit === "readings";
    const most = isLasting ? "it lasted long enough with" : "the times of its best match fit with";
    const best = thing.probability === null ? [] : [`${most} ${percent(thing.probability)}`];
    const state = thing.open ? "it may still go on" : "it is over";
    return [`${thing.query}: ${isLasting ? "it lasted" : "one episode"}`, `${counted(thing)} within ${duration(thing.end - thing.start)}, from ${times.exact(thing.start)}; ${state}`, ...best];
  }
  return [thing.title, `${thing.severity}, ${thing.state}, since ${times.exact(thing.at)}`];
}
