// Times on the axis and in words, in one zone.
const SECOND = 1e6;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
  10800, 21600, 43200, 86400, 172800, 604800, 2592000, 7776000, 31557600, 157788000,
].map((each) => each * SECOND);
const LEAST = -62135596800e6;
const MOST = 253402300799e6;

export class Times {
  constructor(zone) {
    this.zone = zone || undefined;
    const of = (options) => new Intl.DateTimeFormat("en-GB", { timeZone: this.zone, hourCycle: "h23", ...options });
    this.clock = of({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
    this.minute = of({ hour: "2-digit", minute: "2-digit" });
    this.date = of({ year: "numeric", month: "short", day: "numeric" });
    this.weekday = of({ weekday: "short", year: "numeric", month: "short", day: "numeric" });
    this.offsets = new Map();
  }

  moment(us) {
    return new Date(Math.min(Math.max(us, LEAST), MOST) / 1000);
  }

  // Hours, minutes and seconds, with as many digits as `step` asks for.
  label(us, step) {
    if (step >= DAY) return this.date.format(this.moment(us));
    if (step >= MINUTE) return this.minute.format(this.moment(us));
    return this.clock.format(this.moment(us)) + fraction(us, step >= SECOND ? 0 : Math.min(6, -Math.floor(Math.log10(step / SECOND))));
  }

  exact(us) {
    return `${this.clock.format(this.moment(us))}${fraction(us, 1)}`;
  }

  day(us) {
    return this.weekday.format(this.moment(us));
  }

  // Round instants of the zone between two instants, so far apart that about `most` fit.
  ticks(from, to, most) {
    const step = STEPS.find((each) => (to - from) / each <= most) || STEPS[STEPS.length - 1];
    const shift = step >= MINUTE ? this.shift(from) : 0;
    const found = [];
    for (let at = Math.ceil((from + shift) / step) * step - shift; at <= to && found.length < 100; at += step) found.push(at);
    return { step, found };
  }

  // How far the zone is ahead of UTC, so that midnight and full hours are round.
  shift(us) {
    const hour = Math.floor(us / HOUR);
    if (!this.offsets.has(hour)) {
      const named = new Intl.DateTimeFormat("en-US", { timeZone: this.zone, timeZoneName: "longOffset" });
      const text = named.formatToParts(this.moment(us)).find((each) => each.type === "timeZoneName").value;
      const found = /GMT([+-])(\d\d):(\d\d)/.exec(text);
      this.offsets.set(hour, found ? (found[1] === "-" ? -1 : 1) * (Number(found[2]) * HOUR + Number(found[3]) * MINUTE) : 0);
    }
    return this.offsets.get(hour);
  }
}

function fraction(us, digits) {
  const part = ((us % SECOND) + SECOND) % SECOND;
  return digits ? `.${String(Math.floor(part)).padStart(6, "0").slice(0, digits)}` : "";
}

export function duration(us) {
  const seconds = Math.abs(us) / SECOND;
  if (seconds < 0.9995) return `${round(seconds * 1e3)} ms`;
  if (seconds < 99.5) return `${round(seconds)} s`;
  if (seconds < 5970) return `${round(seconds / 60)} min`;
  if (seconds < 171000) return `${round(seconds / 3600)} h`;
  return `${round(seconds / 86400)} days`;
}

export function percent(p) {
  if (p === 0 || p === 1) return `${p * 100} %`;
  if (p < 0.001) return "< 0.1 %";
  if (p > 0.999) return "> 99.9 %";
  return `${round(p * 100)} %`;
}

function round(value) {
  return String(Number(value.toPrecision(3)));
}
