"""A timeline with as much in view as it has to bear: scripts that run in an open page."""

DETECTIONS, MATCHES = 5_000, 500

#: Fills a minute of an hour ago, in an area of its own. What came live lies outside of it, and is pruned first.
FILL = f"""() => {{
    const {{chart}} = document.querySelector(".timeline");
    chart.leave();
    chart.setView({{area: "made"}});
    chart.setRange(chart.now - 3660e6, chart.now - 3600e6);
    const seen = (nth) => {{
        const at = Math.round(chart.from + (nth + 0.5) * chart.span / {DETECTIONS});
        return [`made-${{nth % 8}}`, "made", `${{nth}}`, at, "made"];
    }};
    const match = (nth) => {{
        const members = [seen(10 * nth), seen(10 * nth + 1)];
        const [first, last] = members.map((each) => each[3]);
        const told = {{id: `made-${{nth}}`, query: "made", area: "made", probability: (nth % 10 + 1) / 10}};
        return {{...told, first, last, occurred: null, members}};
    }};
    chart.merge({{
        templates: {{made: {{edges_us: [-2e6, -1e6, 0], mass: [0.7, 0.3], words: "made"}}}},
        detections: Array.from({{length: {DETECTIONS}}}, (_, nth) => ["made", ...seen(nth)]),
        matches: Array.from({{length: {MATCHES}}}, (_, nth) => match(nth)),
    }});
}}"""

#: Moves the view with every frame, to and fro, for so many seconds; returns frames a second and what they showed.
PAN = """(seconds) => new Promise((done) => {
    const {chart} = document.querySelector(".timeline");
    const [begun, before] = [performance.now(), chart.frames];
    const step = () => {
        const spent_s = (performance.now() - begun) / 1000;
        if (spent_s >= seconds) {
            done({frames_hz: (chart.frames - before) / spent_s, ...chart.painted});
            return;
        }
        chart.pan(Math.floor(spent_s) % 2 ? 0.005 : -0.005);
        requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
})"""

#: Notes, whenever the content is painted, how old each new detection is; its id begins with when it was sent.
WATCH = """() => {
    const {chart} = document.querySelector(".timeline");
    const [known, paint] = [new Set(chart.scene.detections.keys()), chart.paint];
    window.ages_s = [];
    chart.paint = () => {
        const before = chart.paints;
        paint.call(chart);
        if (chart.paints === before) return;
        const now_us = (performance.timeOrigin + performance.now()) * 1000;
        for (const {key, id} of chart.scene.detections.values()) {
            if (known.has(key)) continue;
            known.add(key);
            window.ages_s.push((now_us - parseInt(id)) / 1e6);
        }
    };
}"""

#: From now on the page takes what comes, and paints nothing.
STOP_PAINTING = '() => { document.querySelector(".timeline").chart.frame = () => {}; }'
