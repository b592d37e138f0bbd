// What is drawn: detections, matches, episodes and alerts by their ids, and the rows they lie in. Times are microseconds.
const AREA_HEIGHT = 26;
const EPISODES_HEIGHT = 18;
const LEAST_LANE = 20;
const MOST_LANE = 46;
const MOST_LEFT_OUT = 50_000; // remembered

export class Scene {
  constructor(mostDetections, mostMatches) {
    this.mostDetections = mostDetections;
    this.mostMatches = mostMatches;
    this.templates = new Map();
    this.sensors = new Map(); // "area\nsensor" -> {area, sensor, place}
    this.detections = new Map();
    this.matches = new Map();
    this.episodes = new Map();
    this.alerts = new Map();
    this.order = "name";
    this.area = "";
    this.query = "";
    this.surest = 0; // the least posterior of matches that are shown
    this.sensor = null; // a pattern of the lanes that are shown
    this.leftOut = []; // [when, how many detections are not drawn]
    this.rows = [];
    this.height = 0;
    this.isStale = true;
  }

  // Take what has come: new things, things as they are now, and ids of those that stand no longer.
  merge(change) {
    for (const [id, template] of Object.entries(change.templates || {})) {
      if (!this.templates.has(id)) this.templates.set(id, { ...template, id, strips: new Map() });
    }
    for (const each of change.sensors || []) this.sensors.set(laneKey(each.area, each.sensor), each);
    for (const [area, sensor, stream, id, at, template] of change.detections || []) {
      this.addDetection(area, sensor, stream, id, at, template);
    }
    for (const match of change.matches || []) this.addMatch(match);
    for (const [id, posterior] of change.posteriors || []) {
      const match = this.matches.get(id);
      if (match) match.posterior = posterior;
    }
    for (const each of change.episodes || []) this.episodes.set(each.id, each);
    for (const each of change.alerts || []) this.alerts.set(each.id, each);
    for (const id of change.goneMatches || []) this.matches.delete(id);
    for (const id of change.goneEpisodes || []) this.episodes.delete(id);
    if (change.leftOut) this.noteLeftOut([[Date.now() * 1000, change.leftOut]]);
    this.isStale = true;
  }

  addDetection(area, sensor, stream, id, at, template) {
    const key = `${area}\n${sensor}\n${stream}\n${id}\n${at}`;
    let detection = this.detections.get(key);
    if (!detection) {
      detection = { key, area, sensor, stream, id, at, template, matches: 0 };
      this.detections.set(key, detection);
      const lane = laneKey(area, sensor);
      if (!this.sensors.has(lane)) this.sensors.set(lane, { area, sensor, place: null });
    }
    return detection;
  }

  addMatch(match) {
    const members = match.members.map((each) => this.addDetection(match.area, ...each));
    if (!this.matches.has(match.id)) for (const each of members) each.matches += 1;
    this.matches.set(match.id, { ...match, members });
  }

  // Keep within bounds: first what lies outside of [from, to], then every second of what no match has.
  prune(from, to) {
    const margin = (to - from) * 2;
    if (this.matches.size > this.mostMatches * 2) {
      drop(this.matches, (each) => each.last < from - margin || each.first > to + margin, this.mostMatches);
      drop(this.matches, () => true, this.mostMatches);
    }
    if (this.episodes.size > this.mostMatches * 2) drop(this.episodes, () => true, this.mostMatches);
    if (this.alerts.size > this.mostMatches * 2) drop(this.alerts, () => true, this.mostMatches);
    if (this.templates.size > this.mostDetections * 4) {
      const used = new Set([...this.detections.values()].map((each) => each.template));
      drop(this.templates, (each) => !used.has(each.id), used.size);
    }
    if (this.detections.size > this.mostDetections * 2) {
      drop(this.detections, (each) => each.at < from - margin || each.at > to + margin, this.mostDetections);
      const gone = drop(this.detections, (each) => !each.matches && hash(each.key) % 2, this.mostDetections);
      gone.push(...drop(this.detections, () => true, this.mostDetections));
      this.noteLeftOut(gone.map((each) => [each.at, 1]));
    }
  }

  noteLeftOut(times) {
    this.leftOut = [...this.leftOut, ...times].slice(-MOST_LEFT_OUT);
  }

  // How many detections of these times were left out, as far as that is remembered.
  leftOutOf(from, to) {
    return this.leftOut.reduce((sum, [at, count]) => sum + (at >= from && at <= to ? count : 0), 0);
  }

  setView({ order, area, query, sensor, surest }) {
    if (surest !== undefined) this.surest = Number(surest);
    if (order !== undefined) this.order = order;
    if (area !== undefined) this.area = area;
    if (query !== undefined) this.query = query;
    if (sensor !== undefined) this.sensor = sensor ? globbed(sensor) : null;
    this.isStale = true;
  }

  shows(thing) {
    if (this.surest && thing.members && !(thing.posterior >= this.surest)) return false;
    return (!this.area || thing.area === this.area) && (!this.query || !thing.query || thing.query === this.query);
  }

  // Place the rows: for each area its name, a row of episodes for each query that has some, and a lane for each sensor.
  layOut(available) {
    if (!this.isStale && this.available === available) return;
    const areas = new Map();
    for (const each of this.sensors.values()) {
      if ((this.area && each.area !== this.area) || (this.sensor && !this.sensor.test(each.sensor))) continue;
      if (!areas.has(each.area)) areas.set(each.area, { lanes: [], queries: new Set() });
      areas.get(each.area).lanes.push(each);
    }
    for (const each of this.episodes.values()) if (this.shows(each)) areas.get(each.area)?.queries.add(each.query);
    const named = [...areas].sort(([a], [b]) => compare(a, b));
    const fixed = named.reduce((sum, [, each]) => sum + AREA_HEIGHT + each.queries.size * EPISODES_HEIGHT, 0);
    const lanes = named.reduce((sum, [, each]) => sum + each.lanes.length, 0);
    const laneHeight = Math.min(MOST_LANE, Math.max(LEAST_LANE, (available - fixed) / Math.max(1, lanes)));
    this.rows = [];
    this.rowOf = new Map();
    let y = 0;
    const add = (kind, key, height, more) => {
      const row = { kind, y, height, ...more };
      this.rows.push(row);
      this.rowOf.set(key, row);
      y += height;
    };
    for (const [area, each] of named) {
      add("area", `area\n${area}`, AREA_HEIGHT, { area, label: area });
      for (const query of [...each.queries].sort(compare)) {
        add("episodes", `episodes\n${area}\n${query}`, EPISODES_HEIGHT, { area, label: query });
      }
      for (const lane of each.lanes.sort(this.order === "place" ? comparePlace : compareSensor)) {
        add("lane", laneKey(lane.area, lane.sensor), laneHeight, { area, label: lane.sensor });
      }
    }
    this.height = y;
    this.available = available;
    this.isStale = false;
    this.drawn = null;
  }

  laneOf(detection) {
    return this.rowOf.get(laneKey(detection.area, detection.sensor));
  }

  template(id) {
    return this.templates.get(id);
  }
}

// Drop what is wanted until no more than `most` are left, and return it.
function drop(map, wanted, most) {
  const gone = [];
  for (const [key, each] of map) {
    if (map.size <= most) break;
    if (wanted(each) && map.delete(key)) gone.push(each);
  }
  return gone;
}

// mic finds all that have mic in their name; with * for any characters and ? for one the whole name is meant.
function globbed(text) {
  const pattern = text.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*+/g, ".*").replaceAll("?", ".");
  return new RegExp(/[*?]/.test(text) ? `^${pattern}$` : pattern, "i");
}

function laneKey(area, sensor) {
  return `${area}\n${sensor}`;
}

const compare = new Intl.Collator("en", { numeric: true }).compare;

function compareSensor(a, b) {
  return compare(a.sensor, b.sensor);
}

// From north to south, or from the greatest y on, then from west to east, or along x; those without a place come last.
function comparePlace(a, b) {
  if (!a.place || !b.place) return (a.place ? 0 : 1) - (b.place ? 0 : 1) || compareSensor(a, b);
  return north(b.place) - north(a.place) || east(a.place) - east(b.place) || compareSensor(a, b);
}

const north = (place) => place.lat ?? place.y_m;
const east = (place) => place.lon ?? place.x_m;

function hash(text) {
  let sum = 0;
  for (let i = 0; i < text.length; i++) sum = (Math.imul(sum, 31) + text.charCodeAt(i)) | 0;
  return sum >>> 1;
}
